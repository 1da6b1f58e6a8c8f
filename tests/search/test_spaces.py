"""A larger space has no dearer plan: queries of which one had, whose plan was called proven all the same."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from optimizer.audit.audit import audit
from optimizer.catalog.table import Catalog
from optimizer.joins.join_order import read_join_order
from optimizer.joins.placed_order import has_order
from optimizer.rules.transform.semi_join_to_inner_on_key import SemiJoinToInner
from planscope import Optimizer, Session, Settings, Trace
from tests.search.planning import planned_alike
from tests.search.random_settings import Options
from tests.search.stored_tables import STAR, catalog, table

SMALL_GROUPS = catalog(
    table("b", 19000, {"j": 10400, "k": 40}), table("c", 264, {"j": 33}), table("a", 300, {"i": 300, "j": 100, "k": 30})
)
FEW_VALUES = catalog(table("a", 10000, {"j": 600, "k": 20}), table("b", 10000, {"j": 20, "k": 100}), table("c", 400, {"j": 20}))
ORDERED = catalog(
    table("a", 3000, {"i": 3000, "j": 60, "k": 1300}), table("b", 4000, {"i": 400, "k": 60, "j": 3}),
    table("c", 40, {"j": 40, "v": 14}, key="j"), table("d", 4000, {"j": 36, "k": 7}),
)  # fmt: skip


def proven(tables: Catalog, sql: str, settings: dict[str, Any]) -> float:
    query = Optimizer(tables, Settings(**settings)).optimize(sql)
    assert query.search.proven
    return query.cost


RULES: Options = {"enumeration": "rules"}
WRITTEN: Options = {"disable": ("partition_region",)}
EXPLORATIONS: list[Options] = [{"exploration": exploration} for exploration in ("all", "on_demand", "interleaved")]
ALL_JOINS: Options = {"region": "tasks", "pruning": "none"}
BY_COUNT: list[Options] = [{"cost_model": "c_out"}, {}]
BY_A = "a.k, sum(s.k)"
JOINS: list[Options] = [{"enumeration": mode} for mode in ("rules", "rules_b0", "partition")]


class Same(NamedTuple):
    """Spellings of a query that cost the same, whichever way each is searched, under one of `bases` at a time. `proves`: how many
    of the ways call the plan proven; `cost`: what it costs, where that is checked."""

    claim: str
    tables: Catalog
    texts: Sequence[str]
    ways: Sequence[Options] = ({}, RULES)
    bases: Sequence[Options] = ({},)
    proves: int | None = None
    cost: float | None = None


OF_GROUPS = catalog(
    table("a", 20000, {"i": 7, "j": 10000, "k": 1}), table("b", 100000, {"i": 100, "j": 30, "k": 100000}, key="k"),
    table("c", 200, {"i": 200, "j": 200, "k": 200}),
)  # fmt: skip
OF_SEMI_JOIN = catalog(
    table("a", 20000, {"j": 1000, "k": 2}), table("b", 300000, {"i": 7, "j": 100, "k": 1000}),
    table("c", 1000, {"i": 500, "j": 7, "k": 1000}, key="k"),
)  # fmt: skip
BESIDE = catalog(
    table("b", 24, {"k": 24, "j": 2, "v": 2}, key="k"), table("c", 10, {"k": 10, "j": 4, "v": 3}, key="k", order="k"),
    table("d", 2914, {"k": 1065, "j": 10, "v": 1227}, order="j k"),
    table("e", 40596, {"k": 3577, "j": 632, "v": 36577}, order="k"),
)  # fmt: skip
WITHIN = catalog(
    table("a", 4, {"k": 4, "j": 1, "v": 1}, key="k", order="k"), table("b", 341, {"k": 30, "j": 104, "v": 88}),
    table("d", 11858, {"k": 31, "j": 5984, "v": 2188}, order="j k"), table("e", 371, {"k": 194, "j": 4, "v": 21}),
)  # fmt: skip
OF_CONSTANTS = catalog(
    table("a", 2856, {"k": 324, "j": 2214}, order="k"), table("b", 37917, {"x": 83, "y": 976}),
    table("d", 1556, {"j": 855, "c": 98, "v": 4}), table("e", 200, {"v": 4}),
)  # fmt: skip
SAME = [
    *(
        Same("groups below a semi join go below the inner join, which a region of several kinds hid", SMALL_GROUPS, [sql],
            ({}, WRITTEN, RULES), ({}, {"cost_model": "c_out"}, {"driver": "iterative"}, {"exploration": "interleaved"}))
        for sql in (
            "select a.j from a where a.j in (select b.j from b join c on b.k = c.j)",
            "select a.i from a semi join (select b.j from b join c on b.k < c.j) x on a.j = x.j",
            "select min(a.i) from a semi join (select b.j from b right join c on b.k < c.j) x on a.j = x.j",
        )
    ),
    Same("rules see joins below groups that are joined, which were taken for splits",
        catalog(table("a", 100000, {"i": 100000, "j": 105, "k": 23}, key="i"), table("b", 50, {"i": 8}),
            table("c", 23, {"k": 23, "j": 1}, key="k")),
        ["select c.k, x.m from c join (select a.i, max(a.j) m from b join a on b.i = a.k group by a.i) x on x.i = c.j"],
        ({}, {"exploration": "on_demand"}, {"driver": "iterative"}, WRITTEN, RULES), BY_COUNT),
    Same("rules see a join that a rule made of a region, which was taken for a split",
        catalog(table("a", 100000, {"j": 52, "k": 864}), table("b", 5000, {"k": 169}), table("c", 50, {"k": 10})),
        ["select distinct c.k from a semi join b on a.k = b.k join c on a.j = c.k"],
        ({}, {"exploration": "on_demand"}, {"driver": "iterative"}, WRITTEN, RULES), BY_COUNT),
    Same("relations that may be grouped are counted below groups alike: 250 times the cost was proven by rules", OF_GROUPS,
        ["select t.k from a t, b u, (select w.j from b v left join c w on v.j = w.j group by w.j) x, a y "
            "where t.i = u.j and t.i = x.j and t.j = y.k group by t.k"], ({}, RULES, WRITTEN)),
    Same("joins in a leaf of a region are counted alike: 12 times the cost was proven by rules", OF_SEMI_JOIN,
        ["select min(x.k) from c t, (select v.k from b u, a v where u.j < v.k and u.i in (select k from c)) x, a y, b z "
            "where t.i = x.k and t.k = y.j and t.j = z.k"], ({}, RULES, WRITTEN), ({}, {"expand_joins": 8}), proves=1),
    Same("a join that comes out of a leaf changes places with a semi join",
        catalog(table("a", 80000, {"i": 8000, "j": 2000, "k": 2300}), table("b", 4000, {"j": 3000}), table("c", 200, {"j": 110})),
        ["select d.k from (select distinct x.j, x.i from a x anti join b on x.i = b.j) y join a d on y.j = d.k "
            "semi join c on c.j = y.j"], bases=[{"cost_model": "c_out"}], cost=102637.602),
    Same("TPC-H 20: groups beside a semi join are pulled up above the inner join that it is, also below a projection",
        catalog(table("s", 100, {"k": 100}, key="k"), table("p", 8000, {"i": 2000, "j": 100, "k": 1000}, key="i j"),
            table("l", 9000, {"i": 2000, "j": 100, "k": 50}), table("t", 20, {"i": 20}, key="i")),
        ["select * from s where k in (select p.j from p where p.i in (select i from t) "
            "and p.k > (select sum(l.k) from l where l.i = p.i and l.j = p.j))"], bases=[{}, {"cost_model": "c_mm"}]),
    Same("what a merge implements is costed: expressions beside those that read a merged group were offered to no goal",
        catalog(table("a", 5000, {"j": 2500, "k": 50}), table("b", 5000, {"i": 5000, "j": 5000, "k": 2000}, key="i")),
        ["with w as (select a.j from a anti join b on a.k = b.k) "
            "select y.j from b c join w x on c.i = x.j join w y on c.j = y.j where c.i = c.j"],
        ({}, {"driver": "iterative"}), [{"cost_model": "c_out"}]),
    Same("blocks of one form of a query count for no other: more groups were tried the more forms were in the memo at once",
        catalog(table("l", 600_000, {"k": 150_000}), table("o", 150_000, {"k": 150_000, "j": 9_000, "x": 140_000}, key="k")),
        ["with w as (select x, j, k from o where x <= 100 order by k limit 10) select l.k, min(a.x) from l left join w a "
            "on l.k = a.k left join o b on a.k = b.k where not exists (select 1 from w c join w d on c.k = d.k and d.j = 10 "
            "where b.k = d.k) group by l.k"],
        ({}, {"region": "tasks"}, {"pruning": "none"}, RULES, {"driver": "iterative"}, {"ctes": "spool"})),
    Same("bounds of joins look into leaves that became regions: a plan cost less than it was said to at least",
        catalog(table("a", 20, {"i": 20, "k": 5}, key="i"), table("b", 5000, {"j": 5, "k": 400}),
            table("c", 100000, {"j": 40, "k": 5}), table("e", 5000, {"i": 5000, "j": 40}, key="i")),
        ["select a.i, sum(c.j) from a join b on a.k = b.j join c on b.k = c.j "
            "where exists (select 1 from e where e.i = c.j and e.j = b.k) group by a.i"], ({}, {"pruning": "none"})),
    Same("left-deep plans are left-deep however the search goes",
        catalog(table("a", 10000, {"j": 600, "k": 20, "v": 50}), table("b", 10000, {"j": 20, "k": 100}),
            table("c", 15000, {"j": 84}), table("d", 100000, {"j": 300})),
        ["select d.j from a join b on a.k = b.j left join d on a.j = d.j where b.k in (select j from c)"],
        EXPLORATIONS, [{"enumeration": "left_deep"}]),
    *(
        Same("where no left-deep tree is left, rules look into the joins as written, wherever these come", ORDERED, [sql],
            (*EXPLORATIONS, {"driver": "iterative"}), [{"enumeration": "left_deep", "prepass": False}])
        for sql in (
            "select a.k from a join b on a.j = b.k where a.i in (select c.v from c left join d on c.v = d.k where d.j = b.k)",
            "select b.i from b left join (select a.k from a join c on a.j = c.v) x on b.j = x.k",
            "select a.i from a full join (select b.j, c.v from b join c on b.k = c.v) x on a.j = x.j and a.k > x.v",
        )
    ),
    Same("a union is grouped by columns in any order, not in that of the column ids alone",
        catalog(table("t", 20000, {"a": 20000, "b": 50}, key="a", order="a"), table("u", 7, {"a": 7, "b": 7}, key="a")),
        [f"select distinct {top} from (select {each} from t union all select {each} from u) s"
            for top in ("a, b", "b, a") for each in ("a, b", "b, a")], bases=[{"cost_model": "c_mm"}, {}]),
    Same("aliases of a table cost the same: three were estimated as if a fourth, joined to one of them, were there already",
        catalog(table("a", 1000, {"i": 1000, "j": 1000, "k": 1}), table("c", 1, {"j": 1}), table("d", 30, {"i": 1})),
        ["select a.k from a join c on a.j = c.j join a b on a.i = b.i join d on b.k = d.i"],
        ({}, {"enumeration": "partition"}, RULES)),
    Same("runs of equal columns are counted by either: the order of FROM decided between 1 run and 1,500",
        catalog(table("t", 1500, {"a": 1500, "c": 1}, order="a")),
        [f"select row_number() over (partition by x.a order by y.a) from {tables} where y.c = x.a"
            for tables in ("t x, t y", "t y, t x")], [{}], [{"cost_model": "c_mm"}, {}]),
    Same("a join that a rule puts beside others is seen: the grouping goes below the anti-join, then the last join", BESIDE,
        ["select t0.k, t1.j from (select t0.k, count(*) v from e t0 where not exists (select k from b where b.k = t0.k) "
            "group by t0.k) t0 join d t2 on t0.k = t2.v join c t1 on t1.v = t2.k"],
        ({}, ALL_JOINS, {"driver": "iterative"}, *EXPLORATIONS[1:], {"enumeration": "partition"}, RULES),
        BY_COUNT[:1], proves=6, cost=82.0845),
    Same("a part of a region, whose relation has a semi-join by then, is looked into with the region", WITHIN,
        ["select t0.k, count(*) from (select distinct t0.k from e t0 join a t1 on t0.k = t1.k where t0.k in (select k from b)) "
            "t0 join d t2 on t0.k = t2.v join (select k, max(j) j, count(*) v from d group by k) t1 on t1.k = t0.k "
            "group by t0.k"],
        ({}, ALL_JOINS, RULES), BY_COUNT[:1], proves=1, cost=11.7295),
    *(
        Same("the centre of a star is grouped: no join of two inputs has it alone for an input, as it alone links them", STAR,
            [f"select {grouped} from s join a on s.i = a.i join b on s.j = b.j {more} group by {grouped.rpartition(',')[0]}"],
            ways, BY_COUNT[:1], cost=cost)
        for grouped, more, cost, ways in (
            (BY_A, "", 10000, JOINS), (BY_A, "join c on a.k = c.k", 11000, JOINS),
            ("b.j, a.i, count(*)", "join c on a.k = c.k", 9160.787, JOINS), (BY_A, "join c on s.k = c.k", 104000, JOINS),
            ("b.j, a.i, count(*)", "join c on s.k = c.k", 110000, JOINS), (BY_A, "semi join c on s.k = c.k", 110000, [{}]),
            (BY_A, "semi join c on a.j = c.k", 6600, [{}]), (BY_A, "anti join c on a.j = c.k", 4400, [{}]),
        )
    ),
    *(
        # The join of a and d in order of (k, c) is in order of c then, by a partial sort. That k is constant is said of
        # no relation by itself: b's column is computed.
        Same("what a third relation makes constant may come first in an order", OF_CONSTANTS,
            [f"select a.j from a, d{more}, (select abs(x) x, y from b where x = 7) b where a.j = d.j and a.k = b.x{link} "
                "order by c, y"],
            [{"region": "table"}, {"region": "tasks"}])
        for more, link in (("", ""), (", e", " and d.v = e.v"))
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "base"), [pytest.param(case, base, id=f"{case.claim} {base or ''}") for case in SAME for base in case.bases]
)
def test_the_same_cost_however_it_is_searched(case: Same, base: Options) -> None:
    found = planned_alike(case.tables, case.texts, case.ways, case.proves, **base)
    assert case.cost is None or found[0].cost == pytest.approx(case.cost, rel=1e-5)


OF_A_REGION = catalog(
    table("a", 5000, {"i": 2500, "j": 3, "k": 5000}, key="j k"), table("b", 1000, {"i": 1000, "j": 100, "k": 30}, key="i"),
    table("c", 50, {"i": 50, "j": 20, "k": 30}),
)  # fmt: skip
OF_A_CHOICE = catalog(
    table("a", 1000, {"i": 331, "j": 652}), table("b", 5000, {"i": 5000}, key="i"), table("c", 7, {"j": 2, "k": 2})
)


@pytest.mark.parametrize(
    ("tables", "sql", "larger", "smaller"),
    [
        *(  # groups go below inner joins of a region of several kinds, which has no splits of a join graph
            (OF_A_REGION, sql, base, {**base, **RULES})
            for sql in (
                "select c.k, count(*) from b join c on b.j = c.k where not exists (from b d where d.i = c.k) group by c.k",
                "select d.i, count(*), min(b.i) from a join b on a.k = b.j left join c d on a.j = d.k where a.j = 3 group by d.i",
                "select distinct d.j from b join c on b.i = c.k join b d on c.j = d.j left join c e on e.k = b.j",
            )
            for base in BY_COUNT
        ),
        *(  # joins that nobody reads go from every tree of a choice
            (OF_A_CHOICE, f"select a.j from a left join b on b.i = a.j where {condition}", {"decorrelate": "cost"}, {})
            for condition in ("exists (select 1 from c where c.j = a.i)", "a.i = (select max(c.k) from c where c.j = a.i)")
        ),
    ],
)  # fmt: skip
def test_a_larger_space_has_no_dearer_plan(tables: Catalog, sql: str, larger: Options, smaller: Options) -> None:
    assert proven(tables, sql, larger) <= proven(tables, sql, smaller) * (1 + 1e-9)


@pytest.mark.parametrize("above", ["semi join c on s.k = c.k", "left join c on s.k = c.k"])
def test_the_centre_of_a_star_below_a_join_of_another_kind_is_not_called_proven_by_rules(above: str) -> None:
    """Written below the inner joins, the relations that they have between them are a leaf of theirs. So they are not where an
    inner join of one of them is written further below."""
    joins = "join a on s.i = a.i join b on s.j = b.j"
    over, under, between = f"s {joins} {above}", f"s {above} {joins}", f"s {joins.replace(' join b', f' {above} join b')}"
    alone = {"disable": ("partition_region",)}
    costs = []
    for tables, way, is_proven in (
        (over, {}, True), (over, {"enumeration": "rules"}, False), (under, {"enumeration": "rules"}, True), (over, alone, False),
        (between, {"enumeration": "rules"}, False), (between, {}, True),
    ):  # fmt: skip
        settings = Settings(cost_model="c_out", **way)
        query = Optimizer(STAR, settings).optimize(f"select a.k, sum(s.k) from {tables} group by a.k")
        assert query.search.proven == is_proven
        costs.append(query.cost)
    assert costs[0] == pytest.approx(costs[2], rel=1e-9) == pytest.approx(costs[5], rel=1e-9) and costs[0] < costs[1]


def test_where_an_aggregate_may_be_pulled_above_some_of_many_joins_nothing_is_proven() -> None:
    """With more than `expand_joins` relations the joins are searched as splits, and rules do not look into these."""
    keyed = [
        table(name, rows, {"i": rows, "j": rows}, key="i") for name, rows in (("b", 10), ("c", 1000), ("d", 1000), ("e", 1000))
    ]
    tables = catalog(table("a", 100000, {"i": 1000, "j": 500, "k": 50}), *keyed)
    sql = """select g.s, b.j from (select i, j, sum(k) s from a group by i, j) g, b, c, d, e
        where g.i = b.i and g.j = c.i and c.j = d.i and d.j = e.i"""
    found, *others = (
        Optimizer(tables, Settings(cost_model="c_mm", **more)).optimize(sql)
        for more in ({}, {"enumeration": "rules"}, {"expand_joins": 5})
    )
    assert "more than expand_joins=4" in found.search.heuristic and not found.search.proven
    assert all(other.search.proven and other.cost < found.cost / 5 for other in others)
    assert Optimizer(tables, Settings(cost_model="c_mm", disable=("aggregate_pull_join",))).optimize(sql).search.proven


@pytest.mark.parametrize(
    ("tables", "sql", "setting", "others"),
    [
        (FEW_VALUES, "with w as (select j from b) select x.j from w x join w y on x.j = y.j", "ctes", ("spool", "inline")),
        (
            SMALL_GROUPS,
            "with w as (select j, k, i from a) select x.k from w x join w y on x.j = y.j where x.i = 1 and y.i = 2",
            "ctes",
            ("spool", "inline"),
        ),
        (
            FEW_VALUES,
            "select a.k from a join b on a.j = b.j where exists (select 1 from c where c.j = a.k)",
            "decorrelate",
            ("general",),
        ),
    ],
)
def test_a_choice_costs_what_its_best_tree_does(tables: Catalog, sql: str, setting: str, others: tuple[str, ...]) -> None:
    """There was a projection above each of its trees, then above those that are inner joins or have more columns."""
    found = proven(tables, sql, {setting: "cost"})
    assert found == pytest.approx(min(proven(tables, sql, {setting: other}) for other in others), rel=1e-9)


@pytest.mark.parametrize("cost_model", ["arrow", "spark", "c_out"])
@pytest.mark.parametrize(
    "where",
    [
        "a.j in (select b.j from b) and c.j in (select b.k from b)",
        "a.j in (select b.j from b) and a.i in (select e.i from a e)",
        "c.j in (select b.j from b join a e on b.k = e.k) and a.k in (select b.k from b)",
    ],
)
def test_inner_joins_of_semi_joins_need_no_regrouping(where: str, cost_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A region has the semi join, and so the inner one, over every part that its condition reads."""
    sql = f"select a.i, c.j from a join c on a.k = c.j join b d on d.k = c.j where {where}"
    found = Optimizer(SMALL_GROUPS, Settings(cost_model=cost_model)).optimize(sql)
    monkeypatch.setattr(SemiJoinToInner, "closes_in", ("no enumeration",))
    regrouped = Optimizer(SMALL_GROUPS, Settings(cost_model=cost_model)).optimize(sql)
    assert found.search.proven and regrouped.search.proven
    assert found.cost == pytest.approx(regrouped.cost, rel=1e-9)
    assert "join_associate" in regrouped.search.rules_fired and "join_associate" not in found.search.rules_fired


