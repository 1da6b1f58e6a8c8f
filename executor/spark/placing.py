"""Adds exchanges to a plan, so that it can run on many tasks: at the least cost, by dynamic programming from the leaves up.

For each node and each place (`places`) in which its rows can lie, the cheapest way to that is known: where the rows of its inputs
have to lie, and whether it works in two steps, before and after an exchange (groupings, top-k, limits). Joins need equal keys
together, or one input in every task; the input whose rows without a match are kept must not be that one, as each task would keep
them. The plan itself stays as it is.

Costs are those of the cost model `spark`: bytes that move, the start of stages, and ROW for each row that an operator takes or
gives, divided by the tasks that share the work. Rows are the plan's estimates.

An exchange keeps no order: where the plan needs one, rows are sorted again behind it.

Source: Graefe, Volcano, IEEE TKDE 1994 (parallelism by exchange operators alone).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from executor.arrow.kept_aggregates import keeps_rows
from executor.spark.operators import Exchange, FinalGroups, PartialGroups, PartScan
from executor.spark.places import ALL, ANY, ONE, Kind, Place, by_hash, can_hash
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids, column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import (
    OPERATORS,
    ConstantRows,
    FillSpool,
    FilterRows,
    HashAggregate,
    HashGroupingSets,
    HashJoin,
    HashSetOp,
    LimitRows,
    MergeJoin,
    MergeUnion,
    NestedApply,
    NestedLoopJoin,
    PartialSort,
    ProjectRows,
    ReadSpool,
    Recurse,
    Sort,
    StreamingAggregate,
    TableScan,
    TopK,
    UnionAll,
    WindowRows,
    WithSpools,
)
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.scalars import ColumnRef, Scalar
from optimizer.algebra.traits import ANY as UNORDERED
from optimizer.algebra.traits import Alternative, Collation, TraitSet, ascending
from optimizer.catalog.types import fixed_width
from optimizer.cost.spark import SparkCost
from optimizer.errors import Unsupported

ROW = 50.0  # ns
_TEXT = 24.0  # bytes of a value without a fixed width
# what every task may not do alike: rows that limits leave are any; spools are filled once; what runs inside others is not asked
_NOT_EVERYWHERE = (TopK, LimitRows, WithSpools, FillSpool, ReadSpool, NestedApply, Recurse)
_LEADING = 3  # keys of a sort by which rows may be sent before
_FAR = 1e30  # of what cannot be done

# joins that may have all of their right, or left, input in every task
_RIGHT_EVERYWHERE = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)
_LEFT_EVERYWHERE = (JoinKind.INNER, JoinKind.RIGHT)


def placed(plan: PlanNode, order: Collation, columns: Columns, moving: SparkCost) -> PlanNode:
    """The plan with exchanges; all rows of its root lie in one task, by `order`. `moving`: what exchanges cost, among how many
    tasks.

    Raises Unsupported for an operator of a plug-in.
    """
    placing = _Placing(columns, moving)
    for node in _bottom_up(plan):
        placing.visit(node)
    result = placing.obtain(plan, ONE, TraitSet(order))
    new = 1 + max(node.id for node in result.walk())
    for node in result.walk():
        if node.id < 0:
            node.id, new = new, new + 1
    return result


class _Way(NamedTuple):
    """`needs`: where the rows of each input lie; None: the input runs as a whole in each task that wants its rows. `between`:
    where rows are sent between two steps, if it works in two."""

    cost: float
    needs: tuple[Place | None, ...]
    between: Place | None


class _Placing:
    def __init__(self, columns: Columns, moving: SparkCost) -> None:
        self._columns, self._nodes, self._moving = columns, moving.nodes, moving
        self._ways: dict[int, dict[Place, _Way]] = {}
        self._spools: dict[int, Place] = {}  # that stages fill

    def visit(self, node: PlanNode) -> None:
        """Finds the ways of a node; those of its inputs are known."""
        if type(node.op) not in OPERATORS:
            raise Unsupported(f"the operator {node.op.name} of a plug-in does not run on Spark", hint="--engine arrow runs it")
        found = self._ways[id(node)] = dict[Place, _Way]()
        for place, needs, split in self._candidates(node):
            cost = self._cost(node, place, needs, split)
            seen = ANY if column_set(place.columns) & ~node.columns else place  # where what places the rows is gone
            if cost < _FAR and (seen not in found or cost < found[seen].cost):
                found[seen] = _Way(cost, needs, place if split else None)
        if isinstance(node.op, FillSpool):
            self._spools[node.op.spool] = ANY if self._cheapest(node.inputs[0]).parted else ONE

    def _candidates(self, node: PlanNode) -> Iterator[tuple[Place, tuple[Place | None, ...], bool]]:
        """Places, what they need of the inputs, and whether that is in two steps."""
        op, inputs = node.op, node.inputs
        match op:
            case TableScan(scan) if scan.limit is None:
                yield ANY, (), False
            case TableScan() | ConstantRows():
                yield ONE, (), False
            case ReadSpool(spool) if spool in self._spools:
                yield self._spools[spool], (), False
            case FilterRows() | ProjectRows() | Sort() | PartialSort():
                for place in dict.fromkeys((*self._natural(inputs[0]), ONE, *self._below_sort(op))):
                    yield _renamed(op, place), (place,), False
            case WindowRows(partition) | HashAggregate(keys=partition) | StreamingAggregate(keys=partition):
                for place in (ONE, *self._together(inputs[0], partition)):
                    yield place, (place,), False
                if isinstance(op, HashAggregate):
                    yield from ((place, (ANY,), True) for place in dict.fromkeys((ONE, self._hashed(partition))))
            case HashGroupingSets():
                yield ONE, (ONE,), False
                yield ONE, (ANY,), True
            case TopK(count=count) | LimitRows(count=count):
                yield ONE, (ONE,), False
                if count is not None:
                    yield ONE, (ANY,), True
            case HashJoin(kind, keys) | MergeJoin(kind, keys):
                yield from self._joined(node, kind, () if kind is JoinKind.MARK else keys)
            case NestedLoopJoin(kind):
                yield from self._joined(node, kind, ())
            case UnionAll() | MergeUnion():
                yield from ((place, (place,) * len(inputs), False) for place in (ONE, ANY))
            case HashSetOp(columns=columns, sources=sources):
                yield ONE, (ONE,) * len(inputs), False
                sides = [(out, *below) for out, *below in zip(columns, *sources, strict=True) if self._alike((out, *below))]
                if sides:
                    out, *below = map(tuple, zip(*sides, strict=True))
                    yield by_hash(out), tuple(map(by_hash, below)), False
            case NestedApply():
                for place in (ONE, *self._parted(inputs[0])):
                    yield place, (place, None), False
            case Recurse():
                yield ONE, (None, None), False
            case FillSpool():
                place = self._cheapest(inputs[0])
                yield (ANY if place.parted else ONE), (place,), False
            case WithSpools():
                fills = tuple(ANY if self._cheapest(each).parted else ONE for each in inputs[:-1])
                for place in self._natural(inputs[-1]):
                    yield place, (*fills, place), False
            case _:
                yield ONE, (ONE,) * len(inputs), False
        if not isinstance(op, _NOT_EVERYWHERE) and not any(scalar.volatile for scalar in op.scalars()):
            yield ALL, (ALL,) * len(inputs), False

    def _joined(
        self, node: PlanNode, kind: JoinKind, keys: Sequence[tuple[Scalar, Scalar]]
    ) -> Iterator[tuple[Place, tuple[Place, ...], bool]]:
        left, right = node.inputs
        yield ONE, (ONE, ONE), False
        pairs = [(a.id, b.id) for a, b in keys if isinstance(a, ColumnRef) and isinstance(b, ColumnRef)]
        pairs = [pair for pair in dict.fromkeys(pairs) if self._alike(pair)]
        for chosen in (pairs, *([pair] for pair in pairs if len(pairs) > 1)) if pairs else ():
            sides = tuple(by_hash(columns) for columns in map(tuple, zip(*chosen, strict=True)))
            # rows that are extended by NULLs do not lie where their own values say
            moved = kind.keeps_right, kind.keeps_left or kind.left_only
            places = [side for side, elsewhere in zip(sides, moved, strict=True) if not elsewhere]
            for place in places or [ANY]:
                yield place, sides, False
        if kind in _RIGHT_EVERYWHERE:
            yield from ((place, (place, ALL), False) for place in self._parted(left))
        if kind in _LEFT_EVERYWHERE:
            yield from ((place, (ALL, place), False) for place in self._parted(right))

    def _alike(self, ids: Iterable[ColumnId]) -> bool:
        """Whether equal values of these columns have one hash."""
        types = {self._columns[id].type for id in ids}
        return len(types) == 1 and can_hash(types.pop())

    def _hashed(self, keys: Iterable[ColumnId]) -> Place:
        found = tuple(key for key in sorted(keys) if can_hash(self._columns[key].type))
        return by_hash(found) if found else ONE

    def _together(self, child: PlanNode, keys: Sequence[ColumnId]) -> list[Place]:
        """Places in which rows equal on `keys` are together."""
        wanted = column_set(keys)
        natural = [place for place in self._natural(child) if place.columns and not column_set(place.columns) & ~wanted]
        return list(dict.fromkeys((*natural, self._hashed(keys))))

    def _below_sort(self, op: object) -> Iterator[Place]:
        """Where rows may be sent before they are sorted: what wants them sorted wants them together by some of the first keys."""
        columns = [key.column for key in op.order] if isinstance(op, Sort) else []
        for i in range(1, 1 + min(_LEADING, len(columns))):
            if all(can_hash(self._columns[column].type) for column in columns[:i]):
                yield by_hash(tuple(columns[:i]))

    def _natural(self, node: PlanNode) -> list[Place]:
        """Where its rows lie if they are not moved, but for every task."""
        return [place for place in self._ways[id(node)] if place != ALL]

    def _parted(self, node: PlanNode) -> Iterable[Place]:
        return dict.fromkeys((ANY, *(place for place in self._natural(node) if place.parted)))

    def _cheapest(self, node: PlanNode) -> Place:
        """Where it is made at the least cost, by all tasks or by one."""
        ways = self._ways[id(node)]
        found = min(ways, key=lambda place: ways[place].cost)
        return ONE if found == ALL else found

    def _cost(self, node: PlanNode, place: Place, needs: tuple[Place | None, ...], split: bool) -> float:
        rows = node.rows
        cost = 0.0
        for i, (child, need) in enumerate(zip(node.inputs, needs, strict=True)):
            if need is None:
                cost += sum(ROW * below.rows for below in child.walk())
                continue
            cost += self._from(child, need, _asked(node, i))[0]
            rows += child.rows
        if not split:
            return cost + self._work(rows, place)
        partial = self._partial_rows(node)
        moved = self._moving.shuffle if place.parted else self._moving.gather
        return cost + self._work(rows, ANY) + moved(partial * self._width(node.columns)) + self._work(partial, place)

    def _partial_rows(self, node: PlanNode) -> float:
        op = node.op
        if isinstance(op, HashAggregate | HashGroupingSets) and any(keeps_rows(item.call) for item in op.aggregates):
            return node.inputs[0].rows  # of distinct values, or of texts to be joined, states keep the rows
        groups = op.offset + op.count if isinstance(op, TopK | LimitRows) and op.count is not None else node.rows
        return min(node.inputs[0].rows, groups * self._nodes)

    def _work(self, rows: float, place: Place) -> float:
        return ROW * rows / (self._nodes if place.parted else 1.0)

    def _width(self, columns: ColumnSet) -> float:
        types = (self._columns[id].type for id in column_ids(columns))
        return sum(_TEXT if (width := fixed_width(type)) is None else width for type in types)

    def _from(self, node: PlanNode, need: Place, traits: TraitSet) -> tuple[float, Place]:
        """The cheapest way to have its rows at `need`, with `traits`: its cost, and where they lie before."""
        best = _FAR, ONE
        for have, way in self._ways[id(node)].items():
            cost = way.cost
            if not have.serves(need):
                order = _order_again(node, traits)
                if have == ALL or order is None:
                    continue
                bytes = max(1.0, node.rows) * self._width(node.columns)
                cost += self._moving.shuffle(bytes) if need.parted else self._moving.broadcast(bytes)
                cost += 4 * self._work(node.rows, need) if order else 0.0
            if cost < best[0]:
                best = cost, have
        return best

    def obtain(self, node: PlanNode, need: Place, traits: TraitSet) -> PlanNode:
        """The node's plan, its rows at `need` with `traits`."""
        _, have = self._from(node, need, traits)
        made = self._built(node, have)
        return made if have.serves(need) else self._moved(made, node, need, have.parted, traits)

    def _moved(self, made: PlanNode, node: PlanNode, need: Place, parted: bool, traits: TraitSet) -> PlanNode:
        moved = _new(Exchange(need, parted), made)
        order = _order_again(node, traits)
        return _new(Sort(order), moved) if order else moved

    def _built(self, node: PlanNode, place: Place) -> PlanNode:
        way, op = self._ways[id(node)][place], node.op
        inputs = tuple(
            self._inside(child, place) if need is None else self.obtain(child, need, _asked(node, i))
            for i, (child, need) in enumerate(zip(node.inputs, way.needs, strict=True))
        )
        if isinstance(op, TableScan) and place == ANY:
            return node.rebuilt(PartScan(op.scan), ())
        if isinstance(op, FillSpool):
            return node.rebuilt(op, (_new(Exchange(ANY, place.parted), inputs[0]),))
        if way.between is None:
            return node.rebuilt(op, inputs)
        if isinstance(op, HashAggregate | HashGroupingSets):
            partial = _new(PartialGroups(op), inputs[0], node.columns, self._partial_rows(node))
            return node.rebuilt(FinalGroups(op), (_new(Exchange(way.between, True), partial),))
        assert isinstance(op, TopK | LimitRows) and op.count is not None
        first = _new(replace(op, offset=0, count=op.offset + op.count), inputs[0], inputs[0].columns, self._partial_rows(node))
        return node.rebuilt(op, (self._moved(first, node.inputs[0], ONE, True, _asked(node, 0)),))

    def _inside(self, node: PlanNode, place: Place) -> PlanNode:
        """A plan that runs as a whole in each task that has rows at `place`; so what it reads of spools that stages fill is sent
        to all of these."""
        if isinstance(node.op, ReadSpool) and node.op.spool in self._spools:
            return _new(Exchange(ONE if place == ONE else ALL, self._spools[node.op.spool].parted), node)
        return node.rebuilt(node.op, tuple(self._inside(each, place) for each in node.inputs))


