"""The cheapest cost of a query, from the meaning of the operators alone.

The question is always: what does the cheapest plan of a set of relations cost whose rows come in an order, or with equal rows
together? It is answered by trying every last operator that a plan can have:

    scan             rows come in the stored order
    hash join        of every split into two linked sets, both ways: the order of the left rows
    merge join       both sides sorted by the keys, in every permutation: the order of the left rows
    nested loops     the order of the left rows; where that tells them apart, and then the order of the right rows
    sort             any order
    partial sort     rows equal on the first keys are adjacent and sorted by the others
    streaming        of groups: adjacent rows; their order stays

An order that is asked of a join may be had by many orders of its left rows: a column may be said by any that the join makes
equal, and columns that are determined above the join but not below it may stand anywhere (`_spelled`). All of them are tried,
of the columns that a stored order, a merge join or a key could bring in: one that only a sort could bring in is left out of
that sort, at no higher cost. Such columns ascend with NULLs last, as stored orders do: where nobody asked for a direction, it
can be turned over.

The same holds of rows that are to be together (`grouped`): every set of columns that parts the left rows alike is tried, and
every order whose first columns part the rows alike. An order and a grouping at once is no requirement that a plan can have:
where groups have to come in an order, it is asked for with the columns that complete it, in all sequences.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from optimizer.algebra import Aggregate, Join, JoinKind, LogicalProps, Project, Scan, Tree, conjunction
from optimizer.algebra.physical import (
    HashAggregate,
    HashJoin,
    MergeJoin,
    NestedLoopJoin,
    PartialSort,
    PhysicalOperator,
    ProjectRows,
    Sort,
    StreamingAggregate,
    TableScan,
)
from optimizer.algebra.scalars import Call, ColumnRef, Literal, Scalar
from optimizer.algebra.traits import ANY, SortKey, TraitSet
from optimizer.catalog.table import Catalog, Table
from optimizer.stats.relation import RelationStats
from planscope import CostModel, Estimator
from tests.search.independent.knowledge import Key, Known, Order, columns_of, mask, members

INFINITY = float("inf")
JOINS = ("hash", "merge", "loop")


class NotCovered(Exception):
    """A tree that the brute force does not know: which operator, and where."""


class Relation:
    """Rows of a set of relations, or of an operator above all of them. `offered`: columns that an order may come with unasked."""

    def __init__(self, known: Known, stats: RelationStats, offered: int) -> None:
        self.known, self.stats, self.offered = known, stats, offered


class Cheapest:
    """Answers for one query. `tree`: scans, inner joins, above them an aggregate and projections. `joins`, `sorts`: which
    joins, and which of sort and partial sort there are. `left_deep`: one side of every join is a single relation. `allows`:
    which sets of aliases a plan may join."""

    def __init__(
        self,
        tree: Tree,
        catalog: Catalog,
        estimator: Estimator,
        cost: CostModel,
        joins: Iterable[str] = JOINS,
        sorts: Iterable[str] = ("sort", "partial_sort"),
        left_deep: bool = False,
        allows: Callable[[frozenset[str]], bool] = bool,
    ) -> None:
        self._estimator, self.model = estimator, cost
        self._joins, self._sorts, self._left_deep, self._allows = frozenset(joins), frozenset(sorts), left_deep, allows
        self.above: list[Aggregate | Project] = []  # outermost last
        node: Tree = tree
        while isinstance(node.op, Aggregate | Project):
            self.above.insert(0, node.op)
            node = _below(node)
        self.scans: list[Scan] = []
        self._conjuncts: list[tuple[int, Call]] = []  # relations, comparison of two columns
        self._collect(node)
        self.all = (1 << len(self.scans)) - 1
        self._props: dict[int, LogicalProps] = {}  # handed to the estimator, and looked at by nothing here
        self._stored: dict[int, tuple[Order, float]] = {}
        self._across: dict[tuple[int, int], tuple[Scalar, ...]] = {}
        self._pairs: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        self.relations: dict[int, Relation] = {}
        for number, scan in enumerate(self.scans):
            table = catalog.table(scan.table)
            assert table is not None, scan.table
            self._add_scan(1 << number, scan, table)
        for s in sorted(range(1, self.all + 1), key=int.bit_count):
            if s not in self.relations:
                self._add_join(s)
        if self.all not in self.relations:
            raise NotCovered("the relations are not linked")
        self.levels = [self.relations[self.all]]
        for op in self.above:
            self._add_above(op)
        self._best: dict[tuple[int, Order], float] = {}
        self._grouped: dict[tuple[int, int], float] = {}
        self._level_best: dict[tuple[int, Order], float] = {}
        self._locals: dict[tuple[str, int, int, bool], float] = {}
        self._splits: dict[int, list[tuple[int, int]]] = {}

    def cost(self, order: Order) -> float:
        """The cheapest cost of the result in `order`; infinite where no plan has it."""
        top = len(self.levels) - 1
        return self._level(top, self.levels[top].known.reduced(order))

    # -- the query --------------------------------------------------------------------------------------------------------

    def _collect(self, node: Tree) -> None:
        columns: dict[int, int] = {}
        conjuncts: list[Scalar] = []
        stack = [node]
        while stack:
            each = stack.pop()
            match each.op:
                case Join(kind=JoinKind.INNER, predicate=predicate):
                    conjuncts += predicate
                    stack += [child for child in reversed(each.inputs) if isinstance(child, Tree)]
                case Scan(limit=None) as scan:
                    columns |= {c.id: 1 << len(self.scans) for c in scan.columns}
                    self.scans.append(scan)
                case _:
                    raise NotCovered(f"{each.op.name} below a join")
        for conjunct in conjunction(conjuncts):
            match conjunct:
                case Call(function="=" | "<" | ">", args=(ColumnRef() as a, ColumnRef() as b)) if columns[a.id] != columns[b.id]:
                    self._conjuncts.append((columns[a.id] | columns[b.id], conjunct))
                case _:
                    raise NotCovered(f"joined on {conjunct}")

    def _add_scan(self, s: int, scan: Scan, table: Table) -> None:
        ids = {c.source: c.id for c in scan.columns}
        columns = mask(ids.values())
        not_null = mask(ids[c.name] for c in table.columns if c.name in ids and not c.nullable)
        keys = tuple(mask(ids[c] for c in key) for key in table.keys if all(c in ids for c in key))
        constant, equal = 0, []
        for conjunct in scan.predicate:
            match conjunct:
                case Call(function="=", args=(ColumnRef() as a, ColumnRef() as b)):
                    equal.append((a.id, b.id))
                    not_null |= 1 << a.id | 1 << b.id
                case Call(function="=" | "<" | ">" | "<=" | ">=" as comparison, args=(ColumnRef() as a, Literal())):
                    not_null |= 1 << a.id
                    constant |= 1 << a.id if comparison == "=" else 0
                case _:
                    raise NotCovered(f"scan where {conjunct}")
        order: list[Key] = []
        for name in table.order:
            if name not in ids:
                break
            order.append(Key(ids[name]))
        props = self._props[s] = scan.derive_props([])
        stats = self._estimator.estimate(scan, props, [])
        known = Known(columns, not_null, constant, tuple(equal), tuple((key, columns) for key in keys), (keys,))
        offered = mask(key.column for key in order) | mask(c for key in keys for c in members(key))
        self.relations[s] = Relation(known, stats, offered)
        self._stored[s] = tuple(order), self.model.local(TableScan(scan), ANY, stats, [])

    def _add_join(self, s: int) -> None:
        if not self._allows(frozenset(scan.alias for number, scan in enumerate(self.scans) if s >> number & 1)):
            return
        part = s & -s
        for left in _subsets(s):
            right = s ^ left
            if left & part and left in self.relations and right in self.relations and self.linked(left, right):
                break
        else:
            return
        a, b = self.relations[left], self.relations[right]
        join = Join(JoinKind.INNER, self.across(left, right))
        props = self._props[s] = join.derive_props([self._props[left], self._props[right]])
        stats = self._estimator.estimate(join, props, [a.stats, b.stats])
        pairs = self.pairs(left, right)
        offered = a.offered | b.offered | mask(column for pair in pairs for column in pair)
        compared = mask(c for conjunct in self.residual(left, right) for c in members(conjunct.columns))
        self.relations[s] = Relation(a.known.joined(b.known, pairs, compared), stats, offered)

    def _add_above(self, op: Aggregate | Project) -> None:
        below = self.levels[-1]
        props = self._props[self.all] = op.derive_props([self._props[self.all]])
        stats = self._estimator.estimate(op, props, [below.stats])
        if isinstance(op, Aggregate):
            counts = mask(item.id for item in op.aggregates if item.call.function == "count")
            known = below.known.grouped(mask(op.keys), mask(item.id for item in op.aggregates), counts)
        else:
            shown, sources = mask(item.id for item in op.items), _sources(op)
            renamed = tuple((id, old) for id, old in sources.items() if id != old)
            known = below.known.shown(shown, renamed, shown & ~mask(sources))
        self.levels.append(Relation(known, stats, 0))

    # -- splits -----------------------------------------------------------------------------------------------------------

    def residual(self, left: int, right: int) -> tuple[Scalar, ...]:
        """What a join of two sets tests besides its equalities."""
        return tuple(c for c in self.across(left, right) if isinstance(c, Call) and c.function != "=")

    def across(self, left: int, right: int) -> tuple[Scalar, ...]:
        known = self._across.get((left, right))
        if known is None:
            found = [c for s, c in self._conjuncts if s & left and s & right and not s & ~(left | right)]
            known = self._across[left, right] = self._across[right, left] = conjunction(found)
        return known

    def linked(self, left: int, right: int) -> bool:
        return any(s & left and s & right for s, _ in self._conjuncts)

    def pairs(self, left: int, right: int) -> tuple[tuple[int, int], ...]:
        """Columns equated by the join of two sets: (of the left one, of the right one)."""
        known = self._pairs.get((left, right))
        if known is not None:
            return known
        found = []
        columns = self.relations[left].known.columns
        for conjunct in self.across(left, right):
            match conjunct:
                case Call(function="=", args=(ColumnRef() as a, ColumnRef() as b)):
                    found.append((a.id, b.id) if columns >> a.id & 1 else (b.id, a.id))
        known = self._pairs[left, right] = tuple(found)
        return known

    def splits(self, s: int) -> list[tuple[int, int]]:
        known = self._splits.get(s)
        if known is None:
            known = []
            for left in _subsets(s):
                right = s ^ left
                if left not in self.relations or right not in self.relations or not self.linked(left, right):
                    continue
                if not self._left_deep or left.bit_count() == 1 or right.bit_count() == 1:
                    known.append((left, right))
            self._splits[s] = known
        return known

    def stored_order(self, s: int) -> Order:
        """The order in which the rows of a single relation are stored."""
        return self._stored[s][0]

    # -- local costs ------------------------------------------------------------------------------------------------------

    def _local(self, op: PhysicalOperator, order: Order, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        return self.model.local(op, TraitSet(_sort_keys(order)) if order else ANY, output, inputs)

    def join_cost(self, which: str, left: int, right: int, ordered: bool) -> float:
        """`ordered`: somebody relies on the order of the result. Infinite where a join needs an equality and there is none."""
        known = self._locals.get((which, left, right, ordered))
        if known is None:
            predicate = self.across(left, right)
            keys = tuple((ColumnRef(a, None), ColumnRef(b, None)) for a, b in self.pairs(left, right))  # type: ignore[arg-type]
            if which != "loop" and not keys:
                return INFINITY
            op: PhysicalOperator
            if which == "hash":
                op = HashJoin(JoinKind.INNER, keys, self.residual(left, right))
            elif which == "merge":
                op = MergeJoin(JoinKind.INNER, keys, self.residual(left, right))
            else:
                op = NestedLoopJoin(JoinKind.INNER, predicate)
            inputs = [self.relations[left].stats, self.relations[right].stats]
            order = (Key(next(members(self.relations[left].known.columns))),) if ordered else ()
            known = self._local(op, order, self.relations[left | right].stats, inputs)
            self._locals[which, left, right, ordered] = known
        return known

    def sorted_cost(self, relation: Relation, order: Order, best: dict[int, float]) -> float:
        """The cheapest way to `order` from rows that come in a part of it: `best[cut]`, by its first `cut` keys."""
        least = INFINITY
        if "sort" in self._sorts:
            least = best[0] + self._local(Sort(_sort_keys(order)), order, relation.stats, [relation.stats])
        if "partial_sort" in self._sorts:
            for cut in range(1, len(order)):
                op = _partial_sort(relation.known, columns_of(order[:cut]), order[cut:])
                least = min(least, best[cut] + self._local(op, order, relation.stats, [relation.stats]))
        return least

    # -- sets of relations --------------------------------------------------------------------------------------------------

    def best(self, s: int, order: Order) -> float:
        """The cheapest plan of the set whose rows come in `order`, which is reduced there."""
        known = self._best.get((s, order))
        if known is None:
            known = self._native(s, order)
            if order:
                shorter = {cut: self.best(s, order[:cut]) for cut in range(len(order))}
                known = min(known, self.sorted_cost(self.relations[s], order, shorter))
            self._best[s, order] = known
        return known

    def _native(self, s: int, order: Order) -> float:
        """The cheapest plan whose last operator is no sort."""
        if s & (s - 1) == 0:
            stored, cost = self._stored[s]
            return cost if self.relations[s].known.gives(stored, order) else INFINITY
        least = INFINITY
        for left, right in self.splits(s):
            first, second = self.best(left, ()), self.best(right, ())
            if "hash" in self._joins or "loop" in self._joins:
                local = min(self.join_cost(which, left, right, bool(order)) for which in ("hash", "loop") if which in self._joins)
                ways = self._spelled(left, s, order) if order else [()]
                least = min([least, *(self.best(left, way) + second + local for way in ways)])
            if "merge" in self._joins:
                local = self.join_cost("merge", left, right, bool(order))
                if local + first + second < least:
                    for a, b in self._merged(left, right, order):
                        least = min(least, self.best(left, a) + self.best(right, b) + local)
            if "loop" in self._joins and order:
                local = self.join_cost("loop", left, right, True)
                if local + first + second < least:
                    for a, b in self._looped(left, right, order):
                        least = min(least, self.best(left, a) + self.best(right, b) + local)
        return least

    def _spelled(self, inner: int, outer: int, want: Order) -> set[Order]:
        """Orders of the set `inner` that are the order `want` in `outer`."""
        found: set[Order] = set()
        self._extend(inner, outer, (), want, 0, found)
        return found

    def _extend(self, inner: int, outer: int, start: Order, want: Order, lead: int, found: set[Order]) -> None:
        """Add to `found` the orders of `inner` that begin with `start`, and go on so that in `outer` they say `want` where rows
        are equal on the columns `lead`."""
        below, above = self.relations[inner], self.relations[outer]
        if not want:
            found.add(start)
            return
        columns = columns_of(start)
        here, there = below.known.closure(columns), above.known.closure(columns | lead)
        key, rest = want[0], want[1:]
        names = {below.known.name(c) for c in members(above.known.same(key.column) & below.known.columns)}
        for name in names:
            self._extend(inner, outer, (*start, key._replace(column=name)), rest, lead, found)
        for name in {below.known.name(c) for c in members(below.offered & there & ~here)}:
            self._extend(inner, outer, (*start, Key(name)), want, lead, found)

    def _merged(self, left: int, right: int, want: Order) -> set[tuple[Order, Order]]:
        """Orders of both sides under which they can be merged and the left order is `want` in the result."""
        found: set[tuple[Order, Order]] = set()
        a, b, out = self.relations[left].known, self.relations[right].known, self.relations[left | right].known
        seen: set[tuple[Order, Order, Order]] = set()
        stack: list[tuple[Order, Order, Order]] = [((), (), want)]
        while stack:
            first, second, rest = stack.pop()
            here, there, known = a.closure(columns_of(first)), b.closure(columns_of(second)), out.closure(columns_of(first))
            open_pairs = [(x, y) for x, y in self.pairs(left, right) if not (here >> x & 1 and there >> y & 1)]
            if not open_pairs:
                ways: set[Order] = set()
                self._extend(left, left | right, first, rest, 0, ways)
                found |= {(way, second) for way in ways}
            for x, y in open_pairs:
                if known >> x & 1 or not rest:
                    key, after = Key(x), rest
                elif out.name(x) == rest[0].column:
                    key, after = rest[0], rest[1:]
                else:
                    continue
                state = (
                    first if here >> x & 1 else (*first, key._replace(column=a.name(x))),
                    second if there >> y & 1 else (*second, key._replace(column=b.name(y))),
                    after,
                )
                if state not in seen:
                    seen.add(state)
                    stack.append(state)
        return found

    def _looped(self, left: int, right: int, want: Order) -> set[tuple[Order, Order]]:
        """Orders of both sides that give `want` when each left row, told from all others by its order, meets all right rows."""
        found: set[tuple[Order, Order]] = set()
        a, out = self.relations[left], self.relations[left | right].known
        stack: list[tuple[Order, Order]] = [((), want)]
        seen: set[tuple[Order, Order]] = set()
        while stack:
            first, rest = stack.pop()
            if not rest:
                continue
            columns = columns_of(first)
            if a.known.unique(columns):
                ways: set[Order] = set()
                self._extend(right, left | right, (), rest, columns, ways)
                found |= {(first, way) for way in ways}
                continue
            here, there = a.known.closure(columns), out.closure(columns)
            names = {a.known.name(c) for c in members(out.same(rest[0].column) & a.known.columns)}
            states = [((*first, rest[0]._replace(column=name)), rest[1:]) for name in names]
            for name in {a.known.name(c) for c in members(a.offered & there & ~here)}:
                states.append(((*first, Key(name)), rest))
            for state in states:
                if state not in seen:
                    seen.add(state)
                    stack.append(state)
        return found

    # -- above the joins ------------------------------------------------------------------------------------------------------

    def _level(self, level: int, order: Order) -> float:
        """As `best`, for level 0 (all relations) and for each operator above."""
        if level == 0:
            return self.best(self.all, order)
        known = self._level_best.get((level, order))
        if known is None:
            op, relation, below = self.above[level - 1], self.levels[level], self.levels[level - 1]
            if isinstance(op, Project):
                local = self._local(ProjectRows(op.items), order, relation.stats, [below.stats])
                sources = _sources(op)
                old = tuple(key._replace(column=sources[key.column]) for key in order)
                known = self._level(level - 1, below.known.reduced(old)) + local
            else:
                known = self._aggregate(level, op, order)
            if order:
                shorter = {cut: self._level(level, order[:cut]) for cut in range(len(order))}
                known = min(known, self.sorted_cost(relation, order, shorter))
            self._level_best[level, order] = known
        return known

    def _aggregate(self, level: int, op: Aggregate, order: Order) -> float:
        relation, below = self.levels[level], self.levels[level - 1]
        least = INFINITY
        if not order:
            hashed = HashAggregate(op.keys, op.aggregates)
            least = self._level(level - 1, ()) + self._local(hashed, (), relation.stats, [below.stats])
        if op.keys and not columns_of(order) & ~mask(op.keys):
            local = self._local(StreamingAggregate(op.keys, op.aggregates), order, relation.stats, [below.stats])
            if order:
                ways = _grouping_orders(below, mask(op.keys), below.known.reduced(order))
                least = min([least, *(self._level(level - 1, way) + local for way in ways)])
            else:
                least = min(least, self._level_grouped(level - 1, mask(op.keys)) + local)
        return least

    def _level_grouped(self, level: int, columns: int) -> float:
        if level:
            raise NotCovered("an aggregate above another operator")
        return self.grouped(self.all, columns)

    def grouped(self, s: int, columns: int) -> float:
        """The cheapest plan of the set in which rows equal on `columns` are adjacent."""
        relation = self.relations[s]
        known, target = relation.known, relation.known.closure(columns)
        if known.unique(columns) or target == known.closure(0):
            return self.best(s, ())
        least = self._grouped.get((s, target))
        if least is not None:
            return least
        least = INFINITY
        for order in _grouping_orders(relation, columns, ()):  # by an order; sorts of it are among these
            least = min(least, self.best(s, order))
        for left, right in self.splits(s):
            second = self.best(right, ())
            local = min((self.join_cost(w, left, right, True) for w in ("hash", "loop") if w in self._joins), default=INFINITY)
            if local + second + self.best(left, ()) < least:
                for part in self._same_groups(left, s, columns):
                    least = min(least, self.grouped(left, part) + second + local)
            if "loop" in self._joins and self.relations[left].known.unique(target & self.relations[left].known.columns):
                local, first = self.join_cost("loop", left, right, True), self.best(left, ())
                for part in self._same_groups(right, s, columns, self.relations[left].known.columns):
                    least = min(least, first + self.grouped(right, part) + local)
        if "partial_sort" in self._sorts:
            for lead in (part for part in _parts(relation, target) if known.closure(part) != target):
                for rest in _grouping_orders(relation, columns, (), lead):
                    op = _partial_sort(known, lead, rest)
                    least = min(least, self.grouped(s, lead) + self._local(op, rest, relation.stats, [relation.stats]))
        self._grouped[s, target] = least
        return least

    def _same_groups(self, inner: int, outer: int, columns: int, lead: int = 0) -> list[int]:
        """Sets of columns of `inner` that part its rows as `columns` do in `outer`, among rows that are equal on `lead`."""
        below, above = self.relations[inner], self.relations[outer]
        target = above.known.closure(columns)
        parts = [part for part in _parts(below, target) if above.known.closure(part | lead) == target]
        return list({below.known.closure(part): part for part in parts}.values())


def _sources(op: Project) -> dict[int, int]:
    """The input column that each item shows; the other items are constants."""
    for item in op.items:
        if not isinstance(item.value, ColumnRef | Literal):
            raise NotCovered(f"project {item.value}")
    return {item.id: item.value.id for item in op.items if isinstance(item.value, ColumnRef)}


def _below(node: Tree) -> Tree:
    (child,) = node.inputs
    assert isinstance(child, Tree)
    return child


def _grouping_orders(relation: Relation, columns: int, start: Order, lead: int = 0) -> set[Order]:
    """Orders that begin with `start` and, where rows are equal on `lead`, bring rows that are equal on `columns` together."""
    known, found = relation.known, set[Order]()
    if known.unique(columns):
        return {start}
    target = known.closure(columns)
    stack = [start]
    while stack:
        order = stack.pop()
        here = known.closure(columns_of(order) | lead)
        if here == target:
            found.add(order)
            continue
        stack += [(*order, Key(name)) for name in {known.name(c) for c in members((columns | relation.offered) & target & ~here)}]
    return found


def _parts(relation: Relation, target: int) -> list[int]:
    """Sets of columns that `target` determines, none of whose columns the others determine."""
    known, found = relation.known, [0]
    for column in sorted({known.name(c) for c in members(known.columns & target)}):
        found += [part | 1 << column for part in found]
    return [part for part in found if part and all(not known.closure(part ^ 1 << c) >> c & 1 for c in members(part))]


def _partial_sort(known: Known, lead: int, order: Order) -> PartialSort:
    """Sorts rows by `order` that come by `lead`. There are no more runs than combinations of any columns that determine them."""
    runs = _runs(known, lead)
    finer = [runs]
    for column in members(known.columns & ~known.closure(runs)):
        if known.name(column) == column:
            told = known.closure(1 << column)
            finer += [each & ~told | 1 << column for each in finer if (each & told).bit_count() > 1]
    return PartialSort(runs, _sort_keys(order), tuple(finer[1:]))


def _runs(known: Known, columns: int) -> int:
    """The columns by which a partial sort tells runs apart: out of all that `columns` determine, without those that the others
    determine. Those that determine fewest go first, of these those with the highest numbers."""
    closed = known.closure(columns) & known.columns
    runs = closed & ~known.closure(0)
    for column in sorted(members(runs), key=lambda c: ((known.closure(1 << c) & closed).bit_count(), -c)):
        if known.closure(runs ^ 1 << column) >> column & 1:
            runs ^= 1 << column
    return runs


def _subsets(s: int) -> Iterator[int]:
    """Non-empty proper subsets."""
    subset = (s - 1) & s
    while subset:
        yield subset
        subset = (subset - 1) & s


def _sort_keys(order: Order) -> tuple[SortKey, ...]:
    return tuple(SortKey(*key) for key in order)
