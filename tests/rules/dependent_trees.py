"""Random trees of every logical operator over small tables: joins of all kinds, dependent joins whose right input reads the left
one, windows, grouping sets, set operations, limits, choices.

Table i is `ti` with columns k (key, never NULL), x and y (INT); rows of x and y repeat and hold NULLs, or there are no rows.
"""

from random import Random

import pyarrow as pa

from optimizer.algebra import Apply, Join, JoinKind, MarkJoin, SingleJoin, Tree, compare, conjunction
from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids
from optimizer.algebra.kinds import PLAIN_JOINS
from optimizer.algebra.logical import (
    Aggregate,
    AggregateItem,
    Choice,
    Filter,
    Limit,
    Project,
    ProjectItem,
    Scan,
    ScanColumn,
    Values,
)
from optimizer.algebra.scalars import (
    BOOL,
    TRUE,
    AggregateCall,
    Call,
    ColumnRef,
    InList,
    Literal,
    OuterRef,
    Predicate,
    Scalar,
)
from tests.decorrelate.random_applies import KINDS, RandomApplies

INT = pa.int64()
NAMES = ("k", "x", "y")
TABLES = 3


class Trees(RandomApplies):
    """Makes trees, some of them as the base does; columns of all of them are in `columns`."""

    def __init__(self, random: Random) -> None:
        super().__init__(0)
        self.rng, self._scans = random, 0

    def dependent(self, depth: int, outer: ColumnSet = 0) -> Tree:
        """A tree that may read the columns `outer` of enclosing queries."""
        random = self.rng
        if depth <= 0:
            return self.scan()
        makers = [
            self._filter, self._filter, self._filter, self._project, self._join, self._join, self._mark, self._single,
            self._apply, self._apply, self._limit, self._choice, self._limited_join,
        ]  # fmt: skip
        made = random.randrange(len(makers) + 4)
        if made < len(makers):
            return makers[made](depth - 1, outer)
        below, reads = self.dependent(depth - 1, outer), self.integers(outer)
        match made - len(makers):
            case 0:
                keys = random.sample(list(column_ids(below.columns)), min(below.columns.bit_count(), random.randrange(3)))
                return Tree(Aggregate(tuple(keys), () if keys and random.random() < 0.4 else self.calls(below, reads)), (below,))
            case 1:
                return self.grouping_sets(below, reads)
            case 2:
                return self.windowed(below, reads)
        return self.set_operation(below, self.dependent(depth - 2, outer))

    def scan(self) -> Tree:
        number = self.rng.randrange(TABLES)
        self._scans += 1
        ids = [self.columns.new(n, INT, n != "k", f"s{self._scans}.{n}").id for n in NAMES]
        scan = Scan(f"t{number}", f"s{self._scans}", tuple(map(ScanColumn, ids, NAMES)), (1 << ids[0],), 1 << ids[0])
        if self.rng.random() < 0.05:
            rows = tuple(tuple(Literal(self.rng.choice([0, 1, None]), INT) for _ in range(2)) for _ in range(2))
            own = [self.columns.new("v", INT, True).id for _ in range(2)]
            return Tree(Values(tuple(own), (INT, INT), rows))
        return Tree(scan)

    def integers(self, columns: ColumnSet) -> list[ColumnId]:
        return [id for id in column_ids(columns) if self.columns[id].type == INT]

    def one(self, columns: ColumnSet) -> Scalar:
        found = self.integers(columns)
        return ColumnRef(self.rng.choice(found), INT) if found else Literal(1, INT)

    def test(self, columns: ColumnSet, outer: ColumnSet) -> Scalar:
        """A condition over `columns`; some read an outer column, a mark, or nothing but outer columns."""
        random = self.rng
        marks = [id for id in column_ids(columns) if self.columns[id].type == BOOL]
        outers = self.integers(outer)
        a = self.one(columns)
        if marks and random.random() < 0.7:
            mark: Scalar = ColumnRef(random.choice(marks), BOOL)
            negated = Call("not", (mark,), BOOL)
            return random.choice([mark, negated, mark, negated, Call("is_null", (mark,), BOOL), self._or(negated, columns)])
        if outers and random.random() < 0.5:
            reference = OuterRef(random.choice(outers), INT)
            return compare(random.choice(["=", "=", "<", ">="]), random.choice([a, a, a, Literal(1, INT)]), reference)
        literal = Literal(random.choice([0, 1, 1, 2]), INT)
        kinds: list[Scalar] = [
            compare("=", a, literal), compare(random.choice(["<", "<=", ">", ">="]), a, literal),
            compare("=", a, self.one(columns)), InList(a, (Literal(0, INT), Literal(2, INT))), Call("is_null", (a,), BOOL),
            Call("is_not_null", (a,), BOOL), compare("<", Call("+", (a, literal), INT), Literal(3, INT)),
            self._or(compare("=", a, literal), columns),
        ]  # fmt: skip
        return random.choice(kinds)

    def _or(self, first: Scalar, columns: ColumnSet) -> Scalar:
        second = compare(self.rng.choice(["=", "<"]), self.one(columns), Literal(self.rng.choice([0, 1, 2]), INT))
        return first if first is second else Call("or", tuple(sorted((first, second), key=lambda s: s.text)), BOOL)

    def predicate(self, columns: ColumnSet, outer: ColumnSet, most: int = 2) -> Predicate:
        return conjunction(self.test(columns, outer) for _ in range(self.rng.randint(1, most)))

    def on(self, left: Tree, right: Tree, outer: ColumnSet, empty: bool = False) -> Predicate:
        """A join predicate: mostly an equality, and now and then something about one side, or an OR of ANDs over both."""
        random = self.rng
        if empty and random.random() < 0.4:
            return ()
        a, b = self.one(left.columns), self.one(right.columns)
        parts: list[Scalar] = [compare(random.choice(["=", "=", "=", "<", "is_not_distinct_from"]), a, b)]
        if random.random() < 0.3:
            parts.append(compare("=", a, self.one(right.columns)))
        if random.random() < 0.3:
            parts.append(self.test(left.columns, outer))
        if random.random() < 0.3:
            parts.append(self.test(right.columns, outer))
        if random.random() < 0.2:
            branches = []
            for _ in range(2):
                sides = [compare("=", self.one(t.columns), Literal(random.randrange(3), INT)) for t in (left, right)]
                branches.append(Call("and", tuple(sides), BOOL))
            parts.append(branches[0] if branches[0] is branches[1] else Call("or", tuple(branches), BOOL))
        return conjunction(parts)

    def passed(self, columns: ColumnSet) -> tuple[ProjectItem, ...]:
        return tuple(ProjectItem(id, ColumnRef(id, self.columns[id].type)) for id in column_ids(columns))

    # -- operators ------------------------------------------------------------------------------------------------------------

    def _filter(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.dependent(depth, outer)
        return Tree(Filter(self.predicate(below.columns, outer, 3)), (below,))

    def _project(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.dependent(depth, outer)
        ids = self.rng.sample(list(column_ids(below.columns)), self.rng.randint(1, below.columns.bit_count()))
        items = [ProjectItem(id, ColumnRef(id, self.columns[id].type)) for id in sorted(ids)]
        value: Scalar = compare("=", self.one(below.columns), Literal(1, INT))
        new = self.columns.new("p", BOOL, True).id
        if self.rng.random() < 0.6:
            value = self.rng.choice([Call("neg", (self.one(below.columns),), INT), self.one(below.columns), Literal(1, INT)])
            new = self.columns.new("p", INT, True).id
        return Tree(Project((*items, ProjectItem(new, value))), (below,))

    def _join(self, depth: int, outer: ColumnSet) -> Tree:
        left, right = self.dependent(depth, outer), self.dependent(depth - 1, outer)
        kind = self.rng.choice(PLAIN_JOINS)
        return Tree(Join(kind, self.on(left, right, outer, kind is JoinKind.INNER)), (left, right))

    def _mark(self, depth: int, outer: ColumnSet) -> Tree:
        left, right = self.dependent(depth, outer), self.dependent(depth - 1, outer)
        mark = self.columns.new("m", BOOL, True).id
        joined = Tree(MarkJoin(self.on(left, right, outer, True), mark), (left, right))
        return self._asking(joined, mark)

    def _asking(self, joined: Tree, mark: ColumnId) -> Tree:
        asked: Scalar = ColumnRef(mark, BOOL)
        if self.rng.random() < 0.5:
            asked = Call("not", (asked,), BOOL)
        return Tree(Filter((asked,)), (joined,)) if self.rng.random() < 0.6 else joined

    def _single(self, depth: int, outer: ColumnSet) -> Tree:
        left, right = self.dependent(depth, outer), self.scan()
        if self.rng.random() < 0.5:
            right = Tree(Filter(self.predicate(right.columns, outer)), (right,))
        key = ColumnRef(next(column_ids(right.columns)), INT)
        on = conjunction((*self.on(left, right, outer), compare("=", key, self.one(left.columns))))
        return Tree(SingleJoin(on), (left, right))

    def _apply(self, depth: int, outer: ColumnSet) -> Tree:
        left = self.dependent(depth, outer)
        inside = outer | left.columns
        right = self.dependent(min(depth, 1), inside)
        if self.rng.random() < 0.7:
            right = Tree(Filter(self.predicate(right.columns, inside)), (right,))
        kind = self.rng.choice(KINDS)
        if kind is JoinKind.SINGLE and self.rng.random() < 0.7:
            total = self.columns.new("n", INT, False).id
            call = AggregateCall("count", (), False, None, INT)
            right = Tree(Aggregate((), (AggregateItem(total, call),)), (right,))
        on = self.on(left, right, outer, True)
        if kind is not JoinKind.MARK:
            return Tree(Apply(kind, on), (left, right))
        mark = self.columns.new("m", BOOL, True).id
        return self._asking(Tree(Apply(kind, on, mark), (left, right)), mark)

    def _limit(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.dependent(depth, outer)
        count = self.rng.choice([None, None, 0, 1, 2, 4])
        offset = self.rng.choice([0, 0, 1]) if count is not None else 0
        return Tree(Limit(self.total_order(below), offset, count), (below,))

    def _limited_join(self, depth: int, outer: ColumnSet) -> Tree:
        """A limit by all left columns above a join: of a left row it lets pass as many as there are, whatever is beside it."""
        left, right = self.dependent(depth, outer), self.dependent(depth - 1, outer)
        mark = self.columns.new("m", BOOL, True).id
        ops = [Join(JoinKind.LEFT, self.on(left, right, outer)), MarkJoin(self.on(left, right, outer, True), mark)]
        if right.inputs == ():
            key = compare("=", self.one(left.columns), ColumnRef(next(column_ids(right.columns)), INT))
            ops += [SingleJoin((key,)), Apply(JoinKind.SINGLE, (key,)), Apply(JoinKind.LEFT, (key,)), Join(JoinKind.LEFT, (key,))]
        limit = Limit(self.total_order(left), self.rng.choice([0, 1]), self.rng.choice([1, 2, 3]))
        joined = Tree(limit, (Tree(self.rng.choice(ops), (left, right)),))
        return Tree(Project(self.passed(left.columns)), (joined,))

    def _choice(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.dependent(depth, outer)
        return Tree(Choice(below.columns), (below, Tree(Filter((TRUE,)), (below,))))


def database(random: Random) -> dict[str, pa.Table]:
    """Up to four rows a table of the values 0 to 2 and NULL; k is unique."""
    tables = {}
    for i in range(TABLES):
        count = random.choice([0, 2, 3, 4])
        rows = [(k, random.choice([0, 1, 2, None]), random.choice([0, 1, 2, None])) for k in random.sample(range(4), count)]
        tables[f"t{i}"] = pa.table({name: pa.array([row[c] for row in rows], INT) for c, name in enumerate(NAMES)})
    return tables
