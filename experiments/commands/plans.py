"""planscope plans: the space of plans of a query, counted, sampled, listed by cost and run."""

from __future__ import annotations

from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

import click

from experiments.commands.inputs import Inputs, query_inputs
from experiments.commands.limits import Progress
from experiments.commands.output import format_of, say, table_text, text_width, write_json
from optimizer.errors import many

if TYPE_CHECKING:
    from optimizer.pipeline import OptimizedQuery
    from optimizer.plan_space import PlanSpace

FORMATS = ("text", "json")
LONG_RANK = 10**30  # ranks from here on are cut in a text
ROUNDING = 1e-9  # costs relatively nearer than this are the same: sums are made in different orders
LADDER = (2, 11, 101, 1001)  # positions by cost whose distance to the cheapest is told


@click.command("plans")
@query_inputs
@click.option("--count", is_flag=True, help="How many plans there are, and how many the search looked at (the default).")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="N different plans, each as likely as any other.")
@click.option("--within", type=click.FloatRange(1.0), metavar="X", help="Sample among plans of at most X times the least cost.")
@click.option("--top", type=click.IntRange(1), metavar="K", help="The K cheapest plans.")
@click.option("--rank", type=click.IntRange(0), metavar="R", help="The plan of number R.")
@click.option("--execute", is_flag=True, help="Run these plans too, and compare each result with that of the chosen plan.")
@click.option("--timeout", type=float, metavar="S", help="Stop a plan when it has run for S seconds.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Seed of the sample.")
@click.option("--searched", is_flag=True, help="Only plans that were not pruned; ranks are then those within them.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: what FILE's ending says, else text.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of standard output.")
@click.pass_obj
def command(
    facts: dict[str, Any], inputs: Inputs, count: bool, sample: int | None, within: float | None, top: int | None,
    rank: int | None, execute: bool, timeout: float | None, seed: int, searched: bool, format: str | None, output: str | None,
) -> None:  # fmt: skip
    """The space of plans of a query: count it, sample it, list the cheapest, run them.

    \b
    planscope plans tpch/q05 -d tpch:0.1
    planscope plans tpch/q05 -d tpch:0.1 --top 20
    planscope plans tpch/q05 -d tpch:0.1 --sample 50 --within 10 --execute
    planscope plans tpch/q05 -d tpch:0.1 --rank 123456
    """
    format = format_of(output, format, FORMATS)
    chosen = sample is not None or top is not None or rank is not None
    if execute and not chosen:
        raise click.UsageError("--execute runs the plans of --sample, --top or --rank; give one of them")
    if timeout is not None and not execute:
        raise click.UsageError("--timeout is about running: it needs --execute")
    if within is not None and sample is None:
        raise click.UsageError("--within is for --sample")
    if within is not None and not within >= 1.0:  # NaN passes the range
        raise click.UsageError("--within takes a number from 1 up")
    from executor.execution import limits

    seconds = limits(timeout).seconds
    session, sql = inputs.open(facts)
    from optimizer.plan_space.of_search import full_space, searched_space

    query = session.optimize(sql)
    with closing(Progress(inputs.quiet)) as told:  # of many joins the space takes a minute
        space = (
            searched_space(query.engine)
            if searched
            else full_space(query.engine, lambda goals: told.say(f"{many(goals, 'goal')} of the space"))
        )
    if rank is not None and rank >= space.count:
        from optimizer.plan_space.plan_space import show_count

        raise click.UsageError(f"there is no plan {rank}: there are {show_count(space.count)}, numbered from 0")
    report: dict[str, Any] = {"sql": sql, "settings": query.settings.as_dict(), "space": _space_facts(space, query, searched)}
    if count or not chosen:
        report["count"] = _count_facts(space, query, searched)
    if chosen:
        report["plans"] = _plans(query, space, _ranks(space, sample, within, top, rank, seed))
    wrong: list[str] = []
    if execute:
        report["execution"], wrong = _execution(query, report["plans"], seconds)
    for plan in report.get("plans", ()):
        node = plan.pop("node")
        if format == "text" and plan["rank"] == rank:
            from memo_viz.explain import plan_table

            report["picture"] = plan_table(node, query.columns, None, text_width())
    if format == "json":
        write_json(report, output)
    else:
        say(_text(report), output)
    if wrong:
        from optimizer.errors import InternalError

        raise InternalError(
            "plans of one query gave different results:\n" + "\n".join(wrong)
            + "\nplanscope plans --rank R --execute runs one of them again"
        )  # fmt: skip


def _space_facts(space: PlanSpace, query: OptimizedQuery, searched: bool) -> dict[str, Any]:
    from memo_viz.export import finite_json

    try:
        chosen: int | None = space.rank(query.plan)
    except ValueError:  # where a sort costs nothing, the search may have sorted in vain; the space has no such plan
        chosen = None
    costs = {"best_cost": finite_json(space.best_cost), "chosen_cost": finite_json(query.cost)}
    of = "searched" if searched else "full"
    found = query.search
    return {"of": of, "plans": space.count, **costs, "chosen_rank": chosen, "proven": found.proven, "budget": found.budget}


