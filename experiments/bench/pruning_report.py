"""The report of `bench pruning`."""

from operator import itemgetter
from statistics import mean
from typing import Any

import pyarrow as pa

from experiments.bench.experiment import Figure, Row, Section, Table
from experiments.bench.store import table_of
from experiments.bench.summary import geometric_mean, grouped, median_of
from optimizer.errors import many

MODES = ("none", "dominance", "upper", "lower", "both", "both+greedy", "both+linearized", "both+best")
SEARCHES = {
    "branch": "enumeration=partition",
    "conservative": "enumeration=partition partitioner=conservative",
    "table": "enumeration=partition region=table",
    "adaptive": "enumeration=adaptive",
    "left_deep": "enumeration=left_deep",
    "rules": "enumeration=rules",
    "on_demand": "enumeration=rules exploration=on_demand",
    "interleaved": "enumeration=rules exploration=interleaved",
    "rules_b0": "enumeration=rules_b0",
    "duplicate_free": "enumeration=duplicate_free_rules cross_products=true",
}
FACTORS = {  # of an item -> the values of --searches and so on; the first is the default
    "search": tuple(SEARCHES),
    "driver": ("top_down", "iterative"),
    "cost_model": ("arrow", "c_out", "c_mm", "spark"),
    "estimator": ("histogram", "system_r", "upper_bound"),
    "order": ("none", "key"),
}
SHARES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)  # of the tasks of a whole search, as budgets
_TOLERANCE = 1e-9
_CONFIG = ("query", "data", *FACTORS, "seed", "pairs")
_MEASURED = ("costed", "tasks", "ms_search", "cost")  # first in the table of all items


def report(rows: pa.Table) -> list[Section]:
    """Whether costs agree; what each mode saves, by size and shape; mechanisms; the other factors; anytime; all rows."""
    every = rows.to_pylist()
    found = [row for row in every if row["status"] == "ok"]
    if not found:
        return [Section("Nothing was measured")]
    without = {_config(row): row for row in found if row["mode"] == "none"}
    for row in found:
        base = without.get(_config(row))
        row["saving"] = base["costed"] / row["costed"] if base and row["costed"] else None
        row["faster"] = base["ms_search"] / row["ms_search"] if base and row["ms_search"] else None
    others = min(map(_unusual, found), key=len)
    usual = [row for row in found if _unusual(row) == others]
    ended, left_out = _in_all_modes(usual, every)
    ended = _over_seeds(ended)
    first = [_agreement(found, every), _by_mode(ended, left_out, _over_seeds(usual), others), _mechanisms(ended)]
    last = [_time_and_memory(ended), _over_time(usual), _all_items(found, rows.column_names)]
    return [*first, *_factors(_over_seeds(found)), *last]


def _all_items(found: list[Row], names: list[str]) -> Section:
    """What tells the rows apart, what is looked at most, then the rest; without columns that are the same in all rows."""
    hidden = ("item", "status", "error", "error_kind", "bug", "anytime_tasks", "anytime_cost")
    told = {name for name in names if name not in hidden and any(row[name] != found[0][name] for row in found)}
    told |= {"query", "mode", *_MEASURED}
    order = dict.fromkeys(("query", "mode", *_CONFIG, *_MEASURED, *names))
    table = table_of([{name: row[name] for name in order if name in told} for row in found])
    caption = "A row for each item, without columns that are the same in all; `results.parquet` has all columns."
    return Section("All items", "", [Table("items", caption, table)])


def _config(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _CONFIG)


def _unusual(row: Row) -> list[str]:
    """The factors of a row that are not at their defaults, with their values."""
    return [f"{name} {row[name]}" for name, values in FACTORS.items() if row[name] != values[0]]


