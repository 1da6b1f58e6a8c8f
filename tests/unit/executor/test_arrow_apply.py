"""Applies against naive evaluation: random right inputs, every way to run them, NULLs, duplicates and empty inputs."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hand_made_plans import (
    DATE,
    DEC,
    F64,
    I64,
    SMALL,
    STR,
    TUNINGS,
    Plans,
    bag,
    equal,
    less,
    literal,
    node,
    random_rows,
    random_value,
    same,
    values,
)

from executor.arrow.context import Tuning
from executor.arrow.counters import Counters
from executor.arrow.run import execute
from optimizer.algebra import AggregateItem, Filter, JoinKind, LogicalOperator, ProjectItem, Scan, SetOp, SetOpKind, column_ids
from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.physical import (
    FilterRows,
    HashAggregate,
    HashJoin,
    LimitRows,
    LookupRows,
    MergeJoin,
    NestedApply,
    NestedLoopJoin,
    PhysicalOperator,
    ProjectRows,
    RangeLookup,
    Sort,
    TableScan,
)
from optimizer.algebra.physical.apply import LookupKey, RangeBound
from optimizer.algebra.plan import PlanNode, prune_columns
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalars import BOOL, AggregateCall, Call, Cast, OuterRef, Predicate, Scalar
from optimizer.algebra.traits import ANY, Alternative, SortKey, TraitSet, group_order
from optimizer.algebra.trees import Tree, postorder
from optimizer.errors import ExecutionError
from optimizer.rules.catalog import IMPLEMENTATIONS
from optimizer.rules.interface import RuleContext
from optimizer.rules.transform.scan_split_outer import ScanSplitOuter
from optimizer.settings import Settings
from planscope import Session
from tests.decorrelate.random_applies import KINDS, RandomApplies
from tests.reference.naive import run as naive


class Query(RandomApplies):
    """Random logical trees over random stored tables with columns of many types, and random plans for them."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.plans = Plans(folder)
        super().__init__(0, self.plans.columns)
        self.rng, self.tables = rng, {}

    def scan(self, types: Sequence[pa.DataType], rows: int) -> Tree:
        spread = self.rng.choice([1, 2, 4])
        plan = self.plans.table(types, random_rows(self.rng, types, rows, spread), row_group=self.rng.choice([2, 5, 100]))
        assert isinstance(plan.op, TableScan)
        scan = plan.op.scan
        self.tables[scan.table] = pq.read_table(self.plans.sources[scan.table].files[0])
        return Tree(scan)

    def refs(self, tree: Tree, type: pa.DataType) -> list[Scalar]:
        return [self.plans.ref(c) for c in column_ids(tree.columns) if self.columns[c].type == type]

    def rows(self, reads: list[int]) -> Tree:
        rng = self.rng
        if rng.random() < 0.2:
            return super().rows([c for c in reads if self.columns[c].type == I64])
        tree = self.scan(rng.choice([[I64, I64], [I64, STR], [F64, I64], [I64, DEC, DATE]]), rng.choice([0, 1, 4, 9]))
        if rng.random() < 0.6:
            return Tree(replace(tree.op, predicate=self.conjuncts(tree, reads)))
        return tree

    def operand(self, ids: list[int], reads: list[int], outer: float) -> Scalar:
        return super().operand(ids, [c for c in reads if self.columns[c].type == I64], outer)

    def conjunct(self, tree: Tree, reads: list[int]) -> Scalar:
        """A condition on a column of `tree` and a value of an outer row, or a literal."""
        rng = self.rng
        type = self.columns[rng.choice(list(column_ids(tree.columns)))].type
        column = rng.choice(self.refs(tree, type))
        given = [OuterRef(c, type) for c in reads if self.columns[c].type == type]
        value = rng.choice(given) if given and rng.random() < 0.8 else literal(random_value(rng, type), type)
        if pa.types.is_integer(type) and rng.random() < 0.2:
            value = Call("+", (value, literal(1, type)), type)
        function = rng.choice(["=", "=", "is_not_distinct_from", "<", "<=", ">", ">=", "<>"])
        sides = (column, value) if rng.random() < 0.7 else (value, column)
        condition: Scalar = Call(function, sides, BOOL)
        if rng.random() < 0.15 and given:
            condition = Call("or", (condition, Call("is_null", (given[0],), BOOL)), BOOL)
        return condition

    def conjuncts(self, tree: Tree, reads: list[int]) -> Predicate:
        return conjunction(self.conjunct(tree, reads) for _ in range(self.rng.randint(1, 2)))

    def filtered(self, tree: Tree, reads: list[int]) -> Tree:
        return Tree(Filter(self.conjuncts(tree, reads)), (tree,))

    def set_operation(self, left: Tree, right: Tree) -> Tree:
        """UNION keeps duplicates: the search plans no other, as the binder writes it with an aggregate above."""
        tree = super().set_operation(left, right)
        is_union = isinstance(tree.op, SetOp) and tree.op.kind is SetOpKind.UNION
        return Tree(replace(tree.op, all=True), tree.inputs) if is_union else tree

    def meeting(self, left: Tree, right: Tree) -> Predicate:
        ids = [*self.ints(left), *self.ints(right)]
        return conjunction(self.condition(ids, []) for _ in range(self.rng.choice((0, 0, 1, 2))))

    # -- plans ------------------------------------------------------------------------------------------------------------

    def plan(self, tree: Tree) -> PlanNode:
        root = self.planned(tree)
        prune_columns(root, root.columns)
        return root

    def planned(self, tree: Tree) -> PlanNode:
        """Some implementation of each operator, and a sort wherever one asks for an order."""
        context = RuleContext(self.plans.columns, Settings())
        if isinstance(tree.op, Scan) and self.rng.random() < 0.5 and ScanSplitOuter.pattern.takes(tree.op):
            for split in ScanSplitOuter().apply(tree, context):
                tree = split
        found: list[tuple[PhysicalOperator, Alternative]] = []
        props = [i.props for i in tree.inputs]
        for rule in IMPLEMENTATIONS:
            if rule.pattern.takes(tree.op):
                for op in rule.apply(tree, context):
                    found += [(op, way) for way in op.pass_through(ANY, tree.props, props)]
        special = [pair for pair in found if isinstance(pair[0], LookupRows | RangeLookup)]
        op, way = self.rng.choice(special if special and self.rng.random() < 0.5 else found)
        inputs = []
        for below, traits in zip(tree.inputs, way.inputs, strict=True):
            assert isinstance(below, Tree)
            child = self.planned(below)
            order = traits.collation or group_order(traits.grouping)
            if order:
                child = node(Sort(order), child, columns=child.columns, delivers=order)
            inputs.append(child)
        return PlanNode(op, tuple(inputs), tree.columns, way, 1.0, 1.0, 1.0)


