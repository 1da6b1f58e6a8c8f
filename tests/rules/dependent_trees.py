"""Random trees of every logical operator over small tables: joins of all kinds, dependent joins whose right input reads the left
one, windows, grouping sets, set operations, limits, choices.

Table i is `ti` with columns k (key, never NULL), x and y (INT); rows of x and y repeat and hold NULLs, or there are no rows.
"""

from random import Random

import pyarrow as pa

from optimizer.algebra import Apply, Join, JoinKind, MarkJoin, SetOpKind, SingleJoin, SortKey, Tree, compare, conjunction
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids
from optimizer.algebra.logical import (
    Aggregate,
    AggregateItem,
    Choice,
    Filter,
    GroupingKey,
    GroupingSets,
    Limit,
    Project,
    ProjectItem,
    Scan,
    ScanColumn,
    SetOp,
    Values,
    Window,
    WindowItem,
)
from optimizer.algebra.scalars import (
    BOOL,
    TRUE,
    AggregateCall,
    Call,
    ColumnRef,
    Frame,
    FrameBound,
    InList,
    Literal,
    OuterRef,
    Predicate,
    Scalar,
    WindowCall,
)

INT, TOTAL = pa.int64(), pa.decimal128(38, 0)
NAMES = ("k", "x", "y")
TABLES = 3
WHOLE = Frame("rows", FrameBound("preceding"), FrameBound("following"))
KINDS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI)
APPLIED = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)


