"""Aggregates above, below and between joins and unions: what the rules make of them is equivalent, finite and costed rightly."""

from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from experiments.plan_space import draw, ready
from experiments.timing import run
from optimizer.algebra import Aggregate, AggregateCall, AggregateItem, ColumnRef, TraitSet, Tree, column_ids
from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from optimizer.memo.binding import bindings
from optimizer.memo.bounds import lower_bounds_fall
from optimizer.plan_space.of_search import full_space
from optimizer.rules.catalog import TRANSFORMATIONS
from planscope import Optimizer, Session, Settings
from tests.cases import read
from tests.conftest import quick_and_slow
from tests.golden import tables
from tests.reference.compare import assert_same_bag, rows_of
from tests.reference.naive import run_query
from tests.rules.equivalence import assert_groups_are_equivalent
from tests.search.graphs import SHAPES, GraphQuery, graph_query
from tests.search.independent.options import AGGREGATES_MOVE as RULES
from tests.search.planning import plan

QUERIES = [case.sql for case in read(Path(__file__).parent / "aggregates.cases")]
MODES = (
    {"enumeration": "adaptive", "split_share": "1"},
    {"enumeration": "rules", "split_share": "1"},
    {"expand_joins": "8", "split_share": "0.9"},
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    base = tmp_path_factory.mktemp("aggregates")
    return [tables.write(base / str(seed), seed) for seed in range(5)]


@cache
def catalog(folder: Path) -> Catalog:
    return open_dataset(folder)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(mode.values()))
def test_every_expression_of_a_group_gives_the_same_rows(mode: dict[str, str], folders: list[Path]) -> None:
    """Over data with NULLs, duplicates and empty tables: a query over two folders in each mode, over all in all modes. All rules
    fire."""
    fired: Counter[str] = Counter()
    settings = Settings.from_mapping(mode)
    for number, sql in enumerate(QUERIES, 2 * MODES.index(mode)):
        for seed in (number % len(folders), (number + 1) % len(folders)):
            query = Optimizer(catalog(folders[seed]), settings).optimize(sql)
            data = tables.make(seed)
            try:
                assert_groups_are_equivalent(query.memo, query.columns, data)
            except AssertionError as error:
                raise AssertionError(f"{sql}\nseed {seed}: {error}") from error
            fired.update(query.search.rules_fired)
    assert all(fired[rule] >= 4 for rule in RULES), fired


def test_sampled_plans_run_and_give_the_same_rows(folders: list[Path]) -> None:
    """The executors run whatever the rules produce, and agree with naive evaluation of the query as it was written."""
    ran = 0
    for number, sql in enumerate(QUERIES):
        for seed in (1 + number % 4,):
            query = Session(catalog(folders[seed]), Settings(enumeration="rules")).optimize(sql)
            expected = run_query(query.bound, tables.make(seed))
            space = full_space(query.engine)
            for rank in draw(space, 3, Random(number)):
                table = run(query, ready(space.unrank(rank), query))
                assert_same_bag(expected, rows_of(table))
                ran += 1
    assert ran > 60


def aggregated(shape: str, n: int, seed: int) -> GraphQuery:
    """A join graph under an aggregate by one or two columns, or none, of sums, counts and extremes."""
    query = graph_query(shape, n, seed)
    random = Random(seed)
    ids = list(column_ids(query.tree.columns))
    keys = tuple(sorted(random.sample(ids, random.randrange(3))))
    items = []
    for function in random.choice([("sum",), ("count", "sum"), ("min",), ("avg", "max"), ()] if keys else [("sum", "count")]):
        argument = ColumnRef(random.choice(ids), pa.int64())
        call = AggregateCall(function, (argument,), False, None, AGGREGATE_FUNCTIONS[function].result(argument.type))
        items.append(AggregateItem(query.columns.new(function, call.type, True).id, call))
    query.tree = Tree(Aggregate(keys, tuple(items)), (query.tree,))
    query.order = TraitSet(tuple(k for k in query.order.collation if k.column in keys))
    return query


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("most", "seeds"), quick_and_slow([(3, range(5))], [(4, range(100, 116))]), ids=str)
def test_pruning_changes_no_cost(shape: str, most: int, seeds: range) -> None:
    for seed in seeds:
        costs = {}
        for pruning in ("none", "upper", "lower", "both"):
            _, goal = plan(aggregated(shape, 2 + seed % (most - 1), seed), pruning=pruning)
            costs[pruning] = goal.best_cost
        assert costs == pytest.approx(dict.fromkeys(costs, costs["none"]), rel=1e-9), f"{shape}, seed {seed}"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("enumeration", ["rules", "adaptive"])
def test_bounds_of_explored_groups_hold(shape: str, enumeration: str) -> None:
    """An expression that a rule adds may be cheaper than the one its group was made with; the bounds are made to fit."""
    for seed in range(8):
        search, _ = plan(aggregated(shape, 2 + seed % 2, seed), pruning="none", enumeration=enumeration)
        lower_bounds_fall(search.memo, search.least)
        for group in search.memo.live_groups():
            for goal in group.goals.values():
                assert group.lower <= goal.best_cost * (1 + 1e-9), f"{shape}, seed {seed}: group {group.id}"


@pytest.mark.few(2)
@pytest.mark.parametrize("enumeration", ["rules", "adaptive"])
@pytest.mark.parametrize("shape", ["chain", "star", "cycle"])
def test_exploration_ends(shape: str, enumeration: str) -> None:
    """Five joins under an aggregate: the rules reach a fixpoint, and firing again finds nothing new."""
    for seed in range(3):
        query = aggregated(shape, 6, seed)
        search, _ = plan(query, enumeration=enumeration, expand_joins=6)
        memo = search.memo
        assert search.counters.proven
        assert memo.logical_count < 4000
        known, columns = memo.logical_count, len(query.columns)
        for rule in TRANSFORMATIONS:
            if rule.name in RULES:
                for group in memo.live_groups():
                    for mexpr in list(group.logical):
                        for bound in bindings(memo, mexpr, rule.pattern):
                            for tree in rule.apply(bound, search.context):
                                assert memo.insert(tree, mexpr.group)[1] == [], f"{rule.name} fired again"
        assert (memo.logical_count, len(query.columns)) == (known, columns)


def test_the_same_query_gives_the_same_columns(folders: list[Path]) -> None:
    for sql in QUERIES:
        texts = set()
        for _ in range(2):
            query = Optimizer(catalog(folders[0])).optimize(sql)
            texts.add(tuple(m.op.describe(query.columns.label) for g in query.memo.live_groups() for m in g.logical))
        assert len(texts) == 1