def check(query: Query, tree: Tree, plans: int = 3) -> tuple[set[str], bool]:
    """Compares random plans of a tree with naive evaluation. Returns the operators used, and whether the query fails."""
    used: set[str] = set()
    want: list[dict[int, Any]] | None
    try:
        want = naive(tree, query.plans.columns, query.tables)
    except ExecutionError:
        want = None
    for number in range(plans):
        plan = query.plan(tree)
        used |= {n.op.name + (" cached" if getattr(n.op, "cached", False) else "") for n in plan.walk()}
        tuning = TUNINGS[number % 2] if number else Tuning(batch=4, pairs=5, inline=0, cache=2000, workers=2)
        if want is None:
            failure = error_of(query.plans, plan, tuning)
            if failure is None:  # something above the single join stopped early, or never asked for its rows
                singles = [t for t in postorder(tree) if isinstance(t, Tree) and getattr(t.op, "kind", None) is JoinKind.SINGLE]
                assert singles != [tree]
            else:
                assert "More than one row" in failure
        else:
            assert bag(query.plans.run(plan, tuning)) == bag(values(want, plan.columns)), tree.op
    return used, want is None


def error_of(plans: Plans, plan: PlanNode, tuning: Tuning) -> str | None:
    try:
        plans.run(plan, tuning)
    except ExecutionError as error:
        return str(error)
    return None


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_random_applies(tmp_path: Path, kind: JoinKind) -> None:
    rng = random.Random(kind.value)
    used: set[str] = set()
    failed = 0
    for _ in range(30):
        query = Query(tmp_path, rng)
        left = query.scan(rng.choice([[I64, I64], [I64, F64, STR], [DEC, I64]]), rng.choice([0, 1, 6, 15]))
        right = query.tree([], rng.choice([0, 1, 2, 3]), list(column_ids(left.columns)))
        predicate = query.meeting(left, right)
        mark = query.plans.new(BOOL) if kind is JoinKind.MARK else None
        names, fails = check(query, Tree(Apply(kind, predicate, mark), (left, right)))
        used |= names
        failed += fails
    assert {"nested_apply", "nested_apply cached", "lookup_rows", "range_lookup", "table_scan"} <= used
    assert kind is not JoinKind.SINGLE or failed