def outside(node: PlanNode) -> int:
    """How many of its inputs, from the first, need not run inside it."""
    return {NestedApply: 1, Recurse: 0}.get(type(node.op), len(node.inputs))


def _bottom_up(plan: PlanNode) -> list[PlanNode]:
    """Every node but those that run inside others, inputs first, from left to right."""
    result, stack = [], [plan]
    while stack:
        node = stack.pop()
        result.append(node)
        stack.extend(node.inputs[: outside(node)])
    return result[::-1]


def _asked(node: PlanNode, index: int) -> TraitSet:
    asked = node.alternative.inputs
    return asked[index] if index < len(asked) else UNORDERED


def _order_again(node: PlanNode, traits: TraitSet) -> Collation | None:
    """By what the node's rows are sorted behind an exchange, so that they have `traits` as before; None where that cannot be said
    in its columns."""
    if traits == UNORDERED:
        return ()
    delivered = node.alternative.delivered
    if delivered == UNORDERED:
        return ()  # all that is asked is constant
    for order in (delivered.collation, ascending(column_ids(delivered.grouping)), traits.collation):
        if order and not column_set(key.column for key in order) & ~node.columns:
            return order
    return None


def _renamed(op: object, place: Place) -> Place:
    """Where rows by hash lie under the names that a projection gives."""
    if not isinstance(op, ProjectRows) or place.kind is not Kind.HASH:
        return place
    above = {item.value.id: item.id for item in reversed(op.items) if isinstance(item.value, ColumnRef)}
    return by_hash(tuple(above[id] for id in place.columns)) if all(id in above for id in place.columns) else ANY


def _new(op: object, child: PlanNode, columns: ColumnSet | None = None, rows: float | None = None) -> PlanNode:
    """A node that the plan did not have."""
    return PlanNode(
        op,  # type: ignore[arg-type]
        (child,),
        child.columns if columns is None else columns,
        Alternative((UNORDERED,)),
        child.rows if rows is None else rows,
        0.0,
        child.cost,
        child.group,
    )
