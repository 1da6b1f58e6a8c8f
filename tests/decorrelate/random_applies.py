"""Random trees with Applies, made of the algebra itself: every operator in the right input, references to the left at any depth.

All columns are 64-bit integers with few values and NULLs; rows are constants, so a tree can be evaluated by itself.
"""

import random

from optimizer.algebra import ColumnId, Columns, SortKey, Tree, column_ids, column_set, conjunction
from optimizer.algebra.kinds import PLAIN_JOINS, JoinKind, SetOpKind
from optimizer.algebra.logical import (
    Aggregate,
    AggregateItem,
    Filter,
    GroupingKey,
    GroupingSets,
    Limit,
    Project,
    ProjectItem,
    SetOp,
    Values,
    Window,
    WindowItem,
)
from optimizer.algebra.logical_joins import Apply, Join, join_of_kind
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, Case, ColumnRef, Literal, OuterRef, Scalar, WindowCall
from optimizer.algebra.types import INT64

SIX = (None, 0, 1, 2, 2, 3)
KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)


class RandomApplies:
    """Trees of one query. `windows`: whether window operators and limits may occur; `raising`: whether single joins may."""

    def __init__(self, seed: int, columns: Columns | None = None) -> None:
        self.rng = random.Random(seed)
        self.columns = columns if columns is not None else Columns()

    def new(self) -> ColumnId:
        return self.columns.new(f"c{len(self.columns)}", INT64, True).id

    def query(self) -> Tree:
        """An Apply, perhaps below a filter or an aggregate."""
        tree = self.apply([], self.rng.choice((1, 2, 2, 3)))
        if self.rng.random() < 0.2:
            tree = self.filtered(tree, [])
        return tree

    def apply(self, outer: list[ColumnId], depth: int) -> Tree:
        left = self.tree(outer, self.rng.choice((0, 0, 1)))
        kind = self.rng.choice(KINDS)
        right = self.tree([*outer, *column_ids(left.columns)], depth, list(column_ids(left.columns)))
        if kind is JoinKind.SINGLE and not right.props.at_most_one_row:
            if self.rng.random() < 0.7:
                right = Tree(Aggregate((), self.calls(right, outer)), (right,))
            else:
                right = Tree(Limit(self.total_order(right), 0, 1), (right,))
        mark = self.columns.new("mark", BOOL, True).id if kind is JoinKind.MARK else None
        predicate = conjunction(
            self.condition([*column_ids(left.columns), *column_ids(right.columns)], outer)
            for _ in range(self.rng.choice((0, 0, 1)))
        )
        if kind is JoinKind.SINGLE:
            predicate = ()
        ints = column_set(c for c in column_ids(left.columns | right.columns) if self.columns[c].type == INT64)
        if any(s.columns & ~ints for s in predicate):
            predicate = ()
        return Tree(Apply(kind, predicate, mark), (left, right))

    def tree(self, outer: list[ColumnId], depth: int, prefer: list[ColumnId] | None = None) -> Tree:
        """A random tree over constant rows; `outer` may be read, `prefer` is read more often."""
        rng = self.rng
        reads = [*outer, *(prefer or []), *(prefer or [])]
        if depth == 0:
            tree = self.rows(reads)
            return self.filtered(tree, reads) if reads and rng.random() < 0.7 else tree
        below = self.tree(outer, depth - 1, prefer)
        match rng.randrange(13):
            case 0 | 1:
                return self.filtered(below, reads)
            case 2:
                return self.projected(below, reads)
            case 3 | 4:
                other = self.tree(outer, rng.choice((0, depth - 1)), prefer)
                return self.joined(below, other, reads)
            case 5 | 6:
                ids = [c for c in self.ints(below) if rng.random() < 0.4]
                calls = () if ids and rng.random() < 0.4 else self.calls(below, reads)
                return Tree(Aggregate(tuple(ids), calls), (below,))
            case 7:
                return self.windowed(below, reads)
            case 8:
                count = rng.choice((None, 0, 1, 1, 2, 3))
                return Tree(Limit(self.total_order(below), rng.choice((0, 0, 1)), count), (below,))
            case 9 | 10:
                return self.set_operation(below, self.tree(outer, depth - 1, prefer))
            case 11:
                return self.grouping_sets(below, reads)
        return self.apply(reads, depth - 1) if reads else self.filtered(below, reads)

    def ints(self, tree: Tree) -> list[ColumnId]:
        return [c for c in column_ids(tree.columns) if self.columns[c].type == INT64]

    def rows(self, reads: list[ColumnId]) -> Tree:
        rng = self.rng
        ids = tuple(self.new() for _ in range(rng.choice((1, 2, 2, 3))))
        count = rng.choice((0, 1, 3, 4, 6))
        values: list[tuple[Scalar, ...]] = []
        for _ in range(count):
            row: list[Scalar] = [Literal(rng.choice(SIX), INT64) for _ in ids]
            if reads and rng.random() < 0.05:
                row[0] = OuterRef(rng.choice(reads), INT64)
            values.append(tuple(row))
        return Tree(Values(ids, (INT64,) * len(ids), tuple(values)))

    def operand(self, ids: list[ColumnId], reads: list[ColumnId], outer: float) -> Scalar:
        rng = self.rng
        if reads and rng.random() < outer:
            return OuterRef(rng.choice(reads), INT64)
        if ids and rng.random() < 0.9:
            return ColumnRef(rng.choice(ids), INT64)
        return Literal(rng.choice(SIX), INT64)

    def condition(self, ids: list[ColumnId], reads: list[ColumnId]) -> Scalar:
        rng = self.rng
        ids = [c for c in ids if self.columns[c].type == INT64]
        a, b = self.operand(ids, reads, 0.1), self.operand(ids, reads, 0.6)
        kind = rng.random()
        if kind < 0.55:
            return Call("=", (a, b), BOOL)
        if kind < 0.9:
            return Call(rng.choice(("<", "<>", ">=", "is_not_distinct_from", "is_distinct_from")), (a, b), BOOL)
        if kind < 0.95:
            return Call("or", (Call("is_null", (a,), BOOL), Call("=", (a, b), BOOL)), BOOL)
        return Call("is_not_null", (b,), BOOL)

    def filtered(self, tree: Tree, reads: list[ColumnId]) -> Tree:
        count = self.rng.choice((1, 1, 2))
        return Tree(Filter(conjunction(self.condition(self.ints(tree), reads) for _ in range(count))), (tree,))

    def projected(self, tree: Tree, reads: list[ColumnId]) -> Tree:
        rng = self.rng
        ids = self.ints(tree)
        items = [ProjectItem(c, ColumnRef(c, INT64)) for c in ids if rng.random() < 0.6]
        for _ in range(rng.choice((1, 2))):
            a, b = self.operand(ids, reads, 0.4), self.operand(ids, reads, 0.4)
            value: Scalar = rng.choice(
                (Call("coalesce", (a, b), INT64), Case(((Call("=", (a, b), BOOL), a),), Literal(7, INT64), INT64), a)
            )
            items.append(ProjectItem(self.new(), value))
        return Tree(Project(tuple(items)), (tree,))

    def joined(self, left: Tree, right: Tree, reads: list[ColumnId]) -> Tree:
        rng = self.rng
        kind = rng.choice((*PLAIN_JOINS, JoinKind.INNER, JoinKind.LEFT, JoinKind.MARK))
        ids = [*self.ints(left), *self.ints(right)]
        predicate = conjunction(self.condition(ids, reads if rng.random() < 0.5 else []) for _ in range(rng.choice((0, 1, 1, 2))))
        mark = self.columns.new("mark", BOOL, True).id if kind is JoinKind.MARK else None
        if kind is JoinKind.MARK or kind in PLAIN_JOINS:
            return Tree(join_of_kind(kind, predicate, mark), (left, right))
        return Tree(Join(kind, predicate), (left, right))

    def calls(self, tree: Tree, reads: list[ColumnId]) -> tuple[AggregateItem, ...]:
        rng = self.rng
        items = []
        for _ in range(rng.choice((1, 1, 2))):
            arg = self.operand(self.ints(tree), reads, 0.15)
            filter = self.condition(self.ints(tree), reads) if rng.random() < 0.15 else None
            function = rng.choice(("count(*)", "count", "min", "max"))
            if function == "count(*)":
                call = AggregateCall("count", (), False, filter, INT64)
            else:
                call = AggregateCall(function, (arg,), function == "count" and rng.random() < 0.4, filter, INT64)
            items.append(AggregateItem(self.new(), call))
        return tuple(items)

    def total_order(self, tree: Tree) -> tuple[SortKey, ...]:
        ids = list(column_ids(tree.columns))
        self.rng.shuffle(ids)
        return tuple(SortKey(c, self.rng.random() < 0.4, self.rng.random() < 0.4) for c in ids)

    def windowed(self, tree: Tree, reads: list[ColumnId]) -> Tree:
        rng = self.rng
        parts = tuple(c for c in self.ints(tree) if rng.random() < 0.3)
        arg = self.operand(self.ints(tree), reads, 0.2)
        order = self.total_order(tree)
        name = rng.choice(("rank", "dense_rank", "count", "max"))
        if name in ("count", "max"):
            call, order = WindowCall(name, (arg,), False, None, False, None, INT64), ()
        else:
            call = WindowCall(name, (), False, None, False, None, INT64)
        return Tree(Window(parts, order, (WindowItem(self.new(), call),)), (tree,))

    def set_operation(self, left: Tree, right: Tree) -> Tree:
        rng = self.rng
        a, b = self.ints(left), self.ints(right)
        rng.shuffle(a)
        rng.shuffle(b)
        width = min(len(a), len(b))
        if not width:
            return left
        width = rng.randint(1, width)
        kind = rng.choice(list(SetOpKind))
        out = tuple(self.new() for _ in range(width))
        return Tree(SetOp(kind, rng.random() < 0.5, out, (tuple(a[:width]), tuple(b[:width]))), (left, right))

    def grouping_sets(self, tree: Tree, reads: list[ColumnId]) -> Tree:
        rng = self.rng
        sources = self.ints(tree)[:2]
        keys = tuple(GroupingKey(self.new(), c) for c in sources)
        possible = [0, *(1 << k.id for k in keys), column_set(k.id for k in keys)]
        sets = tuple(rng.choice(possible) for _ in range(rng.choice((1, 2, 3))))
        return Tree(GroupingSets(keys, sets, self.calls(tree, reads), self.new()), (tree,))