@pytest.mark.slow
def test_many_random_applies(tmp_path: Path) -> None:
    rng = random.Random(11)
    for _ in range(1200):
        query = Query(tmp_path, rng)
        check(query, query.apply([], rng.choice([1, 2, 3, 4])), 2)


@pytest.mark.few(3)
@pytest.mark.parametrize("type", [I64, STR, F64, DEC, DATE, pa.decimal128(30, 2), BOOL], ids=str)
def test_lookups_and_ranges_on_every_type(tmp_path: Path, type: pa.DataType) -> None:
    rng = random.Random(str(type))
    for size in (0, 1, 30):
        query = Query(tmp_path, rng)
        left, right = query.scan([type, type], 12), query.scan([type, I64], size)
        (a, b), k, v = query.refs(left, type)[:2], query.refs(right, type)[0], query.refs(right, I64)[-1]
        x, y = (OuterRef(c.columns.bit_length() - 1, type) for c in (a, b))
        extra = less(v, literal(2, I64))
        predicates: list[Predicate] = [
            (equal(k, x),), (same(y, k),), (same(k, x), equal(k, y)), (equal(k, x), extra), (less(k, x),),
            (Call(">=", (k, x), BOOL),), (Call("<=", (x, k), BOOL), less(k, y)), (Call(">", (x, k), BOOL), extra),
            (Call("<=", (k, x), BOOL), Call(">", (k, y), BOOL)),
        ]  # fmt: skip
        for predicate in predicates:
            tree = Tree(Apply(JoinKind.LEFT, ()), (left, Tree(Filter(conjunction(predicate)), (right,))))
            want = bag(values(naive(tree, query.plans.columns, query.tables), tree.columns))
            ways = 0
            for order in rng.sample(list(product((False, True), repeat=2)), 2):
                for op in implementations(query, tree.inputs[1]):
                    key = SortKey(k.columns.bit_length() - 1, *order)
                    inner = query.planned(right)
                    if isinstance(op, RangeLookup):
                        inner = node(Sort((key,)), inner, columns=inner.columns, delivers=(key,))
                    inner = node(op, inner, columns=right.columns, needs=((key,),) if isinstance(op, RangeLookup) else None)
                    apply = NestedApply(JoinKind.LEFT, (), None, left.columns, cached=rng.random() < 0.5)
                    plan = node(apply, query.planned(left), inner, columns=tree.columns)
                    assert bag(query.plans.run(plan, rng.choice(TUNINGS))) == want, (op, order)
                    ways += 1
            assert ways >= 4


def implementations(query: Query, tree: Any) -> list[PhysicalOperator]:
    context = RuleContext(query.plans.columns, Settings())
    rules = [rule for rule in IMPLEMENTATIONS if rule.pattern.op is not None and isinstance(tree.op, rule.pattern.op)]
    return [op for rule in rules for op in rule.apply(tree, context)]


# -- what is run, and how often ------------------------------------------------------------------------------------------------


class Correlated:
    """left (k, n) and right (k, v); `$k` and `$n` are the left columns as the right input sees them."""

    def __init__(self, folder: Path, left: Sequence[tuple[Any, Any]], right: Sequence[tuple[Any, Any]]) -> None:
        self.plans = Plans(folder)
        self.left, self.right = self.plans.table([I64, I64], left), self.plans.table([I64, I64], right)
        self.k, self.n = OuterRef(0, I64), OuterRef(1, I64)
        self.key, self.value = self.plans.ref(2), self.plans.ref(3)

    def apply(self, inner: PlanNode, kind: JoinKind = JoinKind.INNER, cached: bool = False, parameters: int = 0b11) -> PlanNode:
        columns = self.left.columns if kind.left_only else self.left.columns | inner.columns
        plan = node(NestedApply(kind, (), None, parameters, cached), self.left, inner, columns=columns)
        prune_columns(plan, columns)
        return plan

    def filter(self, *conjuncts: Scalar) -> PlanNode:
        return node(FilterRows(conjuncts), self.right, columns=0b1100)


