"""Plans that an order or a grouping decides: what is sorted, by what, and what need not be; where a plan has part of an order,
only the runs are sorted; offers that are passed over would give nothing."""

import pytest

from experiments.workloads.queries import resolve_sql
from optimizer.algebra import (
    LogicalProps,
    MergeJoin,
    MergeUnion,
    PartialSort,
    PhysicalOperator,
    PlanNode,
    ProjectRows,
    Sort,
    StreamingAggregate,
    column_set,
    satisfies,
)
from optimizer.algebra.traits import ANY, Alternative, TraitSet, ascending, grouped
from optimizer.catalog.table import Catalog
from optimizer.errors import NoPlan
from optimizer.memo.alternatives import Offered, Offers, derive, helpful
from optimizer.memo.goal import Goal
from optimizer.rules.catalog import ENFORCERS
from optimizer.rules.enforce.moves import enforcers
from optimizer.search.tasks import optimize_mexpr
from planscope import OptimizedQuery, Optimizer, Settings
from tests.search.planning import planned_alike
from tests.search.stored_tables import catalog, table

MILLION = 1_000_000
TABLES = catalog(
    table("ab", MILLION, {"a": 1000, "b": 50_000, "c": 100, "d": 2500}, order="a b"),
    table("ba", MILLION, {"a": 1000, "b": 50_000, "c": 100}, order="b a"),
    table("dcba", MILLION, {"a": 1000, "b": 1000, "c": 1000, "d": 1000}, order="d c b a"),
    table("k", MILLION, {"id": MILLION, "x": 1000, "y": 200_000}, key="id", order="id"),
    table("f", 3 * MILLION, {"id": 900_000, "x": 50, "y": 10}),
    table("days", MILLION, {"d": 2500, "v": 100_000}, order="d"),
    table("tiny", 20, {"a": 20, "name": 20}, key="a"),
)
NO_HASHING = ("join_to_hash_join", "join_to_nested_loop_join", "aggregate_to_hash_aggregate", "limit_to_top_k")


def planned(sql: str, *disabled: str) -> OptimizedQuery:
    return Optimizer(TABLES, Settings(disable=disabled)).optimize(sql)


def named(query: OptimizedQuery, *names: str) -> list[PlanNode]:
    return [node for node in query.plan.walk() if node.op.name in names]


def sorts(query: OptimizedQuery) -> list[str]:
    """What is sorted, as text with column names."""
    return [
        f"{node.op.name} {node.op.describe(lambda c: query.columns[c].name)}"
        for node in query.plan.walk()
        if node.op.name in ("sort", "partial_sort")
    ]


QUERIES = (
    "select a, b, c from ab order by a, b",
    "select a, b, c from ab where c = 5 order by c, a, b",
    "select b, a, count(*) from ab group by b, a order by a, b",
    "select ab.a, ab.b, ba.c from ab join ba on ab.a = ba.a and ab.b = ba.b order by ab.b, ab.a",
    "select k.id, f.y from k join f on k.id = f.id order by k.id, k.x",
    "select k.id, k.x, count(*) from k join f on k.id = f.id group by k.x, k.id order by k.id",
    "select a, b from ab union all select a, b from ba order by a, b",
    "select distinct a, b from (select a, b from ab order by a, b limit 100) t order by b",
    "select d, sum(v) from days group by d order by d",
    "select t.name, ab.b from tiny t join ab on t.a = ab.a order by t.name, ab.b",
    "select date_trunc('month', d) as m, count(*) from days group by m order by m",
)


