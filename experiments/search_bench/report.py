"""Results as tables for people and as files for programs."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from executor.atomic import make_folder, write_file
from experiments.search_bench.figure import Figure
from experiments.search_bench.graphs import GraphRow
from experiments.search_bench.job import JobRow
from experiments.search_bench.settings import SEARCHES, differences


class Section(NamedTuple):
    """A table: the first `texts` columns are words, the others numbers. `notes` come below it."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int
    notes: list[str]


class Results:
    """Everything measured so far. `duckdb`: its version, None when it was not there or not asked."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []
        self.graphs: list[GraphRow] = []
        self.job: list[JobRow] = []
        self.duckdb: str | None = None


def figures_section(title: str, figures: Sequence[Figure], notes: list[str]) -> Section:
    rows = [
        (
            figure.figure,
            figure.of,
            figure.note,
            f"{_number(figure.value)} {figure.unit}".rstrip(),
            "" if figure.target is None else f"≤ {figure.target:g}",
        )
        for figure in figures
    ]
    return Section(title, ("figure", "of", "note", "value", "target"), rows, 3, notes)


def graphs_section(rows: Sequence[GraphRow]) -> Section:
    head = ("graph", "search", "regions", "pairs", "costed", "tasks", "ms", "CPU ms", "search ms", "cost", "proven")
    texts = [
        (
            row.graph, row.search, row.regions, f"{row.pairs:,}", f"{row.costed:,}", f"{row.tasks:,}", f"{row.ms:,.1f}",
            f"{row.cpu_ms:,.1f}", f"{row.search_ms:,.1f}", f"{row.cost:.6g}", "yes" if row.proven else "no",
        )
        for row in rows
    ]  # fmt: skip
    notes = ["ms: from SQL text to plan, the quickest of up to three; pairs: unordered, that the search looked at"]
    notes += [f"{name}: {differences(SEARCHES[name]) or 'as they come'}" for name in ("default", "exhaustive", "table", "rules")]
    notes.append(
        "exhaustive and table have no merge joins: no join asks for an order, so all are costed by arithmetic, two for each pair"
    )
    return Section("Join graphs", head, texts, 3, notes)


def job_section(rows: Sequence[JobRow], duckdb: str | None) -> Section:
    head = (
        "query",
        "regions",
        "relations",
        "pairs",
        "costed",
        "proven",
        "parse",
        "bind",
        "prepass",
        "search",
        "ms",
        "EXPLAIN",
        "PREPARE",
    )
    texts = [
        (
            row.query, row.regions, str(row.relations), f"{row.pairs:,}", f"{row.costed:,}", "yes" if row.proven else "no",
            f"{row.parse_ms:.2f}", f"{row.bind_ms:.2f}", f"{row.prepass_ms:.2f}", f"{row.search_ms:.2f}", f"{row.ms:.2f}",
            _or_dash(row.duckdb_explain_ms), _or_dash(row.duckdb_prepare_ms),
        )
        for row in rows
    ]  # fmt: skip
    notes = ["default settings; milliseconds on the clock, medians of the repetitions; ms: from SQL text to plan"]
    if duckdb is not None:
        notes.append(f"EXPLAIN, PREPARE: DuckDB {duckdb}, the same queries over empty tables of the same schema, in this run")
    return Section("Join Order Benchmark", head, texts, 2, notes)


def write_results(results: Results, folder: str) -> list[Path]:
    """`search.json` with everything, and a CSV file for each kind of row; the files written. Raises OutputError."""
    target = make_folder(folder)
    parts: dict[str, Sequence[Any]] = {"figures": results.figures, "graphs": results.graphs, "job": results.job}
    written = []
    for name, rows in parts.items():
        if rows:
            written.append(target / f"search_{name}.csv")
            write_file(written[-1], _csv(rows))
    record = {
        "environment": environment(results.duckdb),
        "settings": {name: settings.as_dict() for name, settings in SEARCHES.items()},
        **{name: [_finite(row._asdict()) for row in rows] for name, rows in parts.items()},
    }
    written.append(target / "search.json")
    write_file(written[-1], json.dumps(record, indent=1, allow_nan=False) + "\n")
    return written


def environment(duckdb: str | None) -> dict[str, object]:
    """What times depend on."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "duckdb": duckdb,
    }


def _csv(rows: Sequence[Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0]._fields)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return text.getvalue()


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity and no NaN: they become texts."""
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value for name, value in record.items()
    }


def _number(value: float) -> str:
    """Three digits, or as many as a whole number has."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _or_dash(ms: float | None) -> str:
    return "–" if ms is None else f"{ms:.2f}"