def _in_all_modes(found: list[Row], rows: list[Row]) -> tuple[list[Row], str]:
    """Those of `found` that have a result in all modes, so that modes are compared over the same queries, and which have none."""
    ends = {(_config(row), row["mode"]): row["status"] for row in rows}
    modes, missed = dict.fromkeys(row["mode"] for row in found), {}
    for config in dict.fromkeys(map(_config, found)):
        without = {mode: end for mode in modes if (end := ends.get((config, mode), "not measured")) != "ok"}
        if without:
            missed[config] = f"{config[0]} ({', '.join(f'{mode}: {end}' for mode, end in without.items())})"
    if not missed:
        return found, ""
    kept, names = [row for row in found if _config(row) not in missed], dict.fromkeys(missed.values())
    if not kept:
        return found, "\n\nNo query has a result in every mode: the rows below are over different queries."
    return kept, (
        "\n\nThis table and those of mechanisms, time and memory are over queries with a result in every mode. They leave out "
        f"{many(len(names), 'query')}: {', '.join(names)}."
    )


def _over_seeds(rows: list[Row]) -> list[Row]:
    """A row for each configuration of a query: numbers, also in lists, are means over its seeds, so that more seeds are not more
    queries."""
    parts = grouped(rows, itemgetter("mode", *(name for name in _CONFIG if name != "seed")))
    return [{name: _mean([row[name] for row in mine]) for name in mine[0]} | {"seed": None} for mine in parts.values()]


def _mean(values: list[Any]) -> Any:
    if all(isinstance(value, list) for value in values):
        return [_mean(list(each)) for each in zip(*values, strict=True)]
    numbers = [value for value in values if isinstance(value, int | float)]
    return mean(numbers) if len(numbers) > 1 else (numbers or values)[0]


def _agreement(found: list[Row], every: list[Row]) -> Section:
    """Items that failed by a bug or a wrong bound; of the others, proven plans of one space cost the same, and none less."""
    problems, compared, largest = [], 0, 0.0
    unit = itemgetter("query", "data", "cost_model", "estimator", "order", "pairs")
    for rows in grouped(found, lambda row: (unit(row), row["search"] == "duplicate_free")).values():
        exact = [row for row in rows if row["proven"] and row["search"] != "left_deep"]
        if not exact:
            continue
        least = min(exact, key=itemgetter("cost"))
        compared += len(exact) - 1
        for row in rows:
            apart = row["cost"] / least["cost"] - 1 if least["cost"] else row["cost"]
            largest = max(largest, apart if row in exact else 0.0)
            if apart < -_TOLERANCE or (row in exact and apart > _TOLERANCE):
                problems.append(f"{_name(row)} finds a plan of cost {row['cost']!r}, {_name(least)} one of {least['cost']!r}")
    text = f"{many(len(found), 'item')} of {many(len({row['query'] for row in found}), 'query')}. "
    if problems:
        text += "Configurations that prove their plans disagree, see above. "
    elif compared:
        text += (
            f"Configurations that prove their plans the cheapest of the same space were compared, {many(compared, 'pair')}: the "
            f"largest relative difference of their costs is {largest:.1g}, and none found a cheaper plan than a proven one. "
        )
    bugs = [row["error_kind"] for row in every if row.get("bug")]
    if bugs:
        kinds = ", ".join(dict.fromkeys(bugs))
        text = f"{len(bugs):,} of {many(len(every), 'item')} failed with {kinds}, see the end. The others: {text}"
    audited = [row["audited"] for row in found if row.get("audited") is not None]
    if audited:
        text += f"The audit compared {sum(audited):,} skips {'of the others ' * bool(bugs)}with the true optima; all are sound."
    return Section("Same plans", text, problems=problems)


def _name(row: Row) -> str:
    return " ".join(str(row[name]) for name in ("query", "mode", *FACTORS))