@pytest.mark.parametrize("disabled", [(), NO_HASHING, ("join_to_hash_join",)], ids=["all", "no hashing", "no hash join"])
@pytest.mark.parametrize("sql", QUERIES)
def test_no_plan_sorts_what_is_sorted(sql: str, disabled: tuple[str, ...]) -> None:
    query = planned(sql, *disabled)
    query.give_groups()
    for node in query.plan.walk():
        props = query.memo.group(node.group).props
        for child, asked in zip(node.inputs, node.alternative.inputs, strict=True):
            assert satisfies(child.alternative.delivered, asked, query.memo.group(child.group).props)
        if node.op.name in ("sort", "partial_sort"):
            assert not satisfies(node.inputs[0].alternative.delivered, node.alternative.delivered, props)
            assert node.inputs[0].op.name not in ("sort", "partial_sort")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select a, b from ba where a = 7 order by a, b", []),
        ("select id, x from f where id = 7 order by id, x", ["sort x"]),
        ("select id, x from f where x = y order by x, y desc, id", ["sort x, id"]),
        ("select id, x, y from k order by id, x desc, y", []),
        ("select k.id, k.x, f.y from k join f on k.id = f.id where f.x = 3 order by f.x, k.y, k.id, k.x", ["sort y, id"]),
        ("select id, x + 1 as z from f order by x, z, id", ["sort x, id"]),
        ("select id, x + 1 as z from f order by z, x, id", ["sort x, id"]),
        ("select a + 1 as z, b from ab order by z", []),
        ("select -a as z, b from ab order by z desc", []),
        ("select date_trunc('month', d) as m, v from days order by m", []),
        ("select a from ab where b = a + 1 order by a, b", []),
    ],
)
def test_an_order_is_reduced_by_what_is_known(sql: str, expected: list[str]) -> None:
    assert sorts(planned(sql)) == expected


def test_a_merge_join_takes_its_keys_in_the_order_its_parent_wants() -> None:
    for lead, other in (("a", "b"), ("b", "a")):
        sql = f"select f.x, f.y, k.id from f join k on f.x = k.x and f.y = k.y order by f.{'x' if lead == 'a' else 'y'}"
        query = planned(sql, *NO_HASHING)
        (join,) = named(query, "merge_join")
        assert isinstance(join.op, MergeJoin)
        first = join.alternative.delivered.collation[0].column
        assert query.columns[first].name == ("x" if lead == "a" else "y")
        assert query.plan.op.name != "sort", f"sorted by {lead} after a merge by {other}"


def test_a_merge_join_takes_its_keys_in_the_order_its_inputs_have() -> None:
    """T3: an order that only the inputs suggest, since four keys are not tried in all their orders."""
    keys = " and ".join(f"l.{c} = r.{c}" for c in "abcd")
    query = planned(f"select l.a, r.b from dcba l join dcba r on {keys}", *NO_HASHING)
    assert not sorts(query)
    assert len(named(query, "merge_join")) == 1


def test_grouping_takes_the_stored_order_whatever_the_keys_are_called() -> None:
    for keys in ("a, b", "b, a", "a, b, a"):
        for stored in ("ab", "ba"):
            query = planned(f"select a, b, count(*) from {stored} group by {keys}")
            assert not sorts(query)
            assert named(query, "streaming_aggregate")


def test_grouping_serves_the_order_above_it() -> None:
    query = planned("select x, y, count(*) from f group by y, x order by x desc, y", *NO_HASHING)
    assert sorts(query) == ["sort x desc, y"]
    assert query.plan.op.name == "streaming_aggregate"
    by_count = planned("select x, y, count(*) as n from f group by y, x order by n", *NO_HASHING)
    assert by_count.plan.op.name == "sort"


def test_rows_that_are_all_different_need_no_order_to_be_grouped() -> None:
    query = planned("select id, x, count(*) from k group by x, id", "aggregate_to_hash_aggregate", "aggregate_remove")
    assert named(query, "streaming_aggregate") and not sorts(query)


def test_grouping_by_what_follows_a_stored_order_needs_no_sort() -> None:
    query = planned("select date_trunc('month', d) as m, count(*) from days group by m", *NO_HASHING)
    assert not sorts(query)
    (project,) = named(query, "project_rows")
    assert isinstance(project.op, ProjectRows)
    assert sorts(planned("select month(d) as m, count(*) from days group by m", *NO_HASHING)) == ["sort m"]


def test_a_streaming_aggregate_asks_for_a_set() -> None:
    query = planned("select x, y, count(*) from f group by y, x", "aggregate_to_hash_aggregate")
    (aggregate,) = named(query, "streaming_aggregate")
    assert isinstance(aggregate.op, StreamingAggregate)
    (asked,) = aggregate.alternative.inputs
    assert not asked.collation
    assert asked.show(lambda c: query.columns[c].name) == "group(x, y)"


