"""What experiments measure, against exhaustive enumeration, the search's own counters, and figures by hand."""

import json
from itertools import combinations
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from experiments.bench import decorrelation, quality, robustness, rules, space
from experiments.bench.experiment import Options
from experiments.bench.figures import draw
from experiments.bench.store import table_of
from experiments.order_of import postgres_order
from experiments.sub_plans import JOINS_ALONE, SubPlans
from experiments.workloads.data import open_data
from experiments.workloads.queries import resolve_sql
from optimizer.errors import PlanscopeError, Unsupported
from optimizer.plan_space.of_search import full_space
from planscope import OptimizedQuery, Optimizer, Session, Settings, Trace
from tests.wrong_rule import TURN

STAR = "select count(*) from f join d on f.d = d.id join e on f.e = e.id where d.v < 3 and e.v < 5"
TABLES = {
    "f": pa.table({"d": [n % 20 for n in range(500)], "e": [n * 7 % 30 for n in range(500)]}),
    "d": pa.table({"id": list(range(20)), "v": [n % 10 for n in range(20)]}),
    "e": pa.table({"id": list(range(30)), "v": [n % 10 for n in range(30)]}),
}


def planned(query: str, settings: Settings) -> OptimizedQuery:
    return Optimizer(open_data("joingraph"), settings).optimize(resolve_sql(query))


def reported(module, item, rows) -> list:
    """The report of one item; its figures can be drawn, and it has no problems."""
    sections = module.report(table_of([{"item": "0", **item, **row, "status": "ok"} for row in rows]))
    assert sections and not any(section.problems for section in sections)
    assert all(draw(figure) is not None for section in sections for figure in section.figures)
    return sections


def test_the_chosen_plan_is_the_cheapest_of_an_enumerated_space() -> None:
    query = planned("chain/3", Settings())
    plans = full_space(query.engine)
    assert space.counts(query, plans)["ratio"] == pytest.approx(1.0)
    assert min(plan.cost for plan in map(plans.unrank, range(plans.count))) == pytest.approx(query.cost, rel=1e-12)
    session = Session(open_data("joingraph"))
    ratios = space.quickpick(session, resolve_sql("chain/3"), query, 6, Random(0))
    assert min(ratios) == pytest.approx(1.0) and all(ratio >= 1.0 - 1e-9 for ratio in ratios)


def test_plans_of_a_space_are_run_and_reported() -> None:
    session = Session(TABLES, {"runtime_filters": "off"})
    query = session.optimize(STAR)
    plans = full_space(query.engine)
    rows = [space.counts(query, plans), *space.runs(query, plans, 3, 10.0, Random(1))]
    rows += (
        {"what": "quickpick", "number": n, "ratio": r} for n, r in enumerate(space.quickpick(session, STAR, query, 3, Random(2)))
    )
    assert [row["number"] for row in rows[1:5]] == [0, 1, 2, 3]
    assert all(row["cpu_ms"] > 0 and row["true_arrow"] > 0 and row["ratio"] >= 1.0 for row in rows[1:5])
    spaces, runs = reported(space, {"query": "star", "seed": 0}, rows)
    assert spaces.tables[0].data["plans"].to_pylist() == [plans.count]
    assert 1 <= runs.tables[1].data["rank of the chosen"][0].as_py() <= 4


def test_rules_count_as_the_search_does() -> None:
    settings = Settings(enumeration="rules", region="tasks")
    trace = Trace()
    query = Optimizer(open_data("joingraph"), settings).optimize(resolve_sql("chain/4"), trace)
    found = rules.firings(trace.events)
    fired = {rule: counts["firings"] for rule, counts in found.items() if rule in query.search.rules_fired}
    assert fired == query.search.rules_fired
    assert sum(found[rule]["duplicates"] for rule in found) == query.search.duplicates
    assert all(found[rule]["bindings"] >= fired[rule] for rule in fired)
    pairs = {(pair["maker"], pair["rule"]): pair for pair in rules.interactions(trace.events)}
    commuted = pairs["join_commute", "join_commute"]
    assert commuted["undone"] == commuted["firings"] == found["join_commute"]["new"]  # each is turned back once
    assert not pairs["join_associate", "join_commute"]["undone"]


def test_a_rule_switched_off_never_improves_the_winner() -> None:
    item = {"query": "chain/3", "data": "joingraph", "enumeration": "rules", "pairs": []}
    rows = rules.measure(item)
    off = {row["rule"]: row for row in rows if row["what"] == "rule" and row["firings"]}
    assert off["scan_to_table_scan"]["needed"] and off["join_commute"]["ms"] > 0
    assert all(row["needed"] or row["without"] >= 1.0 - 1e-9 for row in off.values())
    (section,) = reported(rules, item, rows)
    assert "`join_commute` undoes `join_commute`" in section.text and "`union_to_merge_union`" in section.text.split("\n")[0]


