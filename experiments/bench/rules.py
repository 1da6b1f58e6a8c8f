"""What each rule does: bindings, firings, what was new, part in winners, time, and what its absence costs.

A query is planned once with a trace, once with a clock in each rule, and once without each of the rules that fired. Region by
region joins are ordered without rules; `--modes rules` has them ordered by rules, so that these are seen too.

A rule undoes another when what it makes of an expression is the very expression that the other made that one from. In
the winner has a rule a part when it made an operator of the plan, or an expression that such an operator comes from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from operator import itemgetter
from time import process_time, thread_time
from typing import Any, TypeVar

import pyarrow as pa

from executor.session import Session
from experiments.bench.experiment import Figure, Item, Options, Row, Section, Table
from experiments.bench.store import table_of
from experiments.bench.summary import grouped
from experiments.rule_list import describe_rules
from experiments.workloads.data import opened
from experiments.workloads.queries import check_queries, resolve_sql
from optimizer.catalog.table import Catalog
from optimizer.errors import NoPlan, many
from optimizer.pipeline import OptimizedQuery
from optimizer.plugins.load import load_plugins
from optimizer.rules.catalog import TRANSFORMATIONS
from optimizer.rules.interface import Rule
from optimizer.rules.rule_set import RuleSet
from optimizer.settings import Settings
from optimizer.trace.recorder import Trace

NAME = "rules"
HELP = """What each rule does: bindings, firings, part in winners, time, and what its absence costs.