def counted(plans: Plans, plan: PlanNode, tuning: Tuning = SMALL) -> tuple[list[tuple[Any, ...]], Counters]:
    counters = Counters()
    return plans.run(plan, tuning, counters), counters


def test_what_reads_no_outer_column_is_run_once(tmp_path: Path) -> None:
    q = Correlated(tmp_path, [(i % 5, i) for i in range(20)], [(i, i) for i in range(8)])
    plan = q.apply(q.filter(equal(q.key, q.k)))
    rows, counters = counted(q.plans, plan)
    assert len(rows) == 20
    apply, _, filter, scan = plan.walk()
    assert counters[scan.id].rows == 8 and counters[filter.id].rows == 20 and counters[apply.id].rows == 20


def test_a_cache_runs_each_distinct_binding_once_and_no_more_than_fits(tmp_path: Path) -> None:
    left = [(i % 5 if i % 7 else None, i) for i in range(70)]
    q = Correlated(tmp_path, left, [(i, i) for i in range(4)])
    inner = node(FilterRows((same(q.key, q.k),)), q.right, columns=0b1100)
    total = node(
        HashAggregate((), (AggregateItem(q.plans.new(I64), AggregateCall("count", (), False, None, I64)),)), inner, columns=16
    )
    plan = q.apply(total, cached=True, parameters=1)
    rows, counters = counted(q.plans, plan)
    assert bag(rows) == bag((k, n, int(k is not None and k < 4)) for k, n in left)
    assert counters[total.id].rows == 6
    uncached = q.apply(total, parameters=1)
    again, counters = counted(q.plans, uncached)
    assert bag(again) == bag(rows) and counters[total.id].rows == 70
    small = replace(SMALL, cache=1100)  # room for two results
    again, counters = counted(q.plans, q.apply(total, cached=True, parameters=1), small)
    assert bag(again) == bag(rows) and 6 < counters[total.id].rows <= 70


def test_zero_and_negative_zero_are_two_bindings(plans: Plans) -> None:
    nan = float("nan")
    left = plans.table([F64], [(0.0,), (-0.0,), (0.0,), (nan,), (None,), (nan,), (-0.0,)])
    text = plans.new(STR)
    dual = plans.table([I64], [(1,)])
    inner = node(ProjectRows((ProjectItem(text, Cast(OuterRef(0, F64), STR, False)),)), dual, columns=1 << text)
    plan = node(NestedApply(JoinKind.INNER, (), None, 1, True), left, inner, columns=1 << text)
    prune_columns(plan, 1 << text)
    rows, counters = counted(plans, plan, Tuning())
    assert [row[0] for row in rows] == ["0.0", "-0.0", "0.0", "nan", None, "nan", "-0.0"]
    assert counters[inner.id].rows == 4


def test_an_empty_left_input_runs_nothing(tmp_path: Path) -> None:
    q = Correlated(tmp_path, [], [(1, 1)])
    number = Cast(literal("x", STR), I64, False)
    plan = q.apply(q.filter(equal(number, q.k)))
    rows, counters = counted(q.plans, plan)
    assert rows == [] and list(counters.nodes) == [0, 1]


def test_an_error_in_a_run_comes_up_only_if_the_row_is_reached(plans: Plans) -> None:
    left = plans.table([STR], [("1",), ("2",), ("x",)] + [("3",)] * 50)
    right = plans.table([I64], [(i,) for i in range(4)])
    number = Cast(OuterRef(0, STR), I64, False)
    inner = node(FilterRows((equal(plans.ref(1), number),)), right, columns=0b10)
    plan = node(NestedApply(JoinKind.INNER, (), None, 1, False), left, inner, columns=0b11)
    first = node(FilterRows((Call("<>", (plans.ref(0), literal("x", STR)), BOOL),)), left, columns=1)
    spared = node(NestedApply(JoinKind.INNER, (), None, 1, True), first, inner, columns=0b11)
    with pytest.raises(ExecutionError, match="filter_rows: 'x' cannot be read as int64"):
        plans.run(plan)
    assert len(plans.run(spared)) == 52
    assert len(plans.run(node(LimitRows((), 0, 2), plan, columns=0b11), replace(SMALL, batch=1))) == 2