FEW_LOOKUPS = catalog(
    table("t", 3, {"k": 3, "j": 3, "id": 3}),
    table("u", 5_000_000, {"id": 2_500_000}, order="id"),
    table("w", 40, {"k": 7, "j": 40}),
)


@pytest.mark.parametrize("prepass", [True, False])
@pytest.mark.parametrize("limited", ["group by x.j order by x.j limit 1", "limit 5"])
def test_joins_over_each_tree_of_a_choice_are_tried(limited: str, prepass: bool) -> None:
    """Of two join graphs in one group the first alone was a region. What is too large to be tried is not called proven."""
    below = f"select x.j from t x where x.id = (select count(*) from u where u.id = x.j) {limited}"
    sql = f"select * from ({below}) d join w on w.j = d.j join t y on y.k = w.k"
    settings: dict[str, Any] = {"decorrelate": "cost", "prepass": prepass}
    by_rules = proven(FEW_LOOKUPS, sql, {**settings, "enumeration": "rules"})
    assert proven(FEW_LOOKUPS, sql, settings) == pytest.approx(by_rules, rel=1e-9)
    narrow = Optimizer(FEW_LOOKUPS, Settings(**settings, expand_joins=0)).optimize(sql)
    assert narrow.cost > by_rules * (1.0 - 1e-9 if prepass else 1.01) and not narrow.search.proven


