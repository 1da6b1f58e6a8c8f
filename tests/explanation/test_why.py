"""Why not: a case of every reason, and plans of random queries, which exist exactly when the plan space has them."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from executor.session import Session
from experiments.cli import main
from optimizer.algebra.printing import ratio
from optimizer.errors import SettingsError
from optimizer.explanation.answer import Answer
from optimizer.explanation.asked import Asked, asked_plan, order_of
from optimizer.explanation.reasons import Kind
from optimizer.explanation.recost import Recosting
from optimizer.explanation.row_change import FARTHEST, RowChange
from optimizer.joins.join_order import show_join_order
from optimizer.plan_space.of_search import full_space
from tests.search.independent.queries import random_query
from tests.search.stored_tables import SHOP

CHAIN = "select count(*) from a join b on a.k = b.k join c on b.j = c.j join d on c.y = d.y"
OUTER = "select count(*) from a left join (b join c on b.j = c.j) on a.k = b.k join d on a.x = d.y"
UNEQUAL = "select count(*) from a join b on a.k < b.k"
UNITED = "select x from a union all select j from b order by 1"
TWICE = "with v as materialized (select j, count(*) n from b group by j) select * from v x, v y where x.n = y.j"
GROUPED = "select a.x, max(b.j) from a join b on a.k = b.k join c on b.j = c.j group by a.x order by a.x"


def why(sql: str = CHAIN, settings: dict[str, Any] | None = None, changes: bool = False, **asked: Any) -> Answer:
    ((name, value),) = asked.items()
    answer: Answer = getattr(Session(SHOP, settings).why(sql, changes), name)(value)
    return answer


def plan_json(sql: str = CHAIN, **settings: Any) -> dict[str, Any]:
    found: dict[str, Any] = Session(SHOP, settings).explain(sql).json
    return found


def event_of(sql: str, settings: dict[str, Any] | None, answer: Answer) -> dict[str, Any]:
    """The event that an answer says to look at, of a search of the same query."""
    from optimizer.trace.recorder import Trace

    trace = Trace()
    Session(SHOP, {"region": "tasks", **(settings or {})}).optimize(sql, trace)
    assert answer.reason is not None and answer.reason.event is not None
    return trace.events[answer.reason.event]


def kind(answer: Answer) -> Kind | None:
    return None if answer.reason is None else answer.reason.kind


def test_each_question_has_a_search_of_its_own() -> None:
    questions = {"operator": "merge_join", "rule": "join_commute", "join_order": "((a b) (c d))", "mexpr": 3}
    asked = Session(SHOP).why(CHAIN, changes=False)
    for _ in range(2):
        for name, value in questions.items():
            assert getattr(asked, name)(value) == why(**{name: value})


def test_the_chosen_plan() -> None:
    plan = Session(SHOP).explain(CHAIN)
    order = order_of(asked_plan(plan.plan.root, plan.query.columns.label))
    assert order is not None
    for answer in (why(plan=plan.json), why(join_order=show_join_order(order)), why(operator="hash_join")):
        assert answer.status == "chosen" and answer.reason is None and answer.chosen_cost == pytest.approx(plan.query.cost)
    joined_ctes = Session(SHOP).explain(TWICE)
    assert why(TWICE, plan=joined_ctes.json).status == "chosen"  # joins over spools had been left out of the space
    for sql, settings in ((CHAIN, {"disable": ["aggregate_push_join", "aggregate_split_join"]}), (OUTER, {})):
        rule = "partition_joins" if sql is CHAIN else "partition_region"
        assert why(sql, settings, rule=rule).status == "chosen"


@pytest.mark.parametrize("pruning", ["none", "both"])
def test_an_order_that_lost_or_was_pruned(pruning: str) -> None:
    settings = {"pruning": pruning}
    answer = why(settings=settings, join_order="((a b) c) d")
    forced = Session(SHOP, {**settings, "join_order": "((a b) c) d"}).explain(CHAIN).query
    assert answer.status == "exists" and answer.cost == pytest.approx(forced.cost) and answer.cost > answer.chosen_cost
    reason = answer.reason
    assert reason is not None
    if pruning == "none":
        assert reason.kind is Kind.LOST and reason.by is not None and reason.by > 0.0
        assert "it lost most by" in reason.text
        return
    event = event_of(CHAIN, settings, answer)
    assert reason.kind is Kind.PRUNED and event["kind"] == "prune"
    assert (reason.bound, reason.limit) == (event["lower"], event["limit"])
    assert reason.bound is not None and reason.limit is not None and reason.bound >= reason.limit


def test_an_order_that_a_gap_left_out() -> None:
    """Its bound lies below what it has to beat."""
    asked = Session("tpch:0.01", {"region": "tasks", "gap": 0.3}).why("tpch/q05", changes=False)
    reason = asked.join_order("((((nation region) customer) orders) lineitem) supplier").reason
    assert reason is not None and reason.bound is not None and reason.limit is not None and reason.bound < reason.limit
    assert "had a seed of 12,248: near enough, by the gap allowed" in reason.text


def test_a_cheaper_plan_that_a_gap_left_out_is_not_said_to_cost_the_same() -> None:
    settings = {"region": "tasks", "enumeration": "rules", "exploration": "interleaved", "gap": 0.3}
    asked = Session("tpch:0.01", settings).why("tpch/q02", changes=False)
    cut = next(event for event in asked.events if event["kind"] == "prune" and event["mechanism"] == "accumulated")
    assert cut["lower"] < cut["limit"] and "costs the same as" not in asked.mexpr(cut["mexpr"]).text


def test_costs_operator_by_operator_add_up() -> None:
    answer = why(join_order="((a b) c) d")
    assert sum(each.asked or 0.0 for each in answer.operators) == pytest.approx(answer.cost)
    assert sum(each.chosen or 0.0 for each in answer.operators) == pytest.approx(answer.chosen_cost)
    assert re.search(r"[\d,]+ +[\d,]+ +sum", answer.text)


def test_the_smallest_change_makes_it_win() -> None:
    answer = why(changes=True, join_order="((a b) c) d")
    change = answer.change
    assert isinstance(change, RowChange) and ", and no plan less, if " in answer.text
    after = Session(SHOP).what_if(CHAIN).under({change.aliases: change.after})
    assert after.plan.cost == pytest.approx(change.cost, rel=1e-6)
    halfway = change.before * (change.after / change.before) ** 0.5
    forced = Session(SHOP, {"join_order": "((a b) c) d"}).what_if(CHAIN)
    free = Session(SHOP).what_if(CHAIN)
    assert forced.under({change.aliases: halfway}).plan.cost > free.under({change.aliases: halfway}).plan.cost


def test_a_plan_that_costs_as_little_as_another_with_one_row_does_not_win() -> None:
    assert Session("tpch:0.1").why("tpch/q05").join_order("((lineitem supplier) orders)").change == FARTHEST


def test_ratios_have_three_digits_and_are_whole_from_a_thousand() -> None:
    assert [ratio(value) for value in (0.1149, 30.94, 999.6, 600_572.0)] == ["0.115", "30.9", "1,000", "600,572"]


def test_a_plan_diagram_has_axes_and_a_planned_query_shows_its_text() -> None:
    session = Session(SHOP)
    for axes in ([], ["a"]):
        with pytest.raises(SettingsError, match="a plan diagram has one axis or two"):
            session.what_if(CHAIN).diagram(axes)
    shown = repr(session.optimize("select\n  x from a"))
    assert shown.startswith("OptimizedQuery('select x from a', cost=")


@pytest.mark.parametrize("order", ["((a b) c) d", pytest.param("(a b) (c d)", marks=pytest.mark.slow)])
def test_no_smaller_change_makes_it_win(order: str) -> None:
    """Against all changes by a factor of a grid."""
    change = why(changes=True, join_order=order).change
    forced, free = (Recosting(Session(SHOP, settings).optimize(CHAIN).engine) for settings in ({"join_order": order}, {}))
    sets = [frozenset(names) for names in ("a", "b", "c", "d", "ab", "bc", "cd", "abc", "bcd")]
    before = {names: rows for names in sets if (rows := free.rows(names)) is not None}
    wins = []
    for names, rows in before.items():
        for factor in (2.0**i for i in range(1, 13)):
            for after in (rows * factor, rows / factor):
                changed = {names: after}
                if after >= 1.0 and forced.under(changed).cost <= free.under(changed).cost * (1 + 1e-9):
                    wins.append(factor)
    if isinstance(change, RowChange):
        assert change.factor <= min(wins, default=float("inf")) * 1.01
    else:
        assert not wins


@pytest.mark.parametrize(
    ("sql", "settings", "asked", "reason", "part"),
    [
        (CHAIN, {}, {"join_order": "(a c) b"}, Kind.CROSS_PRODUCT, "no condition links a and c"),
        (OUTER, {}, {"join_order": "(a b) c"}, Kind.CONFLICT, "the left join needs {a} on one side and {b, c} on the other"),
        (CHAIN, {"disable": ["join_to_merge_join"]}, {"operator": "merge_join"}, Kind.OFF, "join_to_merge_join is off"),
        (CHAIN, {"disable": ["sort"]}, {"operator": "sort"}, Kind.OFF, "sort is off"),
        ("select x from a", {}, {"operator": "sort"}, Kind.TRAITS, "nothing asks for an order"),
        (CHAIN, {}, {"operator": "top_k"}, Kind.NO_MATCH, "limit"),
        (UNEQUAL, {}, {"operator": "hash_join"}, Kind.GUARD, "its guard is"),
        (CHAIN, {}, {"rule": "join_commute"}, Kind.NO_MATCH, "join, among the expressions it may see"),
        (UNITED, {}, {"join_order": "(a b)"}, Kind.CONFLICT, "a and b are never joined with each other"),
        (CHAIN, {"prepass": False}, {"rule": "or_factor"}, Kind.OFF, "a rule of the pre-pass, which is off"),
        (CHAIN, {"enumeration": "rules", "budget_mexprs": 2}, {"rule": "join_associate"}, Kind.NO_MATCH, "budget_mexprs=2 ended"),
        (CHAIN, {"enumeration": "rules"}, {"rule": "partition_joins"}, Kind.OFF, "is used with enumeration=adaptive"),
        (CHAIN, {"disable": ["aggregate_push_join"]}, {"rule": "aggregate_push_join"}, Kind.OFF, "is off (disable)"),
        (
            CHAIN,
            {"expand_joins": 2},
            {"rule": "aggregate_push_join"},
            Kind.GUARD,
            "with expand_joins=4 it comes further",
        ),
        (CHAIN, {"expand_joins": 2}, {"rule": "aggregate_split_join"}, Kind.GUARD, "with expand_joins=4 it fires here"),
        (UNEQUAL, {}, {"rule": "join_to_hash_join"}, Kind.GUARD, "it was tried 2 times and refused each time"),
        (CHAIN, {}, {"rule": "or_factor"}, Kind.NO_MATCH, "or_factor rewrites trees before the search, and found nothing"),
        (CHAIN, {"disable": ["or_factor"]}, {"rule": "or_factor"}, Kind.OFF, "or_factor is off (disable)"),
        ("select x from a", {}, {"operator": "hash_join"}, Kind.NO_MATCH, "needs independent join"),
        (CHAIN, {}, {"rule": "apply_to_join"}, Kind.OFF, "a rule of decorrelate=quick, and decorrelate is general"),
        (CHAIN, {"decorrelate": "none"}, {"rule": "apply_to_join"}, Kind.NO_MATCH, "found nothing to rewrite"),
        (CHAIN, {"decorrelate": "quick"}, {"rule": "apply_scalar_aggregate"}, Kind.NO_MATCH, "found nothing to rewrite"),
        (CHAIN, {}, {"rule": "limit_to_top_k"}, Kind.NO_MATCH, "found nothing that fits its pattern, limit"),
    ],
)
def test_reasons(sql: str, settings: dict[str, Any], asked: dict[str, Any], reason: Kind, part: str) -> None:
    answer = why(sql, settings, **asked)
    assert (answer.status, kind(answer)) in ((s, reason) for s in ("absent", "unused"))
    assert answer.reason is not None and part in answer.reason.text, answer.text
    if reason is Kind.GUARD:
        assert event_of(sql, settings, answer)["kind"] == "skip"


def test_a_merge_join_that_is_never_cheaper() -> None:
    answer = why(settings={"pruning": "none"}, operator="merge_join")
    assert answer.status == "exists" and kind(answer) in (Kind.DOMINATED, Kind.LOST)
    sql = "select count(*) from a join c on a.k = c.j join b on b.k = a.k"
    answers = [why(sql, {"pruning": mode}, operator="merge_join") for mode in ("none", "both")]
    assert {kind(each) for each in answers} <= {Kind.DOMINATED, Kind.LOST, Kind.PRUNED}


def test_a_merge_join_is_judged_by_its_own_cost() -> None:
    """The trace has the cost of the hash join for both."""
    sorting = Session("tpch:0.1", {"disable": ["join_to_hash_join"]}).explain("tpch/q05").json
    reason = Session("tpch:0.1").why("tpch/q05", changes=False).plan(sorting).reason
    assert reason is not None and reason.kind is Kind.DOMINATED and reason.bound is not None and reason.limit is not None
    assert reason.text.startswith("merge_join of") and reason.bound > reason.limit * 1.001


def test_a_search_that_left_orders_out() -> None:
    settings = {"exact_below": 1, "exact_sets": 2, "seed": "none"}
    answer = why(settings=settings, join_order="((a b) c) d")
    assert answer.status == "chosen" or kind(answer) in (Kind.NOT_SEARCHED, Kind.PRUNED, Kind.LOST), answer.text
    if kind(answer) is Kind.NOT_SEARCHED:
        assert "connected subgraphs" in answer.text


def test_plans_that_are_none_of_the_space() -> None:
    plan = plan_json(GROUPED)["plan"]
    other = json.loads(json.dumps(plan))
    other["traits"] = "order(x#99)"
    answer = why(GROUPED, plan=other)
    assert answer.status == "absent" and kind(answer) is Kind.TRAITS and "cannot deliver order(x#99)" in answer.text
    other = json.loads(json.dumps(plan))
    other["operator"] = "window_rows"
    assert kind(why(GROUPED, plan=other)) is Kind.NO_MATCH
    for name in ("teleport", "inner_on_key"):  # a transformation rule is called ..._to_inner_on_key
        other["operator"] = name
        assert kind(why(GROUPED, plan=other)) is Kind.NO_SUCH
    crossed = {
        "operator": "nested_loop_join", "detail": "inner on TRUE", "traits": "any",
        "inputs": [{"operator": "table_scan", "detail": name, "inputs": []} for name in "ac"],
    }  # fmt: skip
    assert kind(why(GROUPED, plan=crossed)) is Kind.CROSS_PRODUCT


def test_expressions() -> None:
    """Every expression of the trace is part of the plan, or has a reason."""
    from optimizer.trace.recorder import Trace

    trace = Trace()
    query = Session(SHOP, {"region": "tasks"}).optimize(GROUPED, trace)
    ids = [e["id"] for e in trace.events if e["kind"] == "mexpr" and not e["duplicate"]]
    ids = ids[:6] + ids[6::9]
    chosen = [id for id in ids if why(GROUPED, mexpr=id).status == "chosen"]
    assert chosen and len(chosen) < len(ids)
    assert why(GROUPED, mexpr=chosen[0]).chosen_cost == query.cost
    with pytest.raises(SettingsError, match="numbered from 0 to"):
        why(GROUPED, mexpr=10**6)


@pytest.mark.parametrize("number", range(8))
def test_random_plans_exist_exactly_when_enumeration_finds_them(number: int) -> None:
    random, query = Random(number), random_query(number, 4)
    settings = {"pruning": random.choice(["none", "lower", "upper", "both"]), "expand_joins": random.choice([0, 4])}
    check_plans(Session(query.catalog, settings), query.sql, random, 3)


@pytest.mark.parametrize("sql", [CHAIN, GROUPED, OUTER, UNEQUAL])
def test_plans_exist_exactly_when_enumeration_finds_them(sql: str) -> None:
    assert check_plans(Session(SHOP), sql, Random(sql), 6)


def check_plans(session: Session, sql: str, random: Random, size: int) -> int:
    """Sampled plans have the cost that they are enumerated with; changed ones exist if they are in the space, and how many do
    not. The event that a reason names is there."""
    query = session.optimize(sql)
    label, space = query.columns.label, full_space(query.engine)
    small = space.count <= 3000
    every = {repr(asked_plan(space.unrank(rank), label)) for rank in range(space.count)} if small else None
    found = 0
    for plan in map(space.unrank, space.sample_ranks(size, random)):
        asked = asked_plan(plan, label)
        question = session.why(sql, False)
        answer = question.plan(asked)
        reason = answer.reason
        assert (reason is None) is (answer.status == "chosen")
        if reason is not None and reason.kind is Kind.PRUNED:
            assert reason.event is not None and reason.bound is not None and reason.limit is not None
            event = question.events[reason.event]
            assert event["kind"] == "prune" and event["lower"] == reason.bound >= reason.limit * (1 - 1e-9)
        assert answer.status in ("exists", "chosen"), answer.text
        assert answer.cost == plan.cost
        changed = mutated(asked, asked_plan(space.unrank(random.randrange(space.count)), label), random)
        answer = session.why(sql, False).plan(changed)
        assert answer.status != "absent" or answer.reason is not None
        if every is not None:
            assert (answer.status != "absent") is (repr(changed) in every), f"{changed}: {answer.text}"
        found += answer.status == "absent"
    return found


def mutated(plan: Asked, other: Asked, random: Random) -> Asked:
    """A plan with one of its parts replaced by a part of another, or with its inputs in the other order."""
    parts: list[Asked] = []
    stack = [other]
    while stack:
        part = stack.pop()
        parts.append(part)
        stack += part.inputs

    def change(node: Asked) -> Asked:
        if not node.inputs or random.random() < 0.3:
            return random.choice(parts)
        if random.random() < 0.2:
            return node._replace(inputs=node.inputs[::-1])
        at = random.randrange(len(node.inputs))
        return node._replace(inputs=tuple(change(below) if i == at else below for i, below in enumerate(node.inputs)))

    return change(plan)


def test_a_question_as_an_argument_is_told_how_it_is_asked() -> None:
    with pytest.raises(SettingsError, match=r"write session\.why\(sql\)\.join_order\('\(a b\)'\)"):
        Session(SHOP).why(CHAIN, join_order="(a b)")


@pytest.fixture
def shop(tmp_path: Path) -> str:
    (tmp_path / "a.csv").write_text("k,x\n" + "".join(f"{i},{i % 5}\n" for i in range(200)))
    (tmp_path / "b.csv").write_text("k,y\n" + "".join(f"{i % 200},{i % 7}\n" for i in range(900)))
    return str(tmp_path)


def test_the_command(shop: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sql = "select a.x, count(*) from a join b on a.k = b.k group by a.x"

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main([arguments[0], sql, "-d", shop, *arguments[1:]])
        done = capsys.readouterr()
        return code, done.out, done.err

    plan = str(tmp_path / "plan.json")
    assert run("explain", "-o", plan)[0] == 0
    code, out, _ = run("why", "--plan", plan)
    assert code == 0 and "that is the chosen plan" in " ".join(out.split())
    code, out, _ = run("why", "--operator", "nested_loop_join", "--format", "json")
    value = json.loads(out)
    assert value["status"] == "exists" and value["reason"]["kind"] in ("lost", "pruned") and value["cost"] > value["chosen_cost"]
    (tmp_path / "bad.json").write_text('{"operator": 7}')
    (tmp_path / "worse.json").write_text("[" * 100_000)
    for arguments, part in (
        ((), "ask about one of"),
        (("--rule", "join_comute"), 'did you mean "join_commute"?'),
        (("--rule", "or_facto"), 'did you mean "or_factor"?'),
        (("--operator", "inner_on_key"), 'no rule makes an operator "inner_on_key"'),
        (("--operator", "hush_join"), 'did you mean "hash_join"?'),
        (("--mexpr", "9" * 5_000), "is no multi-expression"),
        (("--mexpr", "4711"), "there is no expression 4711"),
        (("--join-order", "(a"), "is never closed"),
        (("--join-order", "(a zebra)"), 'joins no relation "zebra"'),
        (("--plan", f"{tmp_path}/none.json"), "cannot read"),
        (("--plan", f"{tmp_path}/bad.json"), "is no plan: an operator has"),
        (("--plan", f"{tmp_path}/worse.json"), "it is not JSON"),
    ):
        code, _, err = run("why", *arguments)
        assert code == 2 and part in err, err
    explanation = Session(shop).explain(sql)
    assert explanation.why(plan=explanation.json).status == "chosen"
    with pytest.raises(SettingsError, match="ask about one of"):
        explanation.why()
