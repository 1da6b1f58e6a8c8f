"""Plans that an order or a grouping decides: what is sorted, by what, and what need not be."""

import pytest

from optimizer.algebra import MergeJoin, MergeUnion, PlanNode, ProjectRows, StreamingAggregate, satisfies
from optimizer.errors import NoPlan
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
