"""Forms of a query that are left out, since to read their tables costs more than a plan of another form."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from memo_viz.explain import search_text
from optimizer.algebra.logical import Aggregate
from optimizer.algebra.spools import With
from optimizer.audit.audit import audit
from optimizer.catalog.table import Catalog
from optimizer.explanation.recost import Recosting
from optimizer.plan_space.of_search import full_space
from optimizer.rules.catalog import TRANSFORMATIONS
from optimizer.rules.transform.join_commute import JoinCommute
from optimizer.search.search import INNER_ORDERING
from planscope import OptimizedQuery, Optimizer, Replay, Settings, Trace
from tests.conftest import blocks, quick_and_slow
from tests.search.snapshot import snapshot
from tests.search.stored_tables import STAR, catalog, table

TWICE = """with q as (select s.i, s.j, sum(s.k) n from s join a on s.i = a.i group by s.i, s.j)
select count(*) from q x join q y on x.n = y.n where x.j < y.j"""
FILTERED = """with q as (select s.i, s.j from s join a on s.j = a.j join b on a.k = b.k)
select count(*) from q where j = 1 union all select count(*) from q where j = 2"""
EVERY = {"region": "tasks", "pruning": "none"}


def planned(sql: str, tables: Catalog = STAR, **settings: Any) -> OptimizedQuery:
    return Optimizer(tables, Settings(**settings)).optimize(sql)


def has_both(query: OptimizedQuery) -> bool:
    assert query.engine.root is not None
    ops = [type(m.op) for m in query.memo.group(query.engine.root.group).logical]
    return With in ops and len(set(ops)) > 1


def test_tables_read_twice_cost_more_than_a_plan_that_reads_them_once() -> None:
    query = planned(TWICE)
    assert query.search.proven and query.search.forms_left_out == 1 and not has_both(query)
    told = " ".join(search_text(query.search.as_dict(), query.ms, query.cost).split())
    assert "1 form of the query left out, whose tables cost more to read than this plan" in told
    every = planned(TWICE, **EVERY)
    assert has_both(every) and not every.engine.left_out
    assert query.cost == pytest.approx(every.cost, rel=1e-12)
    assert len(query.memo.groups) < len(every.memo.groups)


def test_a_form_that_may_be_cheaper_is_searched() -> None:
    query = planned(FILTERED)
    assert query.search.proven and not query.engine.left_out and has_both(query)
    assert query.cost == pytest.approx(planned(FILTERED, **EVERY).cost, rel=1e-12)
    assert query.cost < planned(FILTERED, ctes="spool").cost


@pytest.mark.parametrize(
    "settings",
    [
        {"pruning": "none"}, {"pruning": "upper"}, {"region": "tasks"}, {"region": "table"}, {"exploration": "interleaved"},
        {"decorrelate": "cost"},
    ],
)  # fmt: skip
def test_where_all_forms_are_searched(settings: dict[str, Any]) -> None:
    assert has_both(planned(TWICE, **settings))


def test_rules_of_others_may_read_tables_in_part() -> None:
    class Own(JoinCommute):
        name = "own"

    query = Optimizer(STAR, Settings(), transformations=(*TRANSFORMATIONS, Own())).optimize(TWICE)
    assert has_both(query)


def test_who_looks_at_all_plans_sees_all_forms() -> None:
    assert full_space(planned(TWICE).engine).count == full_space(planned(TWICE, **EVERY).engine).count
    assert full_space(planned(TWICE).engine).count > full_space(planned(TWICE, ctes="spool").engine).count


def test_other_figures_may_make_a_form_the_cheapest() -> None:
    found, every = (Recosting(planned(TWICE, **settings).engine) for settings in ({}, EVERY))
    for factors in ({}, {"table_scan": 1e-4}, {"table_scan": 1e-4, "fill_spool": 1e4}):
        assert found.under(factors=factors).cost == pytest.approx(every.under(factors=factors).cost, rel=1e-9)
    dear = found.under(factors={"table_scan": 1e-4, "fill_spool": 1e4}).plan
    assert "with_spools" not in [node.op.name for node in dear.walk()]


def test_a_budget_leaves_a_plan() -> None:
    query = planned(TWICE, budget_tasks=20)
    assert not query.search.proven
    ((_, least),) = query.engine.left_out
    assert query.search.forms_left_out == (least >= query.cost), "told only where the tables cost more"
    assert query.cost >= planned(TWICE).cost * (1 - 1e-12)


def random_query(random: Random) -> tuple[Catalog, str]:
    """One or two common table expressions, each read several times."""
    tables = []
    for name in "abc":
        rows = int(10 ** random.uniform(1, 5))
        counts = {column: max(1, int(rows ** random.uniform(0.1, 1.0))) for column in "kjv"}
        tables.append(table(name, rows, counts, key=random.choice(["", "k"]), order=random.choice(["", "k", "j k"])))

    def held(source: str) -> str:
        on = f"x.{random.choice('kj')} = y.{random.choice('kjv')}"
        where = random.choice(["", " where x.v = 1", " where x.j < 3"])
        return random.choice([
            f"select k, j, v from {source} x{where}",
            f"select k, max(j) j, count(*) v from {source} x{where} group by k",
            f"select x.k, y.j, x.v from {source} x join {random.choice('abc')} y on {on}{where}",
            f"select x.k, max(y.j) j, count(*) v from {source} x join {random.choice('abc')} y on {on}{where} group by x.k",
        ])  # fmt: skip

    ctes = f"with p as ({held(random.choice('abc'))})"
    if random.random() < 0.4:
        ctes += f", q as ({held('p')})"
    names = ["p", "q"] if ", q as" in ctes else ["p"]
    parts = []
    for i in range(random.choice([2, 2, 3])):
        where = random.choice(["", " where v = 1", " where j = 2", " where k < 5"])
        parts.append(f"(select k, j, v from {random.choice(names)}{where}) t{i}")
    source = parts[0]
    for i, part in enumerate(parts[1:], 1):
        source += (
            f" {random.choice(['', '', '', 'left '])}join {part} on t{i - 1}.{random.choice('kkj')} = t{i}.{random.choice('kkj')}"
        )
    last = random.choice([
        f"select count(*), sum(t0.v) from {source}",
        f"select t0.k, t1.j from {source} order by t0.k",
        f"select t1.j, max(t0.v) from {source} group by t1.j",
        f"select k from {parts[0]} union all select j from {parts[1]}",
    ])  # fmt: skip
    return catalog(*tables), f"{ctes} {last}"


def test_a_bound_that_is_too_high_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optimizer.search.forms._reading", lambda memo, form: 1e9)
    assert planned(FILTERED).cost > planned(FILTERED, **EVERY).cost


def test_a_form_that_is_searched_after_all_is_replayed() -> None:
    """What was costed before is forgotten."""
    tables, sql = random_query(Random(2))
    trace = Trace()
    query = Optimizer(tables, Settings(budget_tasks=0)).optimize(sql, trace)
    assert [event["kind"] for event in trace.events].count("restart") == 1 and not query.engine.left_out
    live, replayed = snapshot(query.engine), Replay(trace.events).final()
    assert (replayed.groups, replayed.mexprs, replayed.goals) == (live.groups, live.mexprs, live.goals)
    assert audit(query.engine, trace).sound


@pytest.mark.parametrize("seeds", quick_and_slow(blocks(0, 20, 20), blocks(20, 80, 60) + blocks(1000, 3000, 200)), ids=str)
def test_plans_are_as_cheap_as_with_all_forms(seeds: Sequence[int]) -> None:
    out = 0
    for seed in seeds:
        tables, sql = random_query(Random(seed))
        found, every = planned(sql, tables, budget_tasks=0), planned(sql, tables, budget_tasks=0, **EVERY)
        assert found.cost == pytest.approx(every.cost, rel=1e-9), (seed, sql)
        assert found.search.proven or not every.search.proven, (seed, sql)  # a form may be left out by its bound
        out += len(found.engine.left_out)
    assert out > len(seeds) // 10


@pytest.mark.parametrize("seed", [3, 8, 25, 38])
def test_a_form_that_comes_later_lowers_bounds_that_rose(seed: int) -> None:
    tables, sql = random_query(Random(seed))
    only_orders = [rule.name for rule in TRANSFORMATIONS if rule.name not in INNER_ORDERING]
    found, every = (planned(sql, tables, budget_tasks=0, disable=only_orders, **mode) for mode in ({}, EVERY))
    assert found.cost == pytest.approx(every.cost, rel=1e-9) and found.search.lower_bound <= every.cost * (1 + 1e-9)


def test_what_is_left_out_has_groups_of_its_own() -> None:
    query = planned(TWICE)
    grouped = [m for group in query.memo.live_groups() for m in group.logical if isinstance(m.op, Aggregate) and m.rule is None]
    assert len(grouped) == 2, "of the expression, and of the result"


@pytest.mark.slow
def test_a_form_that_is_a_choice_itself_is_explored() -> None:
    """Its groups are united with the root's, which was explored."""
    tables = catalog(
        table("s", 788, {"k": 2, "j": 314, "v": 141}),
        table("f", 5377, {"k": 5377, "v": 3047}, key="k"),
        table("h", 6067, {"j": 106}),
    )
    sql = (
        "with p as (select s.k, s.j from s left join h on s.v = h.j join f on s.j = f.k) select count(*) from p x, p y, "
        "(select k, max(j) j from s group by k) z join f on z.k = f.k where f.v = 1 and x.k = 1 and y.k = 2"
    )
    found = planned(sql, tables, semi_joins="cost")
    every = planned(sql, tables, semi_joins="cost", **EVERY)
    # forms are told other rows, so of all forms together others may count: but none is dearer than what they leave; a relation
    # of the large region of each is made of joins, so neither is called proven
    assert found.cost <= every.cost and "were not tried among" in found.search.heuristic
    assert all(group.explored for group in found.memo.live_groups())


def doubled(times: int) -> str:
    """As many tables as 2 to the power of `times`, if every reference is computed."""
    parts = ["c0 as (select k from s)", *(f"c{n + 1} as (select x.k from c{n} x join c{n} y on x.k = y.k)" for n in range(times))]
    return f"with {', '.join(parts)} select count(*) from c{times}"


def test_a_query_that_would_have_too_many_tables_keeps_what_it_reads_twice() -> None:
    assert not planned(doubled(3), ctes="inline").search.as_dict()["rules_fired"].get("with_to_with_spools")
    query = planned(doubled(40))  # 2^40 tables otherwise, and more rows than a float holds
    assert query.search.proven and query.search.rules_fired["with_to_with_spools"] == 1
    assert query.search.groups < 200 and 1e90 < query.cost < float("inf")


def test_costs_of_absurdly_many_rows_are_finite() -> None:
    query = planned(f"select count(*) from {', '.join(f's s{n}' for n in range(99))}")
    assert 1e90 < query.cost < float("inf")
