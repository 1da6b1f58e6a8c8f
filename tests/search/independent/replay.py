"""Whether a plan does what it says: how its rows really come, from the scans up, and what it costs.

Rows come sorted by a list of items: columns, and rows of sets of relations, in an order that nobody knows. A scan of a table
stored by a comes by (a, row of the table); whatever joins these rows as they come keeps both, so that the results of one are
together.
"""

from typing import NamedTuple

from optimizer.algebra.physical import (
    HashAggregate,
    HashJoin,
    MergeJoin,
    NestedLoopJoin,
    PartialSort,
    ProjectRows,
    Sort,
    StreamingAggregate,
    TableScan,
)
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.traits import ANY, Collation
from tests.search.independent.cheapest import Cheapest, Relation
from tests.search.independent.knowledge import Key, Known, Order, mask


class Rows(NamedTuple):
    """In the order of rows of joined relations, each of which is told by one of its keys. `columns`: what the rows have."""

    keys: tuple[tuple[int, ...], ...]
    columns: int


Items = tuple[Key | Rows, ...]


class Part(NamedTuple):
    """A part of a plan. `relations`: what it joins. `level`: operators above the joins. `cost`: as recomputed."""

    relations: int
    level: int
    items: Items
    cost: float


class Wrong(Exception):
    """What a plan relies on and does not have."""


def replayed(force: Cheapest, plan: PlanNode, wanted: Order) -> list[str]:
    """What is wrong with a plan for a query with the order `wanted`: nothing, or a sentence."""
    try:
        part = _part(force, plan)
        if (part.relations, part.level) != (force.all, len(force.above)):
            raise Wrong("the plan does not compute the query")
        if not _sorted(_relation(force, part).known, part.items, wanted):
            raise Wrong("the result is not in the order required")
    except Wrong as wrong:
        return [str(wrong)]
    if abs(part.cost - plan.cost) > 1e-9 * max(part.cost, plan.cost):
        return [f"the plan's operators cost {part.cost!r}"]
    return []


def _relation(force: Cheapest, part: Part) -> Relation:
    return force.levels[part.level] if part.level else force.relations[part.relations]


def _part(force: Cheapest, node: PlanNode) -> Part:
    below = [_part(force, child) for child in node.inputs]
    relations, level = sum(part.relations for part in below), max((part.level for part in below), default=0)
    items: Items = below[0].items if below else ()
    known = [_relation(force, part).known for part in below]
    match node.op:
        case TableScan(scan):
            relations = 1 << force.scans.index(scan)
            items = force.stored_order(relations)
        case HashJoin(keys=keys, residual=()):
            items = items if node.alternative.delivered != ANY else ()
        case MergeJoin(keys=keys, residual=()):
            for input, traits, side in zip(below, node.alternative.inputs, (0, 1), strict=True):
                order = _keys(traits.collation[: len(keys)])
                if sorted(key.column for key in order) != sorted(pair[side].id for pair in keys):
                    raise Wrong("a merge join is not planned on its keys")
                if not _sorted(_relation(force, input).known, input.items, order):
                    raise Wrong("an input of a merge join is not sorted by its keys")
            directions = [[key[1:] for key in traits.collation[: len(keys)]] for traits in node.alternative.inputs]
            if directions[0] != directions[1]:
                raise Wrong("the inputs of a merge join are sorted in different directions")
        case NestedLoopJoin():
            items += below[1].items
        case Sort(order):
            items = _keys(order)
        case PartialSort(prefix, order, _):
            items = (*_groups(known[0], items, prefix, "a partial sort"), *_keys(order))
        case StreamingAggregate(keys, _):
            _groups(known[0], items, mask(keys), "a streaming aggregate")
            determined = known[0].closure(mask(keys))
            cut = next((i for i, item in enumerate(items) if not _determined(item, determined)), None)
            items, level = items[:cut], level + 1
        case HashAggregate():
            items, level = (), level + 1
        case ProjectRows():
            level += 1
        case _:
            raise Wrong(f"{node.op.name} is no operator of the brute force")
    here = Part(relations, level, items, 0.0)
    relation = _relation(force, here)
    inputs = [_relation(force, part).stats for part in below]
    cost = force.model.local(node.op, node.alternative.delivered, relation.stats, inputs) + sum(part.cost for part in below)
    rows = Rows(relation.known.parts, relation.known.columns)
    return here._replace(items=(*items, rows), cost=cost)


def _keys(order: Collation) -> Order:
    return tuple(Key(*key) for key in order)


def _determined(item: Key | Rows, columns: int) -> bool:
    """Whether rows equal on `columns`, a closure, are equal on an item."""
    if isinstance(item, Key):
        return bool(columns >> item.column & 1)
    return all(any(not key & ~columns for key in keys) for keys in item.keys)


def _with(known: Known, columns: int, item: Key | Rows) -> int:
    return known.closure(columns | (1 << item.column if isinstance(item, Key) else item.columns))


def _sorted(known: Known, items: Items, wanted: Order) -> bool:
    """Whether rows that come by `items` are sorted by `wanted`."""
    want = known.reduced(wanted)
    here = known.closure(0)
    for item in items:
        if _determined(item, here):
            continue
        if not want or isinstance(item, Rows) or known.reduced((item,)) != want[:1]:
            break
        want, here = want[1:], _with(known, here, item)
    return not want


def _groups(known: Known, items: Items, columns: int, who: str) -> Items:
    """The first items, by which rows equal on `columns` and no others are together."""
    target, here = known.closure(columns), known.closure(0)
    for cut, item in enumerate(items):
        if not target & ~here:
            return items[:cut]
        if not _determined(item, target):
            break
        here = _with(known, here, item)
    if target & ~here:
        raise Wrong(f"the input of {who} is not grouped")
    return items
