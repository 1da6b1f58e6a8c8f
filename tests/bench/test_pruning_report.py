"""The tables of `bench pruning`, from rows that were measured and then changed."""

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


def by_mode(rows: Rows) -> dict[str, dict[str, Any]]:
    (table,) = (table for section in report(table_of(rows)) for table in section.tables if table.name == "modes")
    return {row["mode"]: row for row in table.data.to_pylist()}


def test_more_seeds_are_not_more_queries(measured: Rows) -> None:
    once = by_mode([row for row in measured if row["seed"] == 0])["both"]
    both = by_mode(measured)["both"]
    assert {name: once[name] for name in ("queries", "costed", "proven", "tasks")} == {
        name: both[name] for name in ("queries", "costed", "proven", "tasks")
    }
    assert by_mode([row | {"tasks": row["tasks"] + 2 * row["seed"]} for row in measured])["both"]["tasks"] == once["tasks"] + 2


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


def test_items_that_were_refuted_come_first(measured: Rows) -> None:
    failed = {"status": "error", "error_kind": "BoundRefuted", "bug": True}
    rows = [{**row, "bug": False, "audited": 3} | (failed if row["mode"] == "both" else {}) for row in measured]
    text = text_of(rows)
    assert text.startswith("4 of 8 items failed with BoundRefuted, see the end. The others: 4 items of 2 queries.")
    assert "The audit compared 12 skips of the others with the true optima; all are sound." in text