def test_a_volatile_right_input_is_evaluated_for_each_row(tmp_path: Path) -> None:
    q = Correlated(tmp_path, [(1, i) for i in range(60)], [(1, i) for i in range(1)])
    chance = Call("random", (), F64)
    drawn = q.plans.columns.new("drawn", F64, True).id
    inner = node(ProjectRows((ProjectItem(drawn, chance),)), q.right, columns=1 << drawn)
    for cached, parameters in ((True, 1), (False, 1), (True, 0)):
        plan = node(NestedApply(JoinKind.INNER, (), None, parameters, cached), q.left, inner, columns=1 << drawn | 1)
        rows = q.plans.run(plan)
        assert len({row[1] for row in rows}) == 60
    above = node(FilterRows((less(q.plans.ref(drawn), literal(0.5, F64)),)), inner, columns=1 << drawn)
    kept = q.plans.run(node(NestedApply(JoinKind.LEFT, (), None, 1, True), q.left, above, columns=1 << drawn | 2))
    assert 0 < sum(row[1] is None for row in kept) < 60  # decided anew for each row


def test_lookups_in_a_volatile_input_see_its_rows_of_each_run(tmp_path: Path) -> None:
    q = Correlated(tmp_path, [(1, i) for i in range(60)], [(1, i) for i in range(4)])
    chance = node(FilterRows((less(Call("random", (), F64), literal(0.5, F64)),)), q.right, columns=0b1100)
    lookup = node(LookupRows((LookupKey(q.key, q.k, False),), ()), chance, columns=0b1100)
    counts = [0] * 60
    for row in q.plans.run(q.apply(lookup)):
        counts[row[1]] += 1
    assert len(set(counts)) > 1
    sorted_chance = node(Sort((SortKey(2),)), chance, columns=0b1100)
    ranged = node(RangeLookup(q.key, (RangeBound("<=", q.k),), ()), sorted_chance, columns=0b1100, needs=((SortKey(2),),))
    assert 60 < len(q.plans.run(q.apply(ranged))) < 180


def test_semi_and_anti_applies_stop_at_the_first_row(tmp_path: Path) -> None:
    q = Correlated(tmp_path, [(i, i) for i in range(6)], [(i % 3, i) for i in range(600)])
    for kind, found in ((JoinKind.SEMI, 3), (JoinKind.ANTI, 3)):
        plan = q.apply(q.filter(equal(q.key, q.k)), kind)
        rows, counters = counted(q.plans, plan, Tuning(batch=10, inline=1000))
        assert len(rows) == found
        filter, scan = plan.inputs[1], plan.inputs[1].inputs[0]
        assert counters[filter.id].rows < 20 and counters[scan.id].rows == 600


def test_empty_batches_of_a_run_are_no_rows(tmp_path: Path) -> None:
    q = Correlated(tmp_path, [(1, 1), (2, 2)], [(1, 5), (2, 6)])
    other = q.plans.table([I64], [(5,), (6,)])
    order = ((SortKey(3),), (SortKey(4),))
    merge = MergeJoin(JoinKind.INNER, ((q.value, q.plans.ref(4)),), (less(q.plans.ref(4), q.key),))
    sides = [
        node(Sort(o), side, columns=side.columns, delivers=o)
        for o, side in zip(order, (q.filter(equal(q.key, q.k)), other), strict=True)
    ]
    inner = node(merge, *sides, columns=0b11100, needs=order)
    mark = q.plans.new(BOOL)
    marked = node(NestedApply(JoinKind.MARK, (), mark, 1, False), q.left, inner, columns=0b11 | 1 << mark)
    assert q.plans.run(q.apply(inner, JoinKind.SEMI)) == [] and len(q.plans.run(q.apply(inner, JoinKind.ANTI))) == 2
    assert [row[2] for row in q.plans.run(marked)] == [False, False]