def test_joins_that_another_form_of_the_query_shares_are_tried() -> None:
    """A join in one form was taken for a region, whose group has other expressions only once rules have looked into it."""
    tables = catalog(
        table("a", 7, {"k": 7, "x": 7, "y": 7}, key="k", order="x"), table("c", 5000, {"k": 5000, "x": 50, "y": 7}, key="k"),
        table("e", 5000, {"k": 5000, "x": 5, "y": 100}, key="k", order="y"),
    )  # fmt: skip
    sql = """select c.x, count(*) n from c left join a on c.y = a.k
             where not exists (select 1 from e where a.y = e.y) and a.x < (select max(f.y) from a f where a.x = f.k)
             group by c.x"""
    trace = Trace()
    query = Optimizer(tables, Settings(decorrelate="cost")).optimize(sql, trace)
    assert query.search.proven and audit(query.engine, trace).sound
    assert query.cost == pytest.approx(proven(tables, sql, {"decorrelate": "cost", "enumeration": "rules"}), rel=1e-9)
    assert not Optimizer(tables, Settings(decorrelate="cost", expand_joins=0)).optimize(sql).search.proven


def test_a_cte_that_is_read_twice_leaves_its_joins_a_region() -> None:
    """Its trees, stored once and written out, are a choice too."""
    sql = """with w as (select a.i, b.j from a join b on a.j = b.k join c on b.j = c.j join d on d.k = c.v join d e on e.j = d.j)
             select x.i from w x join w y on x.i = y.j"""
    query = Optimizer(ORDERED, Settings(pruning="upper")).optimize(sql)  # no bound leaves a form out
    assert query.memo.merges and query.search.proven and "expand" not in query.search.regions


