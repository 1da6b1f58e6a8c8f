"""Bytes of what the memo is made of, and the most that a search of a clique allocates.

Bytes of a kind are `sys.getsizeof` (which includes the collector's header) of every object that is reached from the objects of
the kind without passing through one of another kind, each counted once, divided by their number. So an expression's figure
has its tuples, lists and dicts and its share of what expressions of its kind hold in common, but not its operator. Peaks are
tracemalloc's, for all that happens from SQL text to plan.
"""

import gc
import sys
import tracemalloc
from collections.abc import Iterable, Iterator
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import NamedTuple

from experiments.bench.experiment import Row
from experiments.search_bench.settings import SEARCHES
from experiments.search_bench.stages import prepare
from experiments.workloads.joingraph_data import JoinGraphCatalog
from experiments.workloads.queries import resolve_sql
from optimizer.algebra.columns import Columns
from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.scalars import Scalar
from optimizer.figures import Figures
from optimizer.memo.goal import Goal, Way
from optimizer.memo.group import Group
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr, PhysicalExpr
from optimizer.pipeline import Optimizer
from optimizer.search.search import Search
from optimizer.search.set_goals import SetFigures

MEMO = "memo"
OBJECTS = "rules, no pruning"  # the search whose memo is looked at object by object
KINDS: dict[type, str] = {
    Memo: MEMO,
    LogicalExpr: "logical multi-expression",
    PhysicalExpr: "physical multi-expression",
    LogicalOperator: "logical operator",
    PhysicalOperator: "physical operator",
    SetFigures: "relation set",
    Way: "way",
    Goal: "goal",
}
NOT_OURS = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, Enum, str)  # shared by the whole process
BOUNDARY = (Group, Columns, Scalar)  # scalars are interned; groups have statistics and properties


class Footprint(NamedTuple):
    objects: int
    bytes: int


def measure(query: str, search: str, runs: int = 1) -> Iterator[Row]:
    """Of OBJECTS what the memo is made of; of the others the peak, and of `exhaustive` the sets of relations."""
    if search in (OBJECTS, "exhaustive"):
        engine, _ = prepare(query, SEARCHES[search]).search()
        yield from _objects(engine) if search == OBJECTS else _sets(engine)
        del engine
    if search != OBJECTS:
        peak, left = peak_of(query, search)
        note = f"{left / 1e6:,.1f} MB once planned, the memo included"
        yield {"figure": "peak", "value": peak / 1e6, "unit": "MB", "note": note}


def _objects(engine: Search) -> Iterator[Row]:
    joins = [mexpr for group in engine.memo.live_groups() for mexpr in group.logical if isinstance(mexpr.op, Join)]
    yield from _per_object(footprints(joins))
    index = footprints([engine.memo, *joins], (Goal, Figures)).pop(MEMO)
    each = index.bytes / engine.memo.logical_count
    yield {"figure": "memo index, for each logical multi-expression", "value": each, "unit": "bytes"}
    yield from _per_object(footprints(engine.memo.goals, (LogicalExpr, PhysicalExpr, LogicalOperator, PhysicalOperator)))


def _sets(engine: Search) -> Iterator[Row]:
    sets = [figures for region in engine.regions.made for figures in region.sets.values()]
    yield from _per_object(footprints(sets, (LogicalExpr, PhysicalExpr, PhysicalOperator)))


def _per_object(found: dict[str, Footprint]) -> Iterator[Row]:
    for kind, footprint in found.items():
        each, note = footprint.bytes / footprint.objects, f"{footprint.objects:,} of them"
        yield {"figure": kind, "value": each, "unit": "bytes", "note": note}


def footprints(roots: Iterable[object], boundary: tuple[type, ...] = ()) -> dict[str, Footprint]:
    """Objects and bytes by kind, of all that is reached from `roots` without passing through a `boundary`; what two roots
    reach is the later one's."""
    closed = (*NOT_OURS, *BOUNDARY, *boundary)
    objects: dict[str, int] = {}
    sizes: dict[str, int] = {}
    seen: set[int] = set()
    pending: list[tuple[object, str]] = [(root, "") for root in roots]
    while pending:
        thing, owner = pending.pop()
        if id(thing) in seen or isinstance(thing, closed):
            continue
        seen.add(id(thing))
        kind = next((KINDS[cls] for cls in type(thing).__mro__ if cls in KINDS), None)
        if kind is not None:
            owner = kind
            objects[kind] = objects.get(kind, 0) + 1
        sizes[owner] = sizes.get(owner, 0) + sys.getsizeof(thing)
        pending += ((below, owner) for below in gc.get_referents(thing))
    return {kind: Footprint(number, sizes[kind]) for kind, number in objects.items()}


def peak_of(query: str, search: str) -> tuple[int, int]:
    """Bytes allocated by Python at most while a query is planned, and those left with the plan, its memo included."""
    optimizer, sql = Optimizer(JoinGraphCatalog(), SEARCHES[search]), resolve_sql(query)
    gc.collect()
    tracemalloc.start()
    try:
        planned = optimizer.optimize(sql)
        left, peak = tracemalloc.get_traced_memory()
        del planned
    finally:
        tracemalloc.stop()
    return peak, left
