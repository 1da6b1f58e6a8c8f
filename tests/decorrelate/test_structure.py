"""What decorrelated trees look like: no Apply, linear size, small domains; and what the stages say about themselves."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer.algebra import Apply, Tree, postorder
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from optimizer.decorrelate import methods
from optimizer.decorrelate.methods import decorrelate
from optimizer.decorrelate.removal import remove_subqueries
from optimizer.rules.interface import RuleContext
from optimizer.sql.bind import bind
from planscope import Optimizer, Session, Settings
from tests.reference.compare import assert_same_bag, rows_of

ROWS = 300


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Tables t0 to t6 of `ROWS` rows, in which a is the row number and b the same, shuffled a little."""
    folder: Path = tmp_path_factory.mktemp("chain")
    for i in range(7):
        b = [(k + i) % ROWS for k in range(ROWS)]
        pq.write_table(pa.table({"a": list(range(ROWS)), "b": b}), folder / f"t{i}.parquet")
    return open_dataset(folder)


def nested(depth: int, condition: str, last: str = "") -> str:
    """`depth` subqueries in one another, each correlated with the one around it, the innermost by `last` too."""
    inner = f"select count(*) from t{depth} where {condition.format(depth, depth - 1)}{last}"
    for level in range(depth - 1, 0, -1):
        inner = f"select count(*) from t{level} where {condition.format(level, level - 1)} and t{level}.b >= ({inner})"
    return f"select t0.a, ({inner}) as n from t0"


def unnested(sql: str, catalog: Catalog, method: str = "general") -> Tree:
    bound = bind(sql, catalog)
    removed, _ = remove_subqueries(bound.tree, bound.columns)
    return decorrelate(removed, method, RuleContext(bound.columns, Settings(decorrelate=method))).tree


def operators(tree: Tree) -> list[Tree]:
    return [node for node in postorder(tree) if isinstance(node, Tree)]


def applies(tree: Tree) -> int:
    return sum(isinstance(node.op, Apply) for node in operators(tree))


CONDITIONS = {
    "equality": ("t{0}.a = t{1}.a", ""),
    "inequality": ("t{0}.a < t{1}.a", ""),
    "both levels": ("t{0}.a <= t{1}.b", " and t{0}.b <> t0.b"),
}


def sizes_by_depth(name: str, catalog: Catalog) -> list[int]:
    condition, last = CONDITIONS[name]
    sizes = []
    for depth in range(1, 7):
        tree = unnested(nested(depth, condition, last.format(depth)), catalog)
        assert applies(tree) == 0, f"an apply stays at depth {depth}"
        sizes.append(len(operators(tree)))
    return sizes


@pytest.mark.parametrize("name", ["equality", "inequality"])
def test_nested_subqueries_leave_no_apply_and_grow_linearly(name: str, chain: Catalog) -> None:
    sizes = sizes_by_depth(name, chain)
    assert len({b - a for a, b in pairwise(sizes)}) == 1, f"operators by depth: {sizes}"


def test_a_column_used_many_levels_down_costs_one_domain_a_level(chain: Catalog) -> None:
    """Each level's domain is made of a copy of its left input with the domain before: the sum of that, and no more."""
    sizes = sizes_by_depth("both levels", chain)
    steps = [b - a for a, b in pairwise(sizes)]
    assert max(b - a for a, b in pairwise(steps)) <= 6, f"operators by depth: {sizes}"


def test_all_alternatives_of_nested_subqueries_stay_few(chain: Catalog) -> None:
    """Each Apply has a choice of its own; six of them in one another must not multiply."""
    sizes = [len(operators(unnested(nested(depth, "t{0}.a < t{1}.a"), chain, "cost"))) for depth in range(1, 7)]
    assert sizes[5] <= 36 * sizes[0], f"operators by depth: {sizes}"


@pytest.mark.parametrize("outer", ["t0.a + {0}", "t0.a"])
def test_subqueries_beside_one_another_grow_linearly(outer: str, chain: Catalog) -> None:
    """Where one may raise, its bindings are exactly those of its left input, to which the ones before only added columns."""
    sizes = []
    for count in range(1, 7):
        items = [f"(select max(b) from t1 where t1.a = {outer.format(n)} and t1.b > {n})" for n in range(count)]
        laterals = [
            f"left join lateral (select max(b) m from t2 where t2.a < {outer.format(n)}) l{n} on true" for n in range(count)
        ]
        sizes.append(len(operators(unnested(f"select {', '.join(items)} from t0 {' '.join(laterals)}", chain))))
    assert len({b - a for a, b in pairwise(sizes)}) == 1, f"operators by subqueries: {sizes}"


