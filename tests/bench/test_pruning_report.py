"""The tables of `bench pruning`, from rows that were measured and then changed."""

from pathlib import Path
from typing import Any

import pytest

from experiments.bench import pruning, pruning_report
from experiments.bench.experiment import Options
from experiments.bench.pruning_report import report
from experiments.bench.store import table_of

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def measured() -> Rows:
    """chain/3 and star/3 without pruning and with it, under two seeds."""
    items = pruning.items(Options(("chain/3", "star/3"), modes=("none", "both"), seeds=2))
    used = {"status": "ok", "error": None, "error_kind": None, "peak_mb": 1.0}
    return [{"item": str(n), **item, **row, **used} for n, item in enumerate(items) for row in pruning.measure(item)]


def text_of(rows: Rows) -> str:
    return "\n".join(section.text for section in report(table_of(rows)))


def lines(rows: Rows, name: str) -> Rows:
    (table,) = (table for section in report(table_of(rows)) for table in section.tables if table.name == name)
    return [{**row, "caption": table.caption} for row in table.data.to_pylist()]


def by_mode(rows: Rows) -> dict[str, dict[str, Any]]:
    return {row["mode"]: row for row in lines(rows, "modes")}


def test_more_seeds_are_not_more_queries(measured: Rows) -> None:
    once = by_mode([row for row in measured if row["seed"] == 0])["both"]
    both = by_mode(measured)["both"]
    assert {name: once[name] for name in ("queries", "costed", "proven", "tasks")} == {
        name: both[name] for name in ("queries", "costed", "proven", "tasks")
    }
    assert by_mode([row | {"tasks": row["tasks"] + 2 * row["seed"]} for row in measured])["both"]["tasks"] == once["tasks"] + 2


def test_a_mean_is_of_the_seeds_that_have_a_value() -> None:
    means = [pruning_report._mean(values) for values in ([None, 5], [5, None], [None, 5, 7], [None, None], ["a", "a"])]
    assert means == [5, 5, 6, None, "a"]


def test_modes_are_compared_over_the_same_queries(measured: Rows) -> None:
    """A query that one mode did not end with is in the row of none, and named; a seed of it likewise."""
    slow = [
        {**dict.fromkeys(row), **{name: row[name] for name in ("item", *pruning_report._CONFIG, "mode")}, "status": "timeout"}
        if (row["query"], row["mode"]) == ("star/3", "none") else row
        for row in measured
    ]  # fmt: skip
    chain = by_mode([row for row in measured if row["query"] == "chain/3"])
    assert by_mode(slow) == chain and chain["both"]["queries"] == 1
    assert "They leave out 1 query: star/3 (none: timeout)." in text_of(slow) and "leave out" not in text_of(measured)
    apart = [row for row in measured if (row["query"] == "chain/3") == (row["mode"] == "both")]
    assert "No query has a result in every mode" in text_of(apart) and by_mode(apart)["none"]["queries"] == 1


def test_searches_that_are_ended_early_are_compared_over_the_same_queries_and_seeds_are_one(measured: Rows) -> None:
    ends = {("chain/3", 0): 6.0, ("chain/3", 1): 2.0, ("star/3", 0): 9.0, ("star/3", 1): 9.0}
    rows = [{**row, "anytime_cost": [ends[row["query"], row["seed"]]] * len(pruning_report.SHARES) + [1.0]} for row in measured]
    assert {row["queries"] for row in lines(rows, "anytime")} == {2} and "Left out" not in text_of(rows)
    few = [{**row, "anytime_cost": None} if (row["query"], row["mode"]) == ("star/3", "both") else row for row in rows]
    assert [(row["mode"], row["queries"], row["50.0%"]) for row in lines(few, "anytime")] == [("none", 1, 4.0), ("both", 1, 4.0)]
    assert "too few or too many tasks for that: 1 query." in text_of(few)


def test_pairs_are_of_proven_plans_of_the_same_space(measured: Rows) -> None:
    """Two modes and two seeds of two queries; a left-deep order is of a smaller space."""
    assert "were compared, 6 pairs:" in text_of(measured)
    others = [row | {"search": "left_deep"} for row in measured] + [row | {"seed": 9, "proven": False} for row in measured]
    assert "were compared, 6 pairs:" in text_of([*measured, *others])


def test_factors_are_summed_over_the_same_items(measured: Rows) -> None:
    """A query without a result for one value is left out; what one item lacks has no sum."""
    some = [row | {"search": "rules"} for row in measured]
    some += [row | {"search": "table", "bindings": None} for row in measured if row["query"] == "chain/3"]
    found = {row["search"]: (row["items"], row["bindings"] is None) for row in lines([*measured, *some], "by_search")}
    assert found == {"branch": (1, False), "rules": (1, False), "table": (1, True)}
    text = text_of([*measured, *some])
    said = "The other factors are at their defaults. Left out, without a result for every value: 2 pairs of query and mode."
    assert said in text
    other = [row | {"cost_model": "c_out"} for row in (*measured, *some)]
    assert "Items differ in other factors too." in text_of(other)


def test_ways_that_are_not_the_default_ones_are_named_and_not_added_up(measured: Rows) -> None:
    rows = [row | {"search": search} for search in ("table", "rules") for row in measured]
    found = by_mode(rows)["both"]
    assert found["costed"] == by_mode(measured)["both"]["costed"]
    assert found["caption"] == "By mode, search table, default ways otherwise; means over seeds."


def test_queries_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder, sql in (("a", "select 1"), ("b", "select 2"), ("c", "select 1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "q.sql").write_text(sql)
    files = tuple(f"@{tmp_path / folder / 'q.sql'}" for folder in "abc")
    items = pruning.items(Options(files, data="joingraph", modes=("none",)))
    assert [(item["query"], item["sql"]) for item in items] == [("q", "select 1"), ("q (2)", "select 2"), ("q", "select 1")]


def test_items_that_were_refuted_come_first(measured: Rows) -> None:
    failed = {"status": "error", "error_kind": "BoundRefuted", "bug": True}
    rows = [{**row, "bug": False, "audited": 3} | (failed if row["mode"] == "both" else {}) for row in measured]
    text = text_of(rows)
    assert text.startswith("4 of 8 items failed with BoundRefuted, see the end. The others: 4 items of 2 queries.")
    assert "The audit compared 12 skips of the others with the true optima; all are sound." in text
