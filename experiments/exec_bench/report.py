"""Results as a table for people and as files for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from executor.atomic import atomic_output, make_folder, write_file
from experiments.exec_bench.engines import NAMES, installed
from experiments.exec_bench.measure import Row
from experiments.search_bench.report import Section, environment

MISSING = "{} is not installed, so its times are left out; to have them: pip install 'planscope[bench]'"


def section(rows: Sequence[Row], data: str, threads: int) -> Section:
    """A line for each query: planscope's figures, then those of each other engine with the ratio."""
    others = [name for name in NAMES[1:] if any(row.engine == name for row in rows)]
    head = ["query", "rows", "planning", "ms", "CPU", "MB"]
    for name in others:
        head += [name, "CPU", "MB", "ratio", "of CPU"]
    found = {(row.query, row.engine): row for row in rows}
    lines = []
    for query in dict.fromkeys(row.query for row in rows):
        own = found[query, NAMES[0]]
        line = [query, f"{own.rows:,}", *(_cell(v) for v in (own.plan_ms, own.ms, own.cpu_ms, own.peak_mb))]
        for name in others:
            row = found[query, name]
            line += [_cell(v) for v in (row.ms, row.cpu_ms, row.peak_mb)]
            line += ["–" if ratio is None else f"{ratio:.2f}" for ratio in (row.ratio, row.cpu_ratio)]
        lines.append(tuple(line))
    notes = ["milliseconds, the quickest of the rounds; MB: peak beyond the idle process; ratio: planscope's time to theirs"]
    notes += [summary(rows, name) for name in others]
    notes += [f"{row.query}, {row.engine}: {row.problem}" for row in rows if row.problem]
    notes += [MISSING.format(name) for name in NAMES[1:] if not installed(name)]
    return Section(f"Execution on {data}, {threads} threads", tuple(head), lines, 1, notes)


def summary(rows: Sequence[Row], engine: str) -> str:
    """Geometric means of the ratios, with the extremes, and the ratio of the sums."""
    some = [row for row in rows if row.engine == engine and row.ratio is not None and row.cpu_ratio is not None]
    if not some:
        return f"{engine}: no query ran"
    ratios = {row.query: row.ratio or 0.0 for row in some}
    least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    own = {row.query: row for row in rows if row.engine == NAMES[0]}
    total = sum(own[row.query].ms or 0.0 for row in some) / sum(row.ms or 0.0 for row in some)
    planned = geometric_mean([((own[row.query].ms or 0) + (own[row.query].plan_ms or 0)) / (row.ms or 1) for row in some])
    return (
        f"planscope to {engine}, {len(some)} queries: geometric mean {geometric_mean(list(ratios.values())):.2f}"
        f" ({ratios[least]:.2f} on {least} to {ratios[most]:.2f} on {most}; with planning {planned:.2f}),"
        f" of CPU time {geometric_mean([row.cpu_ratio or 0.0 for row in some]):.2f}; of the sums {total:.2f}"
    )


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers."""
    return math.exp(sum(map(math.log, values)) / len(values))


def write_results(rows: Sequence[Row], data: str, threads: int, folder: str) -> list[Path]:
    """`exec.json` with everything, `exec.parquet` with the rows; the files written. Raises OutputError."""
    target = make_folder(folder)
    records = [row._asdict() for row in rows]
    versions = {name: version(name) for name in NAMES if installed(name)}
    about = {**environment(versions.get("duckdb")), "engines": versions, "data": data, "threads": threads}
    json_file, table_file = target / "exec.json", target / "exec.parquet"
    summaries = [summary(rows, name) for name in NAMES[1:] if any(row.engine == name for row in rows)]
    text = json.dumps({"environment": about, "summary": summaries, "rows": records}, indent=1, allow_nan=False)
    write_file(json_file, text + "\n")
    with atomic_output(table_file) as file:
        pq.write_table(pa.Table.from_pylist(records), file)
    return [json_file, table_file]


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}" if value < 10 else f"{value:,.0f}"