def test_conditions_beside_one_another_grow_linearly_where_bounds_exclude_an_overflow(chain: Catalog) -> None:
    """Their bindings may be more than those of their left inputs, in each of which stand all conditions before."""
    sizes = []
    for count in range(1, 6):
        conditions = [f"a >= (select min(b) from t1 where t1.a <> t0.a + {n})" for n in range(count)]
        query = Optimizer(chain).optimize(f"select a from t0 where {' and '.join(conditions)}")
        sizes.append(len(operators(next(stage.tree for stage in query.stages if stage.name == "decorrelate"))))
    assert len({b - a for a, b in pairwise(sizes)}) == 1, f"operators by conditions: {sizes}"


def test_domains_hold_reachable_bindings_only(chain: Catalog) -> None:
    """Each of the 300 rows of t0 meets one row of t1; their product has 90,000 bindings, of which 300 can be reached."""
    sql = (
        "select t0.a, (select sum((select count(*) from t2 where t2.a between t1.b and t1.b + 2 and t2.b <> t0.b)) "
        "from t1 where t1.a = t0.b) as n from t0"
    )
    explained = Session(chain, {"decorrelate": "general"}).explain(sql, analyze=True)
    assert explained.actual is not None
    most = max(actual.rows for actual in explained.actual.values())
    assert most <= 10 * ROWS, f"{most} rows:\n{explained}"