def test_a_plan_that_is_cheaper_without_a_rule_is_a_problem() -> None:
    counts = {"bindings": 1, "firings": 1, "new": 1, "duplicates": 0, "ms": 1.0, "in_winner": True}
    effect = {"without": 0.5, "needed": False, "proven": True}
    item = {"item": "0", "status": "ok", "query": "q", "enumeration": "rules"}
    row = {**item, "what": "rule", "rule": "join_commute", **counts, **effect}
    (section,) = rules.report(table_of([row]))
    assert section.problems == ["q, enumeration=rules: the plan is cheaper without join_commute (0.5 of the cost)"]


def test_rules_of_a_plug_in_are_measured_too(tmp_path: Path) -> None:
    file = tmp_path / "turn.py"
    file.write_text(TURN)
    item = {"query": "chain/3", "data": "joingraph", "enumeration": "rules", "pairs": [f"plugins={file}", "disable=join_commute"]}
    rows = rules.measure(item)
    turn = next(row for row in rows if row["rule"] == "turn")
    assert turn["kind"] == "transform" and turn["firings"] and turn["ms"] > 0 and turn["without"] >= 1.0
    assert any(row["what"] == "pair" and row["maker"] == "turn" for row in rows)
    (section,) = reported(rules, item, rows)
    assert "turn" in section.tables[0].data["rule"].to_pylist() and "`turn` undoes `turn`" in section.text


def test_bounded_choices_against_exhaustive_ones() -> None:
    random = Random(3)
    for _ in range(30):
        regrets = [[1.0 + random.random() * random.choice((0.1, 3.0)) for _ in range(4)] for _ in range(6)]
        for row in regrets:
            row[random.randrange(4)] = 1.0
        plan = robustness.least_regret(regrets)
        assert max(row[plan] for row in regrets) == min(max(row[p] for row in regrets) for p in range(4))
        kept = robustness.swallowed(regrets, 1.2)
        assert all(regrets[cell][plan] <= 1.2 for cell, plan in enumerate(kept))
        covers = (s for size in range(1, 5) for s in combinations(range(4), size))
        fewest = next(len(s) for s in covers if all(min(row[p] for p in s) <= 1.2 for row in regrets))
        assert fewest <= len(set(kept)) <= fewest + 1


def test_regret_is_bounded_by_that_of_the_corners() -> None:
    """Exactly so where costs are affine in each factor, as rows of joins are."""
    for q, most in ((1.0, 1.0 + 1e-9), (100.0, float("inf"))):
        query = planned("chain/4", Settings.from_pairs(("cost_model=c_out",), JOINS_ALONE))
        query.give_groups()
        rows = robustness.errors(query, q, 12, Random(4))
        assert all(1.0 <= row[column] <= most for row in rows for column in ("regret", "bounded_regret"))
        assert all(row["regret"] <= row["promised"] * (1 + 1e-9) for row in rows)
        assert all(row["bounded_regret"] <= row["bounded_promised"] * (1 + 1e-9) for row in rows)
        assert rows[0]["corners"] == 8 and rows[0]["bounded_promised"] <= rows[0]["promised"]
    assert max(row["regret"] for row in rows) > 1.0
    reported(robustness, {"part": "errors", "query": "chain/4", "q": 100.0, "seed": 0}, rows)


def test_errors_multiply_with_joins() -> None:
    query = planned("chain/3", Settings.from_pairs((), JOINS_ALONE))
    sub_plans = SubPlans(query)
    one, two, both = frozenset({"r0"}), frozenset({"r1"}), frozenset({"r0", "r1"})
    found = robustness.scenario(sub_plans, {one: 2.0, both: 3.0})
    assert found == pytest.approx({one: 2.0 * sub_plans.rows(one), both: 6.0 * sub_plans.rows(both)})
    assert robustness.uncertain(sub_plans, {"r0": 1e9, "r1": sub_plans.rows(two), "r2": 0.0})[0] == one
    robustness.Choices(query).add(found)
    assert robustness.scenario(sub_plans, {one: 2.0, both: 3.0}) == found, "of the rows that were estimated, not of the last ones"


def test_empty_relations_and_queries_of_one() -> None:
    empty = {**TABLES, "d": TABLES["d"].slice(0, 0)}
    query = Session(empty, Settings.from_pairs(("cost_model=c_out",), JOINS_ALONE)).optimize(STAR)
    query.give_groups()
    assert all(row["regret"] == 1.0 for row in robustness.errors(query, 2.0, 3, Random(0)))
    alone = Session(TABLES).optimize("select v from d")
    with pytest.raises(Unsupported, match="two relations"):
        robustness.diagram_rows(alone, 3)