@pytest.mark.parametrize(
    ("sql", "order"),
    [
        ("select b.k from a join b on a.j = b.k semi join c on a.k = c.j", "((a b) c)"),
        ("select b.k from a join b on a.j = b.k semi join d on a.k = d.j", "((a b) d)"),
        ("select d.k from a join b on a.k < b.k full join c on b.j = c.v join d on a.j = d.k", "((a (b c)) d)"),
        ("select d.k from a join b on a.k = b.k left join c on b.j = c.v join d on a.j = d.k", "((a (b c)) d)"),
        ("select sum(c.v) from a left join b on a.j < b.j left join c on a.k = c.v", "((a b) c)"),
    ],
)
def test_a_join_order_is_heeded_however_the_search_goes(sql: str, order: str) -> None:
    """Semi-joins that became inner joins left it, and first plans of regions of several kinds did."""
    found = set()
    for exploration in ("all", "on_demand", "interleaved"):
        query = Optimizer(ORDERED, Settings(join_order=order, exploration=exploration)).optimize(sql)
        assert query.search.proven and has_order(query.plan, read_join_order(order))
        found.add(query.cost)
    assert max(found) == pytest.approx(min(found), rel=1e-9)


def test_regions_of_several_kinds_offer_the_keys_of_their_joins() -> None:
    """As joins do: the union above merges by them. 38,436 was called proven."""
    tables = catalog(
        table("v", 300, {"b": 300}), table("t", 300, {"a": 300, "b": 50}), table("w", 20000, {"a": 20000, "e": 900}),
        table("u", 20000, {"b": 100, "c": 20000}),
    )  # fmt: skip
    branch = "select u.c, u.b, t.b from t join u on u.b = t.a where exists (select 1 from v where b < 3 and b = t.a)"
    memo = Optimizer(tables, Settings()).optimize(branch).memo
    groups = [group for group in memo.live_groups() if group.logical[0].op.name == "region_graph"]
    assert groups and all(any(key.collation for key in group.offers) for group in groups)
    sql = f"select distinct c2, c0 from (select e as c0, a, e as c2 from w union all {branch}) s"
    by_rules = proven(tables, sql, {"cost_model": "c_mm", "enumeration": "rules"})
    assert proven(tables, sql, {"cost_model": "c_mm"}) == pytest.approx(by_rules, rel=1e-9)


def test_groups_that_a_first_order_of_joins_unites_are_explored() -> None:
    """An expression of a group that was united with an explored one was shown to no rule."""
    tables = {
        "u": pa.table({"k": [i % 7 for i in range(55)], "v": range(55), "w": [i / 2 if i % 9 else None for i in range(55)]})
    }
    sql = "select * from u x where exists (select 1 from (select k, rank() over () c from u where k is not distinct from x.w) y)"
    costs = [Session(tables, way).optimize(sql).cost for way in EXPLORATIONS]
    assert costs == pytest.approx([costs[0]] * len(costs), rel=1e-9)