With the pairs of rules that work on one another's results, those that undo one another, and those that never fire. Modes are
ways to order joins, as the setting enumeration has them.
"""
MODES = ("adaptive", "rules")
OWN_SETTINGS = {"enumeration": "--modes chooses it: --modes rules"}
TIMEOUT = 300.0
KEYS = ("rule", "maker")
SHARED = {"data": "query"}
QUERIES = tuple(f"tpch/q{number:02d}" for number in range(1, 23))
QUICK = tuple(f"tpch/q{number:02d}" for number in (3, 4, 12, 17, 22))
CHANGED = 1e-9  # relative
MADE_IN_MEMO = ("transform", "implement", "enforce")  # kinds of rules whose results stand beside what was there
KINDS = ("decorrelate", "prepass", *MADE_IN_MEMO)

Event = dict[str, Any]
AnyRule = TypeVar("AnyRule", bound=Rule)


def items(options: Options) -> list[Item]:
    named = options.queries or (QUICK if options.quick else QUERIES)
    check_queries(named)
    return [
        {"query": query, "data": options.data_for(query, "tpch:0.01"), "enumeration": mode, "pairs": options.pairs_for(query)}
        for query in named
        for mode in options.modes
    ]


def measure(item: Item) -> list[Row]:
    """A row for each rule in use, and one for each pair of rules of which one fired on what the other made."""
    settings = Settings.from_pairs((f"enumeration={item['enumeration']}", "region=tasks", *item["pairs"]))
    catalog, sql = opened(item["data"]), resolve_sql(item["query"])
    trace = Trace()
    planned = Session(catalog, settings).optimize(sql, trace)
    counts, winners = firings(trace.events), in_winner(trace.events)
    seconds = rule_seconds(catalog, settings, sql)
    rows: list[Row] = []
    for rule, kind in rules_in_use(settings).items():
        found = counts.get(rule, Counter())
        row: Row = {"what": "rule", "rule": rule, "kind": kind}
        row |= {each: found[each] for each in ("bindings", "firings", "new", "duplicates")}
        row |= {"in_winner": rule in winners, "ms": seconds[rule] * 1e3 if rule in seconds else None}
        rows.append({**row, **(without(catalog, settings, sql, rule, planned) if found["firings"] else {})})
    rows += ({"what": "pair", **pair} for pair in interactions(trace.events))
    return rows


def rules_in_use(settings: Settings) -> dict[str, str]:
    """Those that the settings let fire, with their kinds, in the order in which a query meets them; those of plug-ins last."""
    plugins = load_plugins(settings.plugins)
    transformations = (*TRANSFORMATIONS, *plugins.of_kind("transform").values())
    unused = {rule.name for rule in transformations if rule.unused(settings)}
    unused |= {*settings.disable}
    kinds = [kind for kind in KINDS if kind != "decorrelate" or settings.decorrelate == "quick"]
    return {doc.name: doc.kind for doc in describe_rules(plugins) if doc.kind in kinds and doc.name not in unused}


def firings(events: Sequence[Event]) -> dict[str, Counter[str]]:
    """By rule: `bindings` it was tried on, `firings` that gave something, expressions that were `new` and `duplicates`."""
    found: dict[str, Counter[str]] = {}
    bound = {event["rule"] for event in events if event["kind"] == "bind"}
    for event in events:
        rule = event.get("rule")
        if rule is None or event["kind"] not in ("bind", "fire", "skip", "rewrite", "mexpr"):
            continue
        counts = found.setdefault(rule, Counter())
        match event["kind"]:
            case "bind":
                counts["bindings"] += 1
            case "fire":
                counts["firings"] += 1
                counts["new"] += len(event["new"])
                counts["bindings"] += rule not in bound  # an implementation rule binds an operator as it is
            case "skip":
                counts["bindings"] += rule not in bound and event["reason"] == "guard"
            case "rewrite":
                counts["firings"] += 1
            case "mexpr":
                counts["duplicates"] += event["duplicate"]
    for event in events:
        if event["kind"] == "enforce":
            found.setdefault(event["op"], Counter())["firings"] += 1
    return found


def in_winner(events: Sequence[Event]) -> set[str]:
    """The rules that made an operator of the plan, or an expression that it comes from, and all that rewrote the query."""
    made = {event["id"]: event for event in events if event["kind"] == "mexpr" and not event["duplicate"]}
    found = {event["rule"] for event in events if event["kind"] == "rewrite"}
    plan = next(event for event in events if event["kind"] == "plan")
    for node in plan["nodes"]:
        found.add(node["op"] if node["rule"] is None else node["rule"])
        at = node["mexpr"]
        while at is not None:
            found.add(made[at]["rule"])
            at = made[at]["source"]
    return found - {None}


def interactions(events: Sequence[Event]) -> Iterator[Row]:
    """For each pair: how often `rule` fired on an expression that `maker` made, and how often that gave back what `maker` had
    begun with."""
    made = {event["id"]: event for event in events if event["kind"] == "mexpr" and not event["duplicate"]}
    fired, undone = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for event in events:
        if event["kind"] == "fire" and made[event["mexpr"]]["rule"] is not None:
            fired[made[event["mexpr"]]["rule"], event["rule"]] += 1
        elif event["kind"] == "mexpr" and event["duplicate"] and event["source"] is not None:
            source = made[event["source"]]
            if source["rule"] is not None and source["source"] == event["id"]:
                undone[source["rule"], event["rule"]] += 1
    for maker, rule in fired:
        yield {"maker": maker, "rule": rule, "firings": fired[maker, rule], "undone": undone[maker, rule]}


def rule_seconds(catalog: Catalog, settings: Settings, sql: str) -> dict[str, float]:
    """Seconds of CPU time inside each rule of the memo while the query is planned; finding bindings is not counted."""
    spent: dict[str, float] = {}

    def clocked(rule: AnyRule) -> AnyRule:
        inner, made = rule.apply, copy(rule)  # type: ignore[attr-defined]

        def apply(bound: Any, context: Any) -> Any:
            start = thread_time()
            result = inner(bound, context)
            spent[rule.name] = spent.get(rule.name, 0.0) + thread_time() - start
            return result

        made.apply = apply  # type: ignore[attr-defined]
        return made

    optimizer = Session(catalog, settings).optimizer
    rules = optimizer.rules
    clocks = tuple(map(clocked, rules.transformations)), tuple(map(clocked, rules.implementations))
    optimizer.rules = RuleSet(*clocks, rules.enforcers, settings.enumeration)
    optimizer.optimize(sql)
    return spent


def without(catalog: Catalog, settings: Settings, sql: str, rule: str, planned: OptimizedQuery) -> Row:
    """What the query's plan costs without a rule, over what it costs with it (None: there is no plan). `proven`: both are the
    cheapest of their spaces."""
    start = process_time()
    try:
        other = Session(catalog, settings.replace(disable=(*settings.disable, rule))).optimize(sql)
    except NoPlan:
        return {"without": None, "needed": True, "proven": None, "without_ms": None}
    ratio = other.cost / planned.cost if planned.cost else 1.0
    proven = other.search.proven and planned.search.proven
    return {"without": ratio, "needed": False, "proven": proven, "without_ms": (process_time() - start) * 1e3}


def report(rows: pa.Table) -> list[Section]:
    found = [row for row in rows.to_pylist() if row["status"] == "ok"]
    kinds = {doc.name: doc.kind for doc in describe_rules()}
    kinds |= {row["rule"]: row["kind"] for row in found if row.get("kind")}  # of plug-ins too
    sections = []
    for mode, own in grouped(found, itemgetter("enumeration")).items():
        rules, pairs = ([row for row in own if row["what"] == what] for what in ("rule", "pair"))
        sections.append(_section(mode, rules, pairs, kinds))
    return sections


def _section(mode: str, rules: list[Row], pairs: list[Row], kinds: dict[str, str]) -> Section:
    lines, dead = [], []
    problems: list[str] = []
    for rule, own in grouped(rules, itemgetter("rule")).items():
        kind = kinds.get(rule, "own")
        counted = ("bindings", "firings", "new", "duplicates")
        totals: dict[str, int | None] = {each: sum(row[each] for row in own) for each in counted}
        if not totals["firings"]:
            dead.append(f"`{rule}`")
            continue
        ratios = [row["without"] for row in own if row["without"] is not None]
        if kind not in ("transform", "implement"):
            totals = {"bindings": None, "firings": totals["firings"], "new": None, "duplicates": None}  # a trace does not tell
        lines.append({
            "rule": rule, "kind": kind, "queries": sum(row["firings"] > 0 for row in own), **totals,
            "in winners": sum(row["in_winner"] for row in own),
            "ms": sum(row["ms"] or 0.0 for row in own) if kind in ("transform", "implement") else None,
            "needed": sum(row["needed"] is True for row in own), "dearer without": sum(ratio > 1 + CHANGED for ratio in ratios),
            "cheaper without": sum(ratio < 1 - CHANGED for ratio in ratios), "largest ratio": max(ratios, default=None),
            "least ratio": min(ratios, default=None),
        })  # fmt: skip
        if kind in MADE_IN_MEMO:
            problems += (
                f"{row['query']}, enumeration={mode}: the plan is cheaper without {rule} ({row['without']:.6g} of the cost)"
                for row in own
                if row["proven"] and row["without"] is not None and row["without"] < 1 - CHANGED
            )
    linked = [
        {"maker": maker, "rule": rule, "firings": sum(r["firings"] for r in own), "undone": sum(r["undone"] for r in own)}
        for (maker, rule), own in grouped(pairs, itemgetter("maker", "rule")).items()
    ]
    undoing = [f"`{row['rule']}` undoes `{row['maker']}` ({many(row['undone'], 'time')})" for row in linked if row["undone"]]
    text = f"{many(len({row['query'] for row in rules}), 'query')}. "
    text += f"Never fired: {', '.join(dead) or 'none'}.\n\nUndoing pairs: {'; '.join(undoing) or 'none'}."
    tables = [Table(f"rules_{mode}", _CAPTION, table_of(lines))]
    figures, places = [], {rule: place for place, rule in enumerate(kinds)}
    if linked:
        caption = (
            "How often a rule fired on an expression that another made, and gave back what that one had begun with (undone)."
        )
        tables.append(Table(f"interactions_{mode}", caption, table_of(linked)))
        cells = sorted(linked, key=lambda row: [places.get(row[each], len(places)) for each in ("maker", "rule")])
        grid = [{"x": row["rule"], "y": row["maker"], "series": "", "value": row["firings"]} for row in cells]
        caption = (
            "The graph of interactions, as a matrix: how often the rule of the column fired on what the rule of the row made."
        )
        figures.append(Figure(f"graph_{mode}", caption, table_of(grid), "cells", "fires on", "made by"))
    return Section(f"enumeration={mode}", text, tables, figures, problems)


_CAPTION = (
    "Sums over queries. Queries: where it fired; in winners: in the making of how many plans it had a part; ms: inside the "
    "rule; needed: no plan without it; dearer, cheaper without: plans that change in cost when it is off, and the largest and "
    "least ratio. Rewrites of the pre-pass replace what they find, so a plan may be cheaper without them; with rules of the "
    "memo that would be a bug."
)