class Trees:
    """Makes trees; columns of all of them are in `columns`."""

    def __init__(self, random: Random) -> None:
        self.random, self.columns = random, Columns()
        self._scans = 0

    def tree(self, depth: int, outer: ColumnSet = 0) -> Tree:
        """A tree that may read the columns `outer` of enclosing queries."""
        random = self.random
        if depth <= 0:
            return self.scan(outer)
        make = random.choice([
            self._filter, self._filter, self._filter, self._project, self._join, self._join, self._mark, self._single,
            self._apply, self._apply, self._aggregate, self._grouping, self._window, self._setop, self._limit, self._choice,
            self._limited_join,
        ])  # fmt: skip
        return make(depth - 1, outer)

    def scan(self, outer: ColumnSet) -> Tree:
        number = self.random.randrange(TABLES)
        self._scans += 1
        ids = [self.columns.new(n, INT, n != "k", f"s{self._scans}.{n}").id for n in NAMES]
        scan = Scan(f"t{number}", f"s{self._scans}", tuple(map(ScanColumn, ids, NAMES)), (1 << ids[0],), 1 << ids[0])
        if self.random.random() < 0.05:
            rows = tuple(tuple(Literal(self.random.choice([0, 1, None]), INT) for _ in range(2)) for _ in range(2))
            own = [self.columns.new("v", INT, True).id for _ in range(2)]
            return Tree(Values(tuple(own), (INT, INT), rows))
        return Tree(scan)

    def integers(self, columns: ColumnSet) -> list[ColumnId]:
        return [id for id in column_ids(columns) if self.columns[id].type == INT]

    def one(self, columns: ColumnSet) -> Scalar:
        found = self.integers(columns)
        return ColumnRef(self.random.choice(found), INT) if found else Literal(1, INT)

    def condition(self, columns: ColumnSet, outer: ColumnSet) -> Scalar:
        """A condition over `columns`; some read an outer column, a mark, or nothing but outer columns."""
        random = self.random
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
        second = compare(self.random.choice(["=", "<"]), self.one(columns), Literal(self.random.choice([0, 1, 2]), INT))
        return first if first is second else Call("or", tuple(sorted((first, second), key=lambda s: s.text)), BOOL)

    def predicate(self, columns: ColumnSet, outer: ColumnSet, most: int = 2) -> Predicate:
        return conjunction(self.condition(columns, outer) for _ in range(self.random.randint(1, most)))

    def on(self, left: Tree, right: Tree, outer: ColumnSet, empty: bool = False) -> Predicate:
        """A join predicate: mostly an equality, and now and then something about one side, or an OR of ANDs over both."""
        random = self.random
        if empty and random.random() < 0.4:
            return ()
        a, b = self.one(left.columns), self.one(right.columns)
        parts: list[Scalar] = [compare(random.choice(["=", "=", "=", "<", "is_not_distinct_from"]), a, b)]
        if random.random() < 0.3:
            parts.append(compare("=", a, self.one(right.columns)))
        if random.random() < 0.3:
            parts.append(self.condition(left.columns, outer))
        if random.random() < 0.3:
            parts.append(self.condition(right.columns, outer))
        if random.random() < 0.2:
            branches = []
            for _ in range(2):
                sides = [compare("=", self.one(t.columns), Literal(random.randrange(3), INT)) for t in (left, right)]
                branches.append(Call("and", tuple(sides), BOOL))
            parts.append(branches[0] if branches[0] is branches[1] else Call("or", tuple(branches), BOOL))
        return conjunction(parts)

    def passed(self, columns: ColumnSet) -> tuple[ProjectItem, ...]:
        return tuple(ProjectItem(id, ColumnRef(id, self.columns[id].type)) for id in column_ids(columns))

    def total(self, tree: Tree) -> tuple[SortKey, ...]:
        """An order by every column: rows that it leaves a choice between are the same."""
        ids = list(column_ids(tree.columns))
        self.random.shuffle(ids)
        return tuple(SortKey(id, self.random.random() < 0.5, self.random.random() < 0.5) for id in ids)

    # -- operators ------------------------------------------------------------------------------------------------------------

    def _filter(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.tree(depth, outer)
        return Tree(Filter(self.predicate(below.columns, outer, 3)), (below,))

    def _project(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.tree(depth, outer)
        ids = self.random.sample(list(column_ids(below.columns)), self.random.randint(1, below.columns.bit_count()))
        items = [ProjectItem(id, ColumnRef(id, self.columns[id].type)) for id in sorted(ids)]
        value: Scalar = compare("=", self.one(below.columns), Literal(1, INT))
        new = self.columns.new("p", BOOL, True).id
        if self.random.random() < 0.6:
            value = self.random.choice([Call("neg", (self.one(below.columns),), INT), self.one(below.columns), Literal(1, INT)])
            new = self.columns.new("p", INT, True).id
        return Tree(Project((*items, ProjectItem(new, value))), (below,))

    def _join(self, depth: int, outer: ColumnSet) -> Tree:
        left, right = self.tree(depth, outer), self.tree(depth - 1, outer)
        kind = self.random.choice(KINDS)
        return Tree(Join(kind, self.on(left, right, outer, kind is JoinKind.INNER)), (left, right))

    def _mark(self, depth: int, outer: ColumnSet) -> Tree:
        left, right = self.tree(depth, outer), self.tree(depth - 1, outer)
        mark = self.columns.new("m", BOOL, True).id
        joined = Tree(MarkJoin(self.on(left, right, outer, True), mark), (left, right))
        return self._asking(joined, mark)

    def _asking(self, joined: Tree, mark: ColumnId) -> Tree:
        asked: Scalar = ColumnRef(mark, BOOL)
        if self.random.random() < 0.5:
            asked = Call("not", (asked,), BOOL)
        return Tree(Filter((asked,)), (joined,)) if self.random.random() < 0.6 else joined

    def _single(self, depth: int, outer: ColumnSet) -> Tree:
        left, right = self.tree(depth, outer), self.scan(outer)
        if self.random.random() < 0.5:
            right = Tree(Filter(self.predicate(right.columns, outer)), (right,))
        key = ColumnRef(next(column_ids(right.columns)), INT)
        on = conjunction((*self.on(left, right, outer), compare("=", key, self.one(left.columns))))
        return Tree(SingleJoin(on), (left, right))

    def _apply(self, depth: int, outer: ColumnSet) -> Tree:
        left = self.tree(depth, outer)
        inside = outer | left.columns
        right = self.tree(min(depth, 1), inside)
        if self.random.random() < 0.7:
            right = Tree(Filter(self.predicate(right.columns, inside)), (right,))
        kind = self.random.choice(APPLIED)
        if kind is JoinKind.SINGLE and self.random.random() < 0.7:
            total = self.columns.new("n", INT, False).id
            call = AggregateCall("count", (), False, None, INT)
            right = Tree(Aggregate((), (AggregateItem(total, call),)), (right,))
        on = self.on(left, right, outer, True)
        if kind is not JoinKind.MARK:
            return Tree(Apply(kind, on), (left, right))
        mark = self.columns.new("m", BOOL, True).id
        return self._asking(Tree(Apply(kind, on, mark), (left, right)), mark)

    def _aggregate(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.tree(depth, outer)
        keys = self.random.sample(list(column_ids(below.columns)), min(below.columns.bit_count(), self.random.randrange(3)))
        call = self.random.choice([
            AggregateCall("count", (), False, None, INT),
            AggregateCall("max", (self.one(below.columns),), False, None, INT),
        ])  # fmt: skip
        items = () if keys and self.random.random() < 0.4 else (AggregateItem(self.columns.new("g", INT, True).id, call),)
        return Tree(Aggregate(tuple(sorted(keys)), items), (below,))

    def _grouping(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.tree(depth, outer)
        sources = self.integers(below.columns)[:3]
        keys = tuple(GroupingKey(self.columns.new("g", INT, True).id, source) for source in sources)
        shared = 1 << keys[0].id if keys and self.random.random() < 0.7 else 0
        sets = []
        for _ in range(self.random.randint(1, 3)):
            each = shared
            for key in keys:
                each |= (1 << key.id) * self.random.randrange(2)
            sets.append(each)
        call = AggregateCall("count", (), False, None, INT)
        item = AggregateItem(self.columns.new("n", INT, False).id, call)
        return Tree(GroupingSets(keys, tuple(sets), (item,), self.columns.new("set", INT, False).id), (below,))

    def _window(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.tree(depth, outer)
        ids = self.integers(below.columns)
        partition = tuple(self.random.sample(ids, min(len(ids), self.random.randrange(3))))
        order = (SortKey(ids[0], False, False),) if ids else ()
        total = WindowCall("sum", (self.one(below.columns),), False, None, False, WHOLE, TOTAL)
        items = [WindowItem(self.columns.new("w", TOTAL, True).id, total)]
        if order:
            rank = WindowCall("rank", (), False, None, False, None, INT)
            items.append(WindowItem(self.columns.new("r", INT, False).id, rank))
        return Tree(Window(partition, order, tuple(items)), (below,))

    def _setop(self, depth: int, outer: ColumnSet) -> Tree:
        random = self.random
        left, right = self.tree(depth, outer), self.tree(depth - 1, outer)
        sides = [self.integers(t.columns) for t in (left, right)]
        width = min(2, *map(len, sides))
        if not width:
            return left
        sources = tuple(tuple(random.sample(ids, width)) for ids in sides)
        outputs = tuple(self.columns.new("u", INT, True).id for _ in range(width))
        kind = random.choice([SetOpKind.UNION, SetOpKind.UNION, SetOpKind.INTERSECT, SetOpKind.EXCEPT])
        return Tree(SetOp(kind, random.random() < 0.6, outputs, sources), (left, right))

    def _limit(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.tree(depth, outer)
        count = self.random.choice([None, None, 0, 1, 2, 4])
        offset = self.random.choice([0, 0, 1]) if count is not None else 0
        return Tree(Limit(self.total(below), offset, count), (below,))

    def _limited_join(self, depth: int, outer: ColumnSet) -> Tree:
        """A limit by all left columns above a join: of a left row it lets pass as many as there are, whatever is beside it."""
        left, right = self.tree(depth, outer), self.tree(depth - 1, outer)
        mark = self.columns.new("m", BOOL, True).id
        ops = [Join(JoinKind.LEFT, self.on(left, right, outer)), MarkJoin(self.on(left, right, outer, True), mark)]
        if right.inputs == ():
            key = compare("=", self.one(left.columns), ColumnRef(next(column_ids(right.columns)), INT))
            ops += [SingleJoin((key,)), Apply(JoinKind.SINGLE, (key,)), Apply(JoinKind.LEFT, (key,)), Join(JoinKind.LEFT, (key,))]
        limit = Limit(self.total(left), self.random.choice([0, 1]), self.random.choice([1, 2, 3]))
        joined = Tree(limit, (Tree(self.random.choice(ops), (left, right)),))
        return Tree(Project(self.passed(left.columns)), (joined,))

    def _choice(self, depth: int, outer: ColumnSet) -> Tree:
        below = self.tree(depth, outer)
        return Tree(Choice(below.columns), (below, Tree(Filter((TRUE,)), (below,))))


def database(random: Random) -> dict[str, pa.Table]:
    """Up to four rows a table of the values 0 to 2 and NULL; k is unique."""
    tables = {}
    for i in range(TABLES):
        count = random.choice([0, 2, 3, 4])
        rows = [(k, random.choice([0, 1, 2, None]), random.choice([0, 1, 2, None])) for k in random.sample(range(4), count)]
        tables[f"t{i}"] = pa.table({name: pa.array([row[c] for row in rows], INT) for c, name in enumerate(NAMES)})
    return tables
