"""Plans of a query's space, taken out and run: what `planscope plans` shows.

A plan of the space is run like the chosen one and must give the same result. Where a LIMIT takes some of several rows that
its order does not tell apart, an aggregate goes by the order of its rows and names none, or a function is volatile, results may
rightly differ.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import pyarrow as pa

from executor.arrow.watch import LimitReached
from experiments.same_rows import difference
from experiments.timing import timed
from memo_viz.text import shorten
from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.columns import Columns, column_set
from optimizer.algebra.logical import Aggregate, Limit, Window
from optimizer.algebra.physical import TableScan
from optimizer.algebra.plan import PlanNode, prune_columns
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import AggregateCall, ColumnRef, Ordered, WindowCall
from optimizer.algebra.subqueries import subqueries_of
from optimizer.algebra.trees import Tree, postorder
from optimizer.errors import ExecutionError
from optimizer.pipeline import OptimizedQuery
from optimizer.plan_space import PlanSpace
from optimizer.plan_space.of_search import AllMoves
from optimizer.plugins.load import load_plugins

DRAWS = 1000  # for each plan wanted, before drawing among cheap ones gives up


class Run(NamedTuple):
    """One execution: rows out, milliseconds, and how the result differs from the expected one (None: it does not)."""

    rows: int
    ms: float
    difference: str | None


def ready(plan: PlanNode, query: OptimizedQuery) -> PlanNode:
    """A plan fresh from a space, with only the columns that the query's result needs."""
    prune_columns(plan, column_set(output.id for output in query.outputs))
    return plan


def draw(space: PlanSpace, size: int, random: Random, within: float | None = None) -> list[int]:
    """Ranks of `size` different plans drawn uniformly; with `within`, among those that cost at most so many times the cheapest.

    Plans above that cost are drawn and thrown away, at most DRAWS for each plan wanted, so there may be fewer than `size`.
    """
    if not space.count:
        return []
    if within is None:
        return space.sample_ranks(size, random, distinct=True)
    most = space.best_cost * within
    if space.count <= DRAWS * size:
        cheap = [rank for rank in range(space.count) if space.unrank(rank).cost <= most]
        return random.sample(cheap, min(size, len(cheap)))
    found: dict[int, None] = {}
    for _ in range(DRAWS * size):
        (rank,) = space.sample_ranks(1, random)
        if rank not in found and space.unrank(rank).cost <= most:
            found[rank] = None
            if len(found) == size:
                break
    return list(found)


def compare_run(query: OptimizedQuery, plan: PlanNode, expected: pa.Table, seconds: float | None = None) -> Run:
    """Run `plan` and compare what it gives with `expected`, the result of the chosen plan."""
    try:
        found = timed(query, plan, seconds)
    except LimitReached:
        return Run(0, 0.0, f"stopped after {seconds:g} s")
    except ExecutionError as error:
        return Run(0, 0.0, f"fails: {str(error).splitlines()[0]}")
    return Run(found.table.num_rows, found.ms, difference(expected, found.table, visible_keys(query)))


def rules_behind(query: OptimizedQuery, plan: PlanNode) -> list[str]:
    """The transformation rules that a plan may come from: they made a logical expression that one of its operators can implement,
    or what that was made of. Those of plug-ins come first."""
    memo, moves = query.memo, AllMoves(query.engine)
    made = memo.expressions()
    found: dict[str, None] = {}
    for node in plan.walk():
        inputs = [memo.find(below.group) for below in node.inputs if below.group >= 0]
        for mexpr in memo.group(node.group).members() if node.group >= 0 else ():
            if [memo.find(gid) for gid in mexpr.inputs] != inputs:
                continue
            at = mexpr if any(physical.op == node.op for physical in moves.implementations(mexpr)) else None
            while at is not None:
                found |= {} if at.rule is None else {at.rule: None}
                at = made.get(at.source)
    own = load_plugins(query.settings.plugins).of_kind("transform")
    return sorted(found, key=lambda rule: rule not in own)