def test_the_left_order_is_kept_and_batches_are_handed_on_early(tmp_path: Path) -> None:
    q = Correlated(tmp_path, [(i % 7, i) for i in range(500)], [(i % 7, i) for i in range(21)])
    for cached in (False, True):
        plan = q.apply(q.filter(equal(q.key, q.k)), cached=cached, parameters=1)
        rows = q.plans.run(plan)
        assert [row[1] for row in rows] == [i for i in range(500) for _ in range(3)]
    counters = Counters()
    plan = q.apply(q.filter(equal(q.key, q.k)))
    reader = execute(plan, q.plans.columns, q.plans.sources, counters, Tuning())
    reader.read_next_batch()
    assert counters[plan.inputs[1].id].rows < 100  # 500 rows of the left input wait
    reader.close()


def test_scans_skip_row_groups_by_the_binding(tmp_path: Path) -> None:
    q = Correlated(tmp_path, [(3, 0), (None, 1), (95, 2), (200, 3)], [(i, -i) for i in range(100)])
    assert isinstance(q.right.op, TableScan)
    for conjunct, found in ((equal(q.key, q.k), {(3, 0), (95, 2)}), (less(q.k, q.key), {(3, 0), (95, 2)})):
        scan = node(TableScan(replace(q.right.op.scan, predicate=(conjunct,))), columns=0b1100)
        rows = q.plans.run(q.apply(scan))
        assert {row[:2] for row in rows} == found
        assert all(row[2] == row[0] or row[2] > row[0] for row in rows)


def test_build_sides_and_unions_below_are_kept(tmp_path: Path) -> None:
    q = Correlated(tmp_path, [(i % 4, i) for i in range(20)], [(i % 5, i) for i in range(15)])
    build = q.plans.table([I64, I64], [(i, 10 * i) for i in range(15)])
    pair = (q.value, q.plans.ref(4))
    correlated = q.filter(equal(q.key, q.k))
    for kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI):
        for op in (HashJoin(kind, (pair,), ()), NestedLoopJoin(kind, (equal(*pair),)), HashJoin(kind, (pair,), (), True)):
            join = node(op, correlated, build, columns=0b1100 if kind.left_only else 0b111100)
            plan = q.apply(join, parameters=1)
            rows, counters = counted(q.plans, plan)
            scans = [n for n in plan.walk() if isinstance(n.op, TableScan)]
            assert [counters[scan.id].rows for scan in scans] == [20, 15, 15]
            inner = [{2: r % 5, 3: r, 4: r, 5: 10 * r} for r in range(15)]
            lone = dict.fromkeys((2, 3))
            want = []
            for k, n in [(i % 4, i) for i in range(20)]:
                met = [r for r in inner if r[2] == k]
                if kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.SEMI):
                    want += [{0: k, 1: n, **r} for r in met]
                if kind.keeps_right:
                    want += [{0: k, 1: n, **r, **lone} for r in inner if r[2] != k]
            assert bag(rows) == bag(values(want, plan.columns)), op


def test_nested_applies_keep_inner_rows_for_all_and_for_each_outer_run(tmp_path: Path) -> None:
    q = Correlated(tmp_path, [(i % 3, i) for i in range(9)], [(i % 3, i) for i in range(6)])
    third = q.plans.table([I64, I64], [(i % 3, i) for i in range(12)])
    a, b = q.plans.ref(4), q.plans.ref(5)
    middle = q.filter(equal(q.key, q.k))
    of_outer = node(FilterRows((equal(a, q.k),)), third, columns=third.columns)  # one set of rows for each outer run
    of_both = node(FilterRows((less(b, OuterRef(3, I64)),)), of_outer, columns=third.columns)
    for inner, cached in ((of_both, False), (of_both, True)):
        nested = node(NestedApply(JoinKind.INNER, (), None, 0b1000, cached), middle, inner, columns=0b111100)
        plan = q.apply(nested, parameters=1)
        rows, counters = counted(q.plans, plan)
        want = [
            (i % 3, i, j % 3, j, t % 3, t) for i in range(9) for j in range(6) if j % 3 == i % 3 for t in range(12)
            if t % 3 == i % 3 and t < j
        ]  # fmt: skip
        assert bag(rows) == bag(want)
        scan = next(n for n in plan.walk() if n.op is third.op)
        each = next(n for n in plan.walk() if n.op is of_outer.op)
        assert counters[scan.id].rows == 12 and counters[each.id].rows == 9 * 4