def _count_facts(space: PlanSpace, query: OptimizedQuery, searched: bool) -> dict[str, Any]:
    from experiments.plan_space import costs_at
    from memo_viz.export import finite_json
    from optimizer.plan_space.of_search import searched_space

    kept = space if searched else searched_space(query.engine)
    choices, ways = space.size
    return {
        "operator_trees": space.operator_trees(),
        "choices": choices,
        "ways": ways,
        "searched_plans": kept.count,
        "optimum_kept": kept.count > 0 and kept.best_cost <= space.best_cost * (1 + ROUNDING),
        "next": [
            {"position": position, "cost": finite_json(cost), "ratio": _ratio(cost, space)}
            for position, cost in costs_at(space, LADDER)
        ],
    }


def _ranks(
    space: PlanSpace, sample: int | None, within: float | None, top: int | None, rank: int | None, seed: int
) -> list[tuple[str, int]]:
    """(why, rank) of the plans asked for."""
    from experiments.plan_space import draw

    found: list[tuple[str, int]] = []
    if rank is not None:
        found.append(("rank", rank))
    if top is not None:
        found += (("top", space.rank(plan)) for plan in space.top(top))
    if sample is not None:
        found += (("sample", each) for each in draw(space, sample, Random(seed), within))
    return found


def _plans(query: OptimizedQuery, space: PlanSpace, ranks: list[tuple[str, int]]) -> list[dict[str, Any]]:
    from experiments.plan_space import operator_line, ready, what_differs
    from memo_viz.explain import plan_json
    from memo_viz.export import finite_json

    found: list[dict[str, Any]] = []
    for why, rank in ranks:
        node = ready(space.unrank(rank), query)
        facts = {"rank": rank, "by": why, "cost": finite_json(node.cost), "ratio": _ratio(node.cost, space)}
        facts["operators"] = operator_line(node)
        if why == "rank":
            facts["plan"] = plan_json(node, query.columns)
        found.append({**facts, "node": node})
    for plan in found:
        alike = [other["node"] for other in found if other["operators"] == plan["operators"]]
        if told := what_differs(plan["node"], alike, query.columns):
            plan["differs"] = told
    return found


def _ratio(cost: float, space: PlanSpace) -> float | None:
    """Cost as a multiple of the cheapest; None where that is no number."""
    return cost / space.best_cost if space.best_cost > 0 and cost < float("inf") else None


def _execution(query: OptimizedQuery, plans: list[dict[str, Any]], seconds: float | None) -> tuple[dict[str, Any], list[str]]:
    """Run the plans, note time, rows and verdict with each; the figures over all, and what must not be."""
    from experiments.plan_space import compare_run, leaves_choice, rules_behind
    from experiments.rank_correlation import kendall_tau, weighted_correlation
    from experiments.timing import timed

    expected, chosen_ms, _ = timed(query, None, seconds, warm=True)
    choice = leaves_choice(query)
    wrong: list[str] = []
    for plan in plans:
        found = compare_run(query, plan["node"], expected, seconds)
        plan["rows"], plan["ms"] = found.rows, round(found.ms, 3)
        plan["result"] = "same" if found.difference is None else found.difference
        if found.difference is not None and not choice and not plan["result"].startswith("stopped"):
            rules = ", ".join(rules_behind(query, plan["node"])) or "none"
            wrong.append(f"plan {_rank(plan['rank'])}: {found.difference}; rules behind it: {rules}")
    if wrong:
        query.give_groups()
        wrong.append(f"rules behind the chosen plan: {', '.join(rules_behind(query, query.plan)) or 'none'}")
    ran = [plan for plan in plans if not str(plan["result"]).startswith(("fails", "stopped"))]
    costs, times = [p["node"].cost for p in ran], [p["ms"] for p in ran]
    facts = {
        "chosen_ms": round(chosen_ms, 3),
        "chosen_rows": expected.num_rows,
        "same": sum(plan["result"] == "same" for plan in plans),
        "stopped": sum(str(plan["result"]).startswith("stopped") for plan in plans),
        "may_differ": choice,
        "faster_than_chosen": sum(ms < chosen_ms for ms in times),
        "fastest_ms": min(times, default=None),
        "kendall_tau": kendall_tau(costs, times),
        "weighted_correlation": weighted_correlation(costs, times),
    }
    return facts, wrong


def _text(report: dict[str, Any]) -> str:
    parts = [_count_text(report)] if "count" in report else [_head_text(report["space"])]
    if "plans" in report:
        parts.append(_plans_text(report["plans"]))
    if "picture" in report:
        parts.append(report["picture"])
    if "execution" in report:
        parts.append(_execution_text(report["execution"], len(report["plans"])))
    return "\n\n".join(parts)