def visible_keys(query: OptimizedQuery) -> list[int]:
    """Positions of the result's columns on which it is sorted."""
    positions = {output.id: position for position, output in enumerate(query.outputs)}
    return [positions[key.column] for key in query.order if key.column in positions]


def leaves_choice(query: OptimizedQuery) -> bool:
    """Whether two right results of the query may differ: a LIMIT among ties, an aggregate of rows in any order, a volatile
    function."""
    return _leaves_choice(query.bound.tree)


def _leaves_choice(tree: Tree) -> bool:
    for node in postorder(tree):
        if not isinstance(node, Tree):
            continue
        if any(scalar.volatile for scalar in node.op.scalars()):
            return True
        if any(_leaves_choice(subquery.tree) for subquery in subqueries_of(node.op.scalars())):
            return True
        match node.op:
            case Limit(order):
                if not node.inputs[0].props.unique_on(column_set(key.column for key in order)):
                    return True
            case Aggregate(keys, aggregates):
                if any(tells_rows_apart(item.call, keys, node.inputs[0].props) for item in aggregates):
                    return True
            case Window(partition, order, items):
                ties = not node.inputs[0].props.unique_on(column_set((*partition, *(key.column for key in order))))
                if ties and any(tells_peers_apart(item.call) for item in items):
                    return True
    return False


def tells_rows_apart(call: AggregateCall, keys: Sequence[int], below: LogicalProps) -> bool:
    """Whether the value may differ with the order in which the rows of a group happen to come."""
    sorted_by = {arg.key for arg in call.args if isinstance(arg, Ordered)}
    values = {arg for arg in call.args if arg.columns and not isinstance(arg, Ordered)}
    known = column_set((*keys, *(key.id for key in sorted_by if isinstance(key, ColumnRef))))
    return AGGREGATE_FUNCTIONS[call.function].ordered and not values <= sorted_by and not below.unique_on(known)


def tells_peers_apart(call: WindowCall) -> bool:
    """Whether the value may differ with the order in which peers happen to come."""
    if call.function in AGGREGATE_FUNCTIONS:
        return AGGREGATE_FUNCTIONS[call.function].ordered or (call.frame is not None and call.frame.unit == "rows")
    return call.function not in ("rank", "dense_rank", "percent_rank", "cume_dist")


def operator_line(plan: PlanNode) -> str:
    """The operators of a plan on one line, a scan by its alias: `sort(hash_join(o, l))`. Iterative."""
    made: dict[int, str] = {}
    for node in reversed(list(plan.walk())):
        if isinstance(node.op, TableScan):
            made[id(node)] = node.op.scan.alias
        elif node.inputs:
            made[id(node)] = f"{node.op.name}({', '.join(made.pop(id(child)) for child in node.inputs)})"
        else:
            made[id(node)] = node.op.name
    return made[id(plan)]


def what_differs(plan: PlanNode, alike: Sequence[PlanNode], columns: Columns) -> str:
    """Where `plan` is not as others of plans with the same operators: what such operators do, or in which order or grouping their
    rows come; "" where all are one plan."""
    found: dict[str, None] = {}
    for nodes in zip(*(each.walk() for each in (plan, *alike)), strict=True):
        does = [node.op.describe(columns.label) for node in nodes]
        delivers = [node.alternative.delivered.show(columns.label) for node in nodes]
        for texts in (does, delivers):
            if len(set(texts)) > 1:
                found[f"{nodes[0].op.name}: {shorten(texts[0], 80)}"] = None
    return ", ".join(found)


def costs_at(space: PlanSpace, positions: Sequence[int]) -> list[tuple[int, float]]:
    """(position, cost) of the plans that are the 1st, 2nd, … cheapest, as far as there are so many."""
    found = []
    for position, plan in enumerate(space.cheapest(), 1):
        if position in positions:
            found.append((position, plan.cost))
        if position >= max(positions):
            break
    return found