def _by_mode(rows: list[Row], left_out: str, found: list[Row], others: list[str]) -> Section:
    """`found`: with rows of queries that did not end in all modes, for the figures. `others`: factors not at their defaults."""
    table = []
    for mode, mine in grouped(rows, itemgetter("mode")).items():
        savings = [row["saving"] for row in mine if row["saving"]]
        table.append({
            "mode": mode, "queries": len({row["query"] for row in mine}), "costed": sum(row["costed"] for row in mine),
            "saving, mean": geometric_mean(savings), "least": min(savings, default=None), "most": max(savings, default=None),
            "goals opened": sum(row["goals_opened"] for row in mine),
            "opened again": sum(row["reopened_limit"] + row["reopened_new"] for row in mine),
            "tasks": sum(row["tasks"] for row in mine), "speed-up, mean": geometric_mean(row["faster"] for row in mine),
            "proven": sum(row["proven"] for row in mine),
        })  # fmt: skip
    text = (
        "A mode is what is pruned, and the seed: `upper` passes limits down, `lower` compares predicted costs with the best "
        "plan and leaves out merge joins where a hash join never costs more, as `dominance` does alone, `both` does both; a "
        "seed is a heuristic join order installed as a plan before the search. The saving is how many alternatives the search "
        "without pruning costs for each that this one costs; the mean over queries is geometric."
    )
    text += left_out
    medians = "medians by number of relations, of each shape of join graph and each workload"
    figures = [
        _by_relations(found, "saving", "saving", f"Alternatives costed without pruning over those costed with it; {medians}."),
        _by_relations(found, "ms_search", "search (ms)", f"Milliseconds of search, the least of up to three runs; {medians}."),
    ]
    ways = ", ".join([*others, "default ways otherwise"])
    tables = [Table("modes", f"By mode, {ways}; means over seeds.", table_of(table))]
    return Section("What each mode saves", text, tables, figures)


def _by_relations(rows: list[Row], value: str, label: str, caption: str) -> Figure:
    """Medians by mode and relations, a panel for each shape of join graphs and each workload."""
    parts = grouped(rows, lambda row: (_family(row["query"]), row["mode"], row["relations"]))
    points = [{"panel": shape, "series": mode, "x": n, "y": median_of(mine, value)} for (shape, mode, n), mine in parts.items()]
    points.sort(key=lambda point: (str(point["panel"]), MODES.index(str(point["series"]))))
    return Figure(f"{value}_by_relations", caption, table_of(points), "lines", "relations", label, log_y=True)


def _family(query: str) -> str:
    """star of star/5, job of job/1a."""
    family, slash, _ = query.partition("/")
    return family if slash and family.isidentifier() else "other queries"


def _mechanisms(rows: list[Row]) -> Section:
    names = {
        "group_bound": "before any alternative of an expression or split was costed, by the bounds of its inputs",
        "predicted": "a costed alternative, before its inputs were searched",
        "accumulated": "midway, when the true cost of some inputs was known",
        "limit": "because an input has no plan within what is left of the limit",
    }
    modes = grouped(rows, itemgetter("mode"))
    table = [
        {"mode": mode, **{name: sum(row[name] for row in mine) for name in (*names, "dominated")}} for mode, mine in modes.items()
    ]
    points = [
        {"x": mode, "series": name, "y": sum(row[name] / max(1, row["candidates"]) for row in mine) / len(mine)}
        for mode, mine in modes.items() for name in names
    ]  # fmt: skip
    text = "What was skipped, and when: " + "; ".join(f"`{name}`: {meaning}" for name, meaning in names.items())
    text += ". Apart from them `dominated`: splits without a merge join, since a hash join never costs more; no bound skips it."
    caption = "Skips by mechanism for each listed way, mean over queries."
    figure = Figure("skips", caption, table_of(points), "bars", "mode", "skips for each way")
    return Section("Mechanisms", text, [Table("mechanisms", "Skips, summed over queries.", table_of(table))], [figure])