def test_of_many_subqueries_the_lowest_are_joins(chain: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each choice multiplies what is below it. What is not tried is not called proven."""
    counts = ", ".join(f"(select count(*) from t{i} where t{i}.b = t0.a)" for i in range(1, 4))
    sizes, proven = [], []
    for most in (1, 2, 3):
        monkeypatch.setattr(methods, "MOST_CHOICES", most)
        sizes.append(len(operators(unnested(f"select a, {counts} from t0", chain, "cost"))))
        plan = Optimizer(chain, Settings(decorrelate="cost")).optimize(f"select a, {counts} from t0")
        proven.append((plan.search.proven, plan.search.heuristic))
        assert plan.cost <= Optimizer(chain).optimize(f"select a, {counts} from t0").cost
    assert sizes[0] < sizes[1] < sizes[2]
    assert [each for each, _ in proven] == [False, False, True]
    assert proven[0][1] == "of 3 subqueries, one over the other, the search chose about 1" and not proven[2][1]


@pytest.mark.parametrize(
    "sql",
    [
        "select o_orderkey, (select count(*) from orders i where i.o_custkey = o.o_custkey and i.o_totalprice > o.o_totalprice) "
        "from orders o",
        "select c_custkey, (select sum(l_quantity) from orders, lineitem where o_orderkey = l_orderkey "
        "and o_custkey = c_custkey) from customer where c_mktsegment = 'BUILDING'",
        "select o_orderkey, (select i.o_orderkey from orders i where i.o_orderdate < o.o_orderdate order by o_orderdate "
        "limit 1) from orders o where o_custkey < 20",
        "select count(*) from part p where p_retailprice > (select avg(p_retailprice) from part i where i.p_size < p.p_size)",
    ],
    ids=["grouped by the left row", "each row", "each of few rows", "domain"],
)
def test_the_search_finds_the_form_that_costs_least(sql: str) -> None:
    costs = {method: Session("tpch:0.1", {"decorrelate": method}).optimize(sql).cost for method in methods.METHODS}
    assert costs["cost"] <= min(costs.values()) * (1 + 1e-9), costs
    assert max(costs.values()) > 2 * costs["cost"]


@pytest.mark.parametrize("method", ["none", "quick", "value_generator", "general", "cost"])
def test_nested_subqueries_have_the_same_rows(method: str, chain: Catalog) -> None:
    sql = nested(3, "t{0}.a = t{1}.a", " and t3.b <> t0.b")
    rows = rows_of(Session(chain, {"decorrelate": method}).sql(sql).table)
    # t3 has one row of each a, whose b differs; so every count is 1 where the b of its level is at least the count inside
    expected = []
    for a in range(ROWS):
        inner = int((a + 3) % ROWS != a)
        middle = int((a + 2) % ROWS >= inner)
        expected.append((a, int((a + 1) % ROWS >= middle)))
    assert_same_bag(expected, rows)


SAID = {
    "general": {
        "select t0.a, (select count(*) from t1 where t1.a = t0.a) from t0": "inner columns cover the free columns",
        "select t0.a, (select max(t1.b) + t0.b from t1 where t1.a = t0.a) from t0": "inner columns cover the free columns",
        "select a from t0 where exists (select 1 from t1 where t1.a = t0.a having max(t1.b) > t0.b)": "inner columns cover",
        "select t0.a, (select count(*) from t1 where t1.a < t0.a) from t0": "domain of a#0",
        "select t0.a from t0 where exists (select 1 from t1 where t1.a = t0.a)": "conjuncts taken up into the join",
        "select t0.a, (select max(t1.b) from t1) from t0": "independent",
        "select t0.a, (select max(random() + t1.b) from t1 where t1.a = t0.a) from t0": "stays: its right input is volatile",
    },
    "value_generator": {
        "select t0.a, (select count(*) from t1 where t1.a = t0.a) from t0": "inner columns stand for the free ones",
        "select t0.a, (select count(*) from t1 where t1.a < t0.a) from t0": "generators of a#0",
        "select t0.a, (select t1.b from t1 where t1.a > t0.a order by t1.b limit 1) from t0": "generators of a#0",
        "select t0.a, (select t1.b from t1 where t1.a = t0.a order by t1.b limit 1) from t0": "inner columns stand for",
        "select t0.a, (select t1.b + n from t1, (select count(*) n from t2 where t2.a < t0.a)) from t0": "generators",
        "select t0.a, (select max(random() + t1.b) from t1 where t1.a = t0.a) from t0": "stays: volatile",
    },
}


@pytest.mark.parametrize(("method", "sql"), [(method, sql) for method, queries in SAID.items() for sql in queries])
def test_stages_say_what_was_done_and_why(method: str, sql: str, chain: Catalog) -> None:
    """Free columns, the domain or its cover, and where an Apply stays, the reason."""
    stages = {stage.name: stage for stage in Session(chain, {"decorrelate": method}).explain(sql).query.stages}
    free = "none" if "independent" in SAID[method][sql] else "a#0"
    removed = [title for title, _, _ in stages["subqueries"].firings]
    assert len(removed) == 1 and f"free columns: {free}" in removed[0], removed
    titles = [title for title, _, _ in stages["decorrelate"].firings]
    assert len(titles) == 1, titles
    assert f"free columns: {free}" in titles[0] and SAID[method][sql] in titles[0], titles
    assert "apply" in stages["subqueries"].text
    assert ("apply" in stages["decorrelate"].text) == SAID[method][sql].startswith("stays"), stages["decorrelate"].text


@pytest.mark.parametrize("settings", [{"cost_model": "c_out"}, {"budget_mexprs": 1}, {"budget_mexprs": 40}, {}], ids=str)
def test_a_form_that_lost_an_outer_column_may_be_planned_as_one_that_reads_it(settings: dict[str, Any]) -> None:
    """Unnested, nothing is left of what EXISTS selects; what is kept for each row still reads it, and gets it."""
    tables = {
        "t": pa.table({"a": pa.array([1, 2, None], pa.int32()), "b": pa.array([1, None, 2], pa.int32())}),
        "u": pa.table({"a": pa.array([1, 2], pa.int32()), "i": pa.array([1, 3], pa.int32())}),
    }
    session = Session(tables, {"decorrelate": "cost", **settings})
    none = "select a from t where not exists (select 1 from t x where exists (select x.a // t.a from u, t z))"
    assert session.sql(none).table.num_rows == 0
    anti = "select exists (select t.a from t x anti join t y on exists (select y.a // x.a from u, t z)) found from t"
    assert session.sql(anti).table.to_pydict() == {"found": [False] * 3}


def test_a_form_that_is_part_of_another_is_no_input_of_its_own_group() -> None:
    """Without the join with its own key the subquery leaves the table alone: all other forms of the query read that and more."""
    sql = """select p_partkey from part p where exists (
        select 1 from part q left join partsupp on q.p_partkey = ps_partkey where p.p_partkey = q.p_partkey)"""
    query = Session("tpch:0.01", {"decorrelate": "cost"}).optimize(sql)
    assert query.search.proven and query.plan.op.name == "table_scan", query