def test_sorted_branches_are_merged() -> None:
    sql = "select a, b from ab union all select a, b from ab union all select 5 as a, b from ba order by a, b"
    query = planned(sql)
    assert isinstance(query.plan.op, MergeUnion)
    assert not sorts(query)
    unsorted = planned("select x from f union all select x from k order by x")
    assert [node.op.name for node in unsorted.plan.walk()] == ["sort", "union_all", "table_scan", "table_scan"]


@pytest.mark.parametrize("table", ["tiny", "ab"])
def test_where_unions_can_only_be_merged_an_order_is_chosen(table: str) -> None:
    """The cheapest one, and so no dearer than one that is asked for."""
    union = f"select a, c from (select a, a c from {table} union all select b, c from ab) u"
    for sql in (union, f"select u.a from ({union}) u join k on k.x = u.c"):
        ways = [{}, {"pruning": "none"}, {"driver": "iterative"}, {"region": "tasks"}]
        found = planned_alike(TABLES, [sql], ways, disable=("union_to_union_all",))
        assert all(named(query, "merge_union") for query in found)
        assert found[0].cost <= planned(f"{sql} order by 1", "union_to_union_all").cost * (1 + 1e-9)


def test_a_limit_passes_its_rows_on_in_their_order() -> None:
    query = planned("select a, b from (select a, b from ab limit 1000) t order by a, b")
    assert not sorts(query)
    finer = planned("select * from (select a, b, c from ab order by a limit 1000) t order by a, b", "limit_to_top_k")
    assert not sorts(finer)
    other = planned("select * from (select a, b, c from ab order by a limit 1000) t order by b", "limit_to_top_k")
    assert sorts(other) == ["sort b"]  # above the limit: which rows there are must not change


def test_nested_loops_over_rows_that_differ_go_on_with_the_inner_order() -> None:
    sql = "select t.a, ab.a, ab.b from tiny t join ab on t.name < ab.c order by t.a, ab.a, ab.b"
    query = planned(sql, "join_to_hash_join", "join_to_merge_join", "join_commute")
    assert query.plan.op.name == "nested_loop_join"
    assert sorts(query) == ["sort a"]  # the 20 rows of tiny; ab is stored in its order
    twice = (
        "select t.name, ab.a, ab.b from (select distinct name from tiny) t join ab on t.name < ab.c order by t.name, ab.a, ab.b"
    )
    assert planned(twice, "join_to_hash_join", "join_to_merge_join", "join_commute").plan.op.name == "nested_loop_join"


def test_without_enforcers_only_natural_orders_have_plans() -> None:
    assert not sorts(planned("select a, b from ab order by a", "sort"))
    with pytest.raises(NoPlan):
        planned("select a, b from ab order by b", "sort")


def test_what_the_stored_order_lacks_is_sorted_in_runs() -> None:
    assert sorts(planned("select a, b, c from ab order by a, c desc")) == ["partial_sort c desc within a"]
    assert sorts(planned("select a, b, c from ab order by a, b, c")) == ["partial_sort c within a, b"]
    assert sorts(planned("select a, b, c from ab order by a desc, c")) == ["sort a desc, c"]
    assert sorts(planned("select a, b, c from ab order by c, a")) == ["sort c, a"]
    assert sorts(planned("select a, b, c from ab order by a, c desc", "partial_sort")) == ["sort a, c desc"]


def test_groups_are_completed_in_runs() -> None:
    query = planned("select c, a, count(*) from ab group by c, a", *NO_HASHING)
    assert sorts(query) == ["partial_sort c within a"]
    assert [node.op.name for node in query.plan.walk()][-3:] == ["streaming_aggregate", "partial_sort", "table_scan"]