def test_diagrams_and_random_orders() -> None:
    session = Session(TABLES, Settings.from_pairs((), JOINS_ALONE))
    query = session.optimize(STAR)
    query.give_groups()
    cells = robustness.diagram_rows(query, 3)
    assert len(cells) == 9 and all(
        row["regret"] >= 1.0 and row["bounded_regret"] <= max(r["regret"] for r in cells) for row in cells
    )
    reported(robustness, {"part": "diagrams", "query": "star"}, cells)
    rows = robustness.orders(session, STAR, 2, Random(6))
    assert rows[0]["shape"] == "chosen" and [row["filters"] for row in rows] == [True, False] * (len(rows) // 2)
    for on, off in zip(rows[::2], rows[1::2], strict=True):
        assert on["joined_rows"] <= off["joined_rows"]
    reported(robustness, {"part": "orders", "query": "star", "seed": 0}, rows)


def test_methods_of_decorrelation_give_the_same_rows_and_the_choice_is_no_dearer() -> None:
    rows = []
    for form in ("exists", "first"):
        item = {"form": form, "outer": 40, "inner": 200, "duplicates": 10, "index": True, "seconds": 60.0, "pairs": []}
        rows += [{"item": form, **item, **row, "status": "ok"} for row in decorrelation.measure(item)]
        cost = {row["method"]: row["cost"] for row in rows if row["item"] == form}
        assert cost["cost"] <= cost["general"] * (1 + 1e-9)
    assert len(decorrelation.report(table_of(rows))[0].tables[2].data) == 2
    assert min(row["regret"] for row in rows) == 1.0


def test_what_did_not_end_is_never_the_quickest() -> None:
    """The limit is of time on the clock: of several cores a plan that ended may have taken more."""
    regrets = [
        [row["regret"] for row in decorrelation.with_regret([{"cpu_ms": ms} for ms in times], 100.0)]
        for times in ((None, 2.0), (None, 150.0, 300.0), (None, None))
    ]
    assert regrets == [[50.0, 1.0], [1.0, 1.0, 2.0], [None, None]]
    item = {"form": "exists", "cost": 1.0, "plan_ms": 1.0, "proven": True, "seconds": 0.1, "status": "ok"}
    rows = [
        {"item": name, "method": method, **item, "cost": cost, **row}
        for name, times in (("a", (None, 150.0)), ("b", (None, None)))
        for method, cost, row in zip(
            ("cost", "general"), (1.0, 2.0), decorrelation.with_regret([{"cpu_ms": ms} for ms in times], 100.0), strict=True
        )
    ]
    [section] = decorrelation.report(table_of(rows))
    assert section.tables[2].data["quickest"].to_pylist() == ["general", None]
    lines = {row["method"]: row for row in section.tables[0].data.to_pylist()}
    assert lines["cost"]["quickest within 20 %"] == 0 and lines["general"]["quickest within 20 %"] == 1
    assert section.figures[0].data.to_pylist() == [{"x": 1.0, "y": 0.5, "series": "general", "panel": "exists"}]
    assert decorrelation.report(table_of(rows[2:]))[0].tables[2].data["quickest"].to_pylist() == [None]


def test_ratios_to_a_plan_that_did_not_end_are_none() -> None:
    def row(query: str, by: str, ms: float, ended: bool) -> dict:
        figures = {"cost": 1.0, "best": 1.0, "ratio": 1.0, "relations": 3, "ms": ms, "cpu_ms": ms, "ended": ended}
        return {"status": "ok", "what": "plan", "query": query, "cost_model": "arrow", "by": by, **figures}

    rows = [row("stats/001", "true rows", 30e3, True), row("stats/001", "histogram", 20e3, False)]
    rows += [row("stats/002", "true rows", 20e3, False), row("stats/002", "histogram", 1e3, True)]
    *_, times = quality.report(table_of(rows))
    lines = {line["chosen by"]: line for line in times.tables[0].data.to_pylist()}
    assert [(line["max"], line["not ended"]) for line in lines.values()] == [(1.0, 1), (1.0, 1)]


def test_orders_that_did_not_end_are_in_the_shares() -> None:
    def row(order: str, ms: float | None, seed: int) -> dict:
        about = {"part": "orders", "query": "q", "filters": True, "shape": "bushy" if order else "chosen", "seed": seed}
        return {"status": "ok", **about, "order": order, "cpu_ms": ms, "joined_rows": ms and 7}

    rows = [row("", None, 0), row("(a b)", 4.0, 0), row("(b a)", None, 0), row("", None, 1), row("(b a)", None, 1)]
    [section] = robustness.report(table_of(rows))
    [line] = section.tables[0].data.to_pylist()
    assert (line["orders"], line["not ended"], line["chosen ms"], line["fastest ms"], line["most"]) == (2, 1, None, 4.0, 7)
    assert section.figures[1].data.to_pylist() == [{"x": 1.0, "y": 0.5, "series": "filters on", "panel": "q"}]
    [section] = robustness.report(table_of([row("", None, 0), row("(a b)", None, 0)]))
    assert section.tables[0].data["not ended"].to_pylist() == [1]


def test_a_space_of_plans_that_cost_nothing(tpch) -> None:
    """Without joins there is nothing that c_out counts."""
    item = {"query": "tpch/q06", "data": "tpch:0.01", "pairs": ["cost_model=c_out"], "seed": 0, "plans": 3, "orders": 1}
    rows = space.measure({**item, "runs": 1, "within": 10.0, "costs": True, "run": True})
    assert {row["ratio"] for row in rows} == {1.0} and {row["what"] for row in rows} == {"count", "uniform", "run"}
    reported(space, item, rows)


@pytest.mark.parametrize(
    ("queries", "data", "found"),
    [
        (("job/1a",), "mine", "mine"), (("job/1a",), None, "job"), (("tpch/q03",), None, "usual"), ((), "mine", "job"),
    ],
)  # fmt: skip
def test_the_data_of_a_query_that_was_named_is_what_was_asked_for(queries, data, found) -> None:
    assert Options(queries, data).data_for(queries[0] if queries else "job/1a", "usual") == found


def test_a_missing_duckdb_is_said() -> None:
    row = {"status": "ok", "what": "estimate", "query": "stats/001", "by": "histogram", "aliases": "a", "relations": 1}
    row |= {"estimate": 1.0, "true": 1, "with_rows": True, "q_error": 1.0, "under": False}
    assert "pip install duckdb" in quality.report(table_of([row]))[0].text
    assert not quality.report(table_of([row, row | {"by": "DuckDB"}]))[0].text


def test_an_estimate_is_too_low_by_more_than_rounding() -> None:
    assert quality.too_low(9.0, 10) and not quality.too_low(10.0 - 1e-12, 10) and not quality.too_low(0.0, 1)


@pytest.mark.parametrize(
    ("query", "others", "titles"),
    [
        ("job_m/1a", set(), ["Estimates", "Plans under true rows"]),
        pytest.param(
            "stats/001",
            {"DuckDB", "PostgreSQL"},
            ["Estimates", "Plans under true rows", "Measured times"],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_plan_under_true_rows_is_the_cheapest_under_true_rows(query, others, titles) -> None:
    (item,) = quality.items(Options((query,), modes=quality.MODES, own={"estimators": "histogram,upper_bound,perturbed"}))
    rows = quality.measure(item)
    plans = [row for row in rows if row["what"] == "plan"]
    assert {row["by"] for row in plans} == {"true rows", "histogram", "upper_bound", "perturbed", *others}
    assert all(row["ratio"] == 1.0 if row["by"] == "true rows" else row["ratio"] >= 1.0 - 1e-6 for row in plans)
    estimates = [row for row in rows if row["what"] == "estimate"]
    assert all(row["q_error"] >= 1.0 and not (row["by"] == "upper_bound" and row["under"]) for row in estimates)
    assert {row["by"] for row in estimates} == {"histogram", "upper_bound", "perturbed", *others} - {"PostgreSQL"}
    assert [section.title for section in reported(quality, item, rows)] == titles


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        (quality, Options(("tpch",)), 'no true cardinalities are known for "tpch"'),
        (quality, Options(("stats/9",)), "no true cardinalities are known for stats/9"),
        (quality, Options(own={"estimators": "nothing:Such"}), "there is no module"),
        (quality, Options(own={"cost_models": "guess"}), 'setting cost_model cannot be "guess"'),
        (decorrelation, Options(("some",)), 'there is no form "some"'),
    ],
)
def test_bad_input(module, options, message) -> None:
    with pytest.raises(PlanscopeError, match=message):
        module.items(options)


def test_the_order_of_a_plan_of_postgresql(tmp_path) -> None:
    def scan(alias: str) -> dict:
        return {"Node Type": "Seq Scan", "Relation Name": "t", "Alias": alias}

    lookup = {"Node Type": "Bitmap Heap Scan", "Alias": "C", "Plans": [{"Node Type": "Bitmap Index Scan"}]}
    apart = {**scan("x"), "Parent Relationship": "InitPlan"}
    join = {"Node Type": "Hash Join", "Plans": [scan("a"), {"Node Type": "Hash", "Plans": [lookup]}]}
    plan = {"Node Type": "Aggregate", "Plans": [apart, {"Node Type": "Nested Loop", "Plans": [scan("b"), join]}]}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps([{"Plan": plan}]), encoding="utf-8")
    assert postgres_order(file).order == "(b (a c))"
    for text, message in (("[]", "is not what EXPLAIN"), (json.dumps([{"Plan": scan("a")}]), "joins nothing")):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(Unsupported, match=message):
            postgres_order(file)