def test_deep_nesting_of_applies(plans: Plans) -> None:
    tables = [plans.table([I64], [(i,) for i in range(3)]) for _ in range(6)]
    plan = node(FilterRows((equal(plans.ref(5), OuterRef(4, I64)),)), tables[5], columns=1 << 5)
    for level in range(4, -1, -1):
        below = tables[level]
        if level:
            below = node(FilterRows((Call(">=", (plans.ref(level), OuterRef(level - 1, I64)), BOOL),)), below, columns=1 << level)
        columns = plan.columns | 1 << level
        plan = node(NestedApply(JoinKind.INNER, (), None, 1 << level, level % 2 == 0), below, plan, columns=columns)
    rising = [()]
    for _ in range(5):
        rising = [(*r, i) for r in rising for i in range(3) if not r or i >= r[-1]]
    assert bag(plans.run(plan)) == bag((*r, r[-1]) for r in rising)


def test_payloads_give_up_all_their_scalars(plans: Plans) -> None:
    scan = plans.table([I64, I64], [])
    assert isinstance(scan.op, TableScan)
    x, c = OuterRef(9, I64), plans.ref(0)
    condition = equal(c, x)
    call = AggregateCall("sum", (x,), False, condition, I64)
    operators: list[PhysicalOperator] = [
        TableScan(replace(scan.op.scan, predicate=(condition,))), FilterRows((condition,)), ProjectRows((ProjectItem(1, x),)),
        HashAggregate((0,), (AggregateItem(1, call),)), HashJoin(JoinKind.INNER, ((c, x),), ()),
        NestedLoopJoin(JoinKind.INNER, (condition,)), NestedApply(JoinKind.INNER, (condition,), None, 1, False),
        LookupRows((LookupKey(c, x, False),), (condition,)), RangeLookup(c, (RangeBound("<", x),), ()),
    ]  # fmt: skip
    for op in operators:
        assert {s.outer for s in op.scalars()} - {0} == {1 << 9}, op.name
        bound = op.map_scalars(
            lambda s: Call("=", (c, literal(1, I64)), BOOL) if s is condition else literal(1, I64) if s.outer else s
        )
        assert type(bound) is type(op) and not any(s.outer for s in bound.scalars()), op.name
        assert op.map_scalars(lambda s: s) is op


def test_traits_of_an_apply_and_of_lookups(tmp_path: Path) -> None:
    query = Query(tmp_path, random.Random(4))
    left, right = query.scan([I64, I64], 3), query.scan([I64, I64], 3)
    (a, _), (k, v) = ([c.columns.bit_length() - 1 for c in query.refs(t, I64)] for t in (left, right))
    tree = Tree(Apply(JoinKind.MARK, (), query.plans.new(BOOL)), (left, right))
    op: PhysicalOperator = NestedApply(JoinKind.MARK, (), None, left.columns, True)
    wanted, props = TraitSet((SortKey(a),)), [left.props, right.props]
    assert op.pass_through(wanted, tree.props, props) == (Alternative((wanted, ANY), wanted),)
    assert op.derive(wanted, 0, tree.props, props) == (Alternative((wanted, ANY), wanted),)
    assert op.pass_through(TraitSet((SortKey(k),)), tree.props, props) == () and op.derive(wanted, 1, tree.props, props) == ()
    ranged = RangeLookup(query.plans.ref(k), (RangeBound("<", OuterRef(a, I64)),), ())
    below = [right.props]
    longer = TraitSet((SortKey(k, True), SortKey(v)))
    assert Alternative((longer,), longer) in ranged.pass_through(longer, right.props, below)
    assert ranged.derive(TraitSet((SortKey(v),)), 0, right.props, below) == ()
    lookup: LogicalOperator | PhysicalOperator = LookupRows((LookupKey(query.plans.ref(k), OuterRef(a, I64), False),), ())
    assert isinstance(lookup, LookupRows)
    assert lookup.pass_through(longer, right.props, below) == (Alternative((longer,), longer),)


def test_an_error_names_the_outer_column() -> None:
    tables = {"o": pa.table({"k": [1, 2], "s": ["x", "y"]}), "t": pa.table({"k": [1, 2], "v": [1, 2]})}
    with pytest.raises(ExecutionError, match=r"in CAST\(o\.s AS int32\)"):
        Session(tables, {"decorrelate": "none"}).sql("select (select max(cast(o.s as int) + v) from t where t.k >= o.k) from o")