def test_a_merge_join_gives_the_first_keys_of_an_order() -> None:
    query = planned("select l.id, l.y, r.y from f l join f r on l.id = r.id order by l.id, l.y, r.y", *NO_HASHING)
    assert sorts(query)[0] in ("partial_sort y within y, id", "partial_sort y within id, y")
    assert query.plan.inputs[0].op.name == "merge_join"


def test_the_default_plan_of_a_limit_reads_only_the_first_runs() -> None:
    query = planned("select a, c from ab order by a, c limit 10", "limit_to_top_k")
    assert [node.op.name for node in query.plan.walk()] == ["limit_rows", "partial_sort", "table_scan"]


def test_every_move_needs_strictly_less_and_gives_what_is_required() -> None:
    props = LogicalProps(0b111111)
    offers = (TraitSet(ascending((3, 1, 5))), TraitSet(ascending((0, 1))), TraitSet(ascending((2,))))
    for required in (
        TraitSet(ascending((0, 1))),
        TraitSet(ascending((3, 1, 0, 2, 4))),
        TraitSet(ascending((5,))),
        grouped(0b11),
        grouped(0b111110),
    ):
        moves = enforcers(required, offers, props, ENFORCERS)
        assert isinstance(moves[0].op, Sort)
        assert moves[0].needs == ANY
        for op, needs, delivers in moves:
            assert satisfies(delivers, required, props)
            assert not satisfies(needs, required, props)
            if isinstance(op, PartialSort):
                assert needs in (grouped(op.prefix), TraitSet(required.collation[: op.prefix.bit_count()]))
                assert not op.prefix & column_set(k.column for k in op.order)
        assert len({needs for _, needs, _ in moves}) == len(moves)
    assert not enforcers(ANY, offers, props, ENFORCERS)
    assert not enforcers(grouped(1), offers, props, ())


def test_a_long_order_has_its_first_key_and_offered_beginnings_tried() -> None:
    props = LogicalProps(0b111111)
    required = TraitSet(ascending((3, 1, 5, 2, 4)))
    lengths = [
        move.op.prefix.bit_count()
        for move in enforcers(required, (TraitSet(ascending((3, 1, 5, 0))),), props, ENFORCERS)
        if isinstance(move.op, PartialSort)
    ]
    assert lengths == [3, 1]


def test_offers_that_are_passed_over_give_nothing(tpch: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    passed_over, used = 0, 0

    def checked(goal: Goal, op: PhysicalOperator, known: list[Alternative], by: Offered) -> Offers:
        nonlocal passed_over, used
        kept = helpful(goal, op, known, by)
        if goal.required != ANY or not (
            isinstance(op, MergeJoin | StreamingAggregate)  # all that is worth trying was passed through
            or any(all(traits == ANY for traits in each.inputs) for each in known)
        ):
            every = [(index, offer) for index, offers in enumerate(by.offers) for offer in offers]
            found = derive(goal, op, known, by, kept)
            assert derive(goal, op, known, by, every) == found
            passed_over, used = passed_over + len(every) - len(kept), used + len(found)
        return kept

    monkeypatch.setattr(optimize_mexpr, "helpful", checked)
    for number in (2, 3, 5, 9, 10, 13, 18, 21):
        Optimizer(tpch).optimize(resolve_sql(f"tpch/q{number:02}"))
    assert passed_over > 1000 and used


def test_a_stored_order_is_known_above_many_joins() -> None:
    """A partial sort by what is left of six keys; beyond the keys of 16 joins it was by all but the first."""
    keys = [f"u{i}" for i in range(6)]
    big = table("t0", 1_000_000, dict.fromkeys(keys, 50) | {"b": 1000}, order=" ".join(keys[:5]))
    small = [table(f"t{i}", 950, {"a": 950, "b": 1000}, key="a") for i in range(1, 19)]
    joins = " ".join(f"join t{i} on t{i - 1}.b = t{i}.a" for i in range(1, 19))
    found = Optimizer(catalog(big, *small)).optimize(f"select {', '.join(keys)} from t0 {joins} order by {', '.join(keys)}")
    sorts = [node.op for node in found.plan.walk() if isinstance(node.op, PartialSort)]
    assert found.search.proven and [len(op.order) for op in sorts] == [1]