def _factors(found: list[Row]) -> list[Section]:
    """A section for each factor that has several values, over the queries and modes that have a result with each of them."""
    sections = []
    for factor, known in FACTORS.items():
        rest = itemgetter("mode", *(name for name in _CONFIG if name != factor))
        varied = [rows for rows in grouped(found, rest).values() if len(rows) > 1]
        values = {row[factor] for rows in varied for row in rows}
        whole = [rows for rows in varied if len(rows) == len(values)]
        usual = {rest(row): row for rows in whole for row in rows if row[factor] == known[0]}
        table = []
        for (value, mode), mine in grouped((row for rows in whole for row in rows), itemgetter(factor, "mode")).items():
            pairs = [(row, usual[rest(row)]) for row in mine if rest(row) in usual]
            table.append(
                {factor: value, "mode": mode, "items": len(mine)}
                | {name: _sum([row.get(name) for row in mine]) for name in _SUMMED}
                | {"saving, mean": geometric_mean(row["saving"] for row in mine)}
                | {"time over default": geometric_mean(row["ms_search"] / other["ms_search"] for row, other in pairs)}
                | {"proven": sum(row["proven"] for row in mine)}
            )
        if varied:
            caption = "Sums over the same items for each value, none where not all were counted; `time over default`: a mean."
            alone = all(name.startswith(f"{factor} ") for rows in varied for row in rows for name in _unusual(row))
            text = "The other factors are at their defaults. " if alone else "Items differ in other factors too. "
            if left := len(varied) - len(whole):
                text += f"Left out, without a result for every value: {many(left, 'pair')} of query and mode. "
            tables = [Table(f"by_{factor}", caption, table_of(table))] if table else []
            sections.append(Section(f"By {factor.replace('_', ' ')}", text + _MEANINGS.get(factor, ""), tables))
    return sections


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


_SUMMED = ("groups", "logical", "duplicates", "bindings", "costed", "tasks", "goals_opened")
_MEANINGS = {
    "search": "`branch`, `conservative`: splits of connected sets by two algorithms; `table`: all sets at once, as arrays; "
    "`rules`: commute and associate, before costing, or `on_demand` or `interleaved` with it; `rules_b0`: both associativities; "
    "`duplicate_free`: Pellenkoft's rules, with cross products; `left_deep`: a smaller space.",
    "order": "`key`: the result is sorted by a column of the first join.",
}


def _time_and_memory(rows: list[Row]) -> Section:
    stages = [name for name in rows[0] if name.startswith("ms_") and any(row.get(name) for row in rows)]
    table = [
        {"mode": mode, **{name: median_of(mine, name) for name in stages}, "peak_mb": max(row["peak_mb"] or 0.0 for row in mine)}
        for mode, mine in grouped(rows, itemgetter("mode")).items()
    ]
    text = (
        "Times on the clock; stages before the search are the same in all modes. `peak_mb` is the most that the process held "
        "during an item, beyond what it held before its first: what earlier items left in it counts, so it compares no modes."
    )
    return Section("Time and memory", text, [Table("phases", "Median milliseconds by stage, and peak memory.", table_of(table))])


def _over_time(rows: list[Row]) -> Section:
    points, table, modes = [], [], {row["mode"] for row in rows}
    known = grouped((row for row in rows if row.get("anytime_cost")), _config).values()
    kept = [row for mine in known if {row["mode"] for row in mine} == modes for row in mine]
    for mode, mine in grouped(_over_seeds(kept), itemgetter("mode")).items():
        ratios = [[cost / row["anytime_cost"][-1] for cost in row["anytime_cost"]] for row in mine]
        means = dict(zip((*SHARES, 1.0), map(geometric_mean, zip(*ratios, strict=True)), strict=True))
        points += [{"series": mode, "x": share, "y": mean} for share, mean in means.items()]
        table.append(
            {"mode": mode, "queries": len({row["query"] for row in mine}), **{f"{share:.1%}": means[share] for share in SHARES}}
        )
    text = (
        "Each search was ended after a share of the tasks that it takes in all; shown is the cost of its plan then, over that of "
        "its last plan. With a seed there is a good plan from the start."
    )
    if left := len({row["query"] for row in rows} - {row["query"] for row in kept}):
        text += f" Left out, with a search of too few or too many tasks for that: {many(left, 'query')}."
    caption = "Cost of the plan over the final one, geometric mean over queries, by share of tasks."
    figure = Figure("anytime", caption, table_of(points), "lines", "share of tasks", "cost / final cost", log_x=True)
    found = bool(points)
    return Section("Before the end", text, [Table("anytime", caption, table_of(table))] * found, [figure] * found)