def _head_text(space: dict[str, Any], trees: int | None = None) -> str:
    """How many plans there are, of how many operator trees where that is known, and what the cheapest costs."""
    from optimizer.algebra.printing import number
    from optimizer.plan_space.plan_space import show_count

    kept = " that were not pruned" if space["of"] == "searched" else ""
    same = "" if trees is None else f" ({many(show_count(trees), 'operator tree')})"
    cost = "" if space["best_cost"] is None else f"; the cheapest costs {number(space['best_cost'])}"
    return many(show_count(space["plans"]), "plan") + same + kept + cost


def _count_text(report: dict[str, Any]) -> str:
    from optimizer.algebra.printing import number
    from optimizer.plan_space.plan_space import show_count

    space, count = report["space"], report["count"]
    lines = [
        _head_text(space, count["operator_trees"]),
        f"described by {many(count['choices'], 'goal')} with {many(count['ways'], 'alternative')}",
    ]
    if space["of"] == "full":
        kept = "optimum kept" if count["optimum_kept"] else "optimum lost"
        share = _share(space["plans"] - count["searched_plans"], space["plans"])
        lines.append(f"pruned away: {share} of them, {show_count(count['searched_plans'])} left; {kept}")
    if space["budget"]:
        lines.append("a budget ran out: the space is that of what had been explored by then")
    elif (space["chosen_cost"] or 0.0) > (space["best_cost"] or 0.0) * (1 + ROUNDING):
        lines.append(f"the chosen plan costs {number(space['chosen_cost'])}")
    if not space["proven"] and not space["budget"]:
        lines.append("the chosen plan is not proven to be the cheapest")
    if space["chosen_rank"] is not None:
        lines.append(f"the chosen plan has rank {_rank(space['chosen_rank'])}")
    for step in count["next"]:
        if step["ratio"] is not None:
            lines.append(f"{_ordinal(step['position'])} cheapest: {_percent(step['ratio'])}")
    return "\n".join(lines)


def _plans_text(plans: list[dict[str, Any]]) -> str:
    from memo_viz.text import clean, shorten
    from optimizer.algebra.printing import number

    ran = "result" in plans[0] if plans else False
    head = ("rank", "cost", "× least", *(("ms", "rows", "result") if ran else ()), "operators")
    rows = []
    for plan in plans:
        ratio = "" if plan["ratio"] is None else f"{plan['ratio']:,.3f}" if plan["ratio"] < 100 else number(plan["ratio"])
        figures: tuple[str, ...] = (_rank(plan["rank"]), "∞" if plan["cost"] is None else number(plan["cost"]), ratio)
        if ran:
            figures += (f"{plan['ms']:,.1f}", f"{plan['rows']:,}", plan["result"])
        differs = f"; {plan['differs']}" if "differs" in plan else ""
        rows.append((*figures, shorten(clean(plan["operators"]), 400) + clean(differs)))
    if not rows:
        return "no plan is that cheap"
    cut = any(plan["rank"] >= LONG_RANK for plan in plans)
    return table_text(head, rows) + ("\nranks are cut: --format json has them whole" if cut else "")


def _rank(rank: int) -> str:
    """Whole where it can be typed, else like 3.21e+47."""
    from optimizer.plan_space.plan_space import show_count

    return str(rank) if rank < LONG_RANK else show_count(rank)


def _execution_text(facts: dict[str, Any], plans: int) -> str:
    lines = [f"{facts['same']} of {many(plans, 'plan')} gave the rows of the chosen plan ({many(facts['chosen_rows'], 'row')})"]
    if facts["stopped"]:
        lines.append(f"{many(facts['stopped'], 'plan')} took longer than the --timeout")
    if facts["same"] + facts["stopped"] < plans and facts["may_differ"]:
        lines.append("others may: a LIMIT has ties, string_agg or its like takes rows in any order, or a function is volatile")
    if facts["fastest_ms"] is not None:
        lines.append(
            f"the chosen plan took {facts['chosen_ms']:,.1f} ms, the fastest of these {facts['fastest_ms']:,.1f} ms; "
            f"{facts['faster_than_chosen']} were faster than the chosen one"
        )
    if facts["kendall_tau"] is not None:
        weighted = facts["weighted_correlation"]
        lines.append(
            f"estimated cost against measured time: Kendall's tau {facts['kendall_tau']:.2f}"
            + ("" if weighted is None else f", weighted towards fast plans {weighted:.2f}")
        )
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    """A percentage, with as many nines as it takes not to look like all."""
    if not part or part == whole:
        return "0 %" if not part else "100 %"
    digits = 1
    while digits < 12 and part * 100 * 10**digits * 2 > whole * (2 * 100 * 10**digits - 1):
        digits += 1
    tenths = part * 100 * 10**digits // whole
    return f"{tenths // 10**digits}.{tenths % 10**digits:0{digits}} %"


def _percent(ratio: float) -> str:
    return f"+{(ratio - 1) * 100:.3g} %" if ratio < 10 else f"{ratio:,.1f} times the least cost"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
