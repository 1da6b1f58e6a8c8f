"""Analyzing a dataset: what is not sketched yet is sketched in Spark tasks, sketches are merged, keys verified, figures written.

Sketches are kept by what they were made from, so a second run reads no data, a changed or new file is the only one that is read
again, and a run that was interrupted goes on where it stopped. Figures of a table become current together, at the very end.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.analyze.pieces import Joint, Piece, pieces
from experiments.pipeline.analyze.sketch_files import read_sketches
from experiments.pipeline.analyze.sketch_task import sketch_piece, task_of
from experiments.pipeline.analyze.verify import check_foreign_key, check_key, foreign_key_tasks, key_tasks
from experiments.pipeline.manifest import write_manifest
from experiments.pipeline.sketches.column import ColumnSketch, merge_sketches
from experiments.pipeline.sketches.figures import column_stats, is_unique
from experiments.pipeline.sketches.hyperloglog import STANDARD_ERROR, HyperLogLog
from experiments.pipeline.tasks import run_tasks
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.catalog.statistics import identities, write_statistics
from optimizer.catalog.table import Catalog, ColumnStats, Table
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str], None]
Start = Callable[[], "SparkSession"]


@dataclass(slots=True)
class TableReport:
    """`read` of `pieces` (parts of files) were read now, in `seconds` of the tasks' time together; the others were known.
    `unique`: undeclared columns whose values were all counted or proved to differ; `probably_unique`: likely so."""

    name: str
    rows: int
    pieces: int = 0
    read: int = 0
    seconds: float = 0.0
    keys: int = 0
    foreign_keys: int = 0
    unique: list[str] = field(default_factory=list)
    probably_unique: list[str] = field(default_factory=list)


@dataclass(slots=True)
class AnalyzeReport:
    folder: Path
    tables: list[TableReport]
    seconds: float = 0.0

    @property
    def read(self) -> int:
        return sum(table.read for table in self.tables)


def analyze_dataset(
    folder: Path,
    start: Start,
    *,
    tables: Sequence[str] = (),
    joint: Iterable[tuple[str, tuple[str, ...]]] = (),
    sample: float | None = None,
    progress: Progress | None = None,
) -> AnalyzeReport:
    """Statistics of the named tables (default: all) of a dataset folder, written into it.

    `start` gives the Spark session, if one is needed. `joint`: (table, columns) whose combinations are to be counted, besides
    those of declared keys and foreign keys of several columns. `sample`: share of each table to read, 0 to 1; keys are not
    verified then. Raises CatalogError for a table that cannot be read, and for a declared key or foreign key that the data
    contradicts (then nothing is written); PipelineError.
    """
    began = time.perf_counter()
    say = progress or _silent
    catalog = open_dataset(folder)
    chosen = {table.name: table for table in _chosen(catalog, tables)}
    together = {name: _joint(catalog, table, joint) for name, table in chosen.items()}
    cut = {name: list(pieces(folder, table, together[name], sample)) for name, table in chosen.items()}
    reports = {name: TableReport(name, table.stats.rows, len(cut[name])) for name, table in chosen.items()}
    _sketch(folder, [piece for each in cut.values() for piece in each], together, start, reports, say)
    if sample is None:
        _verify(folder, catalog, chosen, cut, start, reports, say)
    analyzed = [_figures(table, cut[name], together[name], sample, reports[name]) for name, table in chosen.items()]
    write_statistics(folder, analyzed)
    _remove_old_sketches(folder, catalog, cut)
    report = AnalyzeReport(folder, list(reports.values()), time.perf_counter() - began)
    inputs = {"tables": {name: [file.name for file in table.files] for name, table in chosen.items()}}
    settings = {"sample": sample, "joint": {name: [list(names) for names in sets] for name, sets in together.items()}}
    counts = {"rows": sum(t.stats.rows for t in chosen.values()), "read": report.read, "seconds": round(report.seconds, 3)}
    files = [folder / METADATA_FOLDER / "statistics.json"]
    write_manifest(folder, "analyze", inputs=inputs, settings=settings, counts=counts, files=files)
    return report


def _silent(line: str) -> None:
    """Progress that nobody wants."""


def _chosen(catalog: Catalog, names: Sequence[str]) -> list[Table]:
    found = []
    for name in names or list(catalog.tables):
        table = catalog.table(name)
        if table is None:
            raise CatalogError(f'there is no table "{name}" in {catalog.name}; tables: {", ".join(catalog.tables)}')
        found.append(table)
    return found


def _joint(catalog: Catalog, table: Table, asked: Iterable[tuple[str, tuple[str, ...]]]) -> Joint:
    """Combinations of columns to be counted: of declared keys (all columns but the last, where these are several), of foreign
    keys, and those asked for. Names as stored, in table order."""
    wanted = [key.columns for key in table.foreign_keys] + [key[:-1] for key in table.keys]
    for name, columns in asked:
        owner = catalog.table(name)
        if owner is None:
            raise CatalogError(f'there is no table "{name}" in {catalog.name}; tables: {", ".join(catalog.tables)}')
        if owner is table:
            for column in columns:
                if table.column(column) is None:
                    known = ", ".join(c.name for c in table.columns)
                    raise CatalogError(f'table {table.name} has no column "{column}"; it has {known}')
            wanted.append(columns)
    places = {column.name: i for i, column in enumerate(table.columns)}
    sets = {tuple(sorted({table.column(name).name for name in names}, key=places.__getitem__)) for names in wanted}  # type: ignore[union-attr]
    keys = {frozenset(key) for key in table.keys}
    return tuple(sorted(names for names in sets if len(names) > 1 and frozenset(names) not in keys))


def _sketch(
    folder: Path,
    every: Sequence[Piece],
    joint: Mapping[str, Joint],
    start: Start,
    reports: Mapping[str, TableReport],
    say: Progress,
) -> None:
    missing = [piece for piece in every if not piece.sketch.exists()]
    if not missing:
        return
    spark = start()
    done = 0
    say(f"analyzing: {len(missing)} of {len(every)} parts of files to read")
    last = time.monotonic()

    def on_done(position: int, result: dict[str, Any]) -> None:
        nonlocal done, last
        done += 1
        report = reports[missing[position].table.name]
        report.read += 1
        report.seconds += result["seconds"]
        if time.monotonic() - last > 2.0:
            last = time.monotonic()
            say(f"analyzing: {done} of {len(missing)} parts read")

    missing.sort(key=lambda piece: -piece.file.stat().st_size)
    run_tasks(spark, sketch_piece, [task_of(folder, piece, joint[piece.table.name]) for piece in missing], on_done)


def _verify(
    folder: Path,
    catalog: Catalog,
    chosen: Mapping[str, Table],
    cut: Mapping[str, Sequence[Piece]],
    start: Start,
    reports: Mapping[str, TableReport],
    say: Progress,
) -> None:
    """Every declared key and foreign key of and to the tables. Verified ones are remembered with the sketches they belong to."""
    root = str(folder.absolute())
    checks: list[tuple[Callable[[Any], dict[str, Any]], dict[str, Any]]] = []
    checks += [(check_key, task) for task in key_tasks(root, catalog, chosen)]
    checks += [(check_foreign_key, task) for task in foreign_key_tasks(root, catalog, chosen)]
    seals = [_seal(folder, catalog, function.__name__, task) for function, task in checks]
    open_checks = [check for check, seal in zip(checks, seals, strict=True) if not seal.exists()]
    if open_checks:
        say(f"verifying {len(open_checks)} keys and foreign keys")
        spark = start()
        for function in (check_key, check_foreign_key):
            tasks = [task for each, task in open_checks if each is function]
            for task, result in zip(tasks, run_tasks(spark, function, tasks) if tasks else [], strict=True):
                _complain(function, task, result)
    for (function, task), seal in zip(checks, seals, strict=True):
        seal.parent.mkdir(parents=True, exist_ok=True)
        seal.touch()
        if task["share"] == 0 and task["table"] in reports:
            if function is check_key:
                reports[task["table"]].keys += 1
            else:
                reports[task["table"]].foreign_keys += 1


def _seal(folder: Path, catalog: Catalog, kind: str, task: Mapping[str, Any]) -> Path:
    """An empty file that says that this was verified on these files."""
    files = [identities(catalog.tables[name].files) for name in (task["table"], task.get("target")) if name]
    described = [kind, {name: value for name, value in task.items() if name != "folder"}, files]
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:24]
    return folder / METADATA_FOLDER / "sketches" / f"{digest}.verified"


def _complain(function: object, task: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    columns = ", ".join(task["columns"])
    if function is check_key and result["twice"] is not None:
        raise CatalogError(
            f"{task['table']} ({columns}) is declared as a key, but several rows have ({', '.join(result['twice'])})\n"
            "rules rely on keys: correct schema.sql, or the data"
        )
    if function is check_foreign_key and result["missing"] is not None:
        raise CatalogError(
            f"{task['table']} ({columns}) is declared to reference {task['target']} ({', '.join(task['referenced'])}), but "
            f"{result['rows']:,} rows refer to none of its rows, as ({', '.join(result['missing'])}) does\n"
            "rules rely on foreign keys: correct schema.sql, or the data"
        )


def _figures(table: Table, cut: Sequence[Piece], joint: Joint, sample: float | None, report: TableReport) -> Table:
    """`table` with the figures of its merged sketches."""
    parts: dict[str, list[ColumnSketch]] = {column.name: [] for column in table.columns}
    together = {names: HyperLogLog() for names in joint}
    for piece in cut:
        found, counted = read_sketches(piece.sketch)
        for name, sketch in found.items():
            parts[name].append(sketch)
        for names, registers in counted.items():
            together[names].merge(registers)
    columns = {name: merge_sketches(sketches) for name, sketches in parts.items()}
    seen = max((sketch.rows for sketch in columns.values()), default=0)
    scale = table.stats.rows / seen if sample is not None and seen else 1.0
    stats: dict[str, ColumnStats] = {}
    for name, sketch in columns.items():
        stats[name] = column_stats(sketch, scale)
        if scale > 1.0:
            stats[name] = _exact_from_footers(stats[name], table.stats.columns[name])
        elif sample is None and (name,) not in table.keys and seen and not sketch.nulls and stats[name].ndv:
            _report_unique(report, name, sketch)
    keys = {key[0] for key in table.keys if len(key) == 1}
    for name in keys & set(stats):
        stats[name] = replace(
            stats[name], ndv=float(table.stats.rows), degrees=((table.stats.rows, 1),) if table.stats.rows else ()
        )
    distinct = {names: min(sketch.estimate() * scale, float(table.stats.rows)) for names, sketch in together.items()}
    how = f"a sample of {seen:,} of {table.stats.rows:,} rows" if scale > 1.0 else f"all {seen:,} rows"
    analyzed = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {how}"
    return replace(table, stats=replace(table.stats, columns=stats, distinct=distinct, analyzed=analyzed))


def _exact_from_footers(sampled: ColumnStats, footer: ColumnStats) -> ColumnStats:
    """Footers know NULLs and bounds of all rows."""
    known = footer.min is not None and footer.max is not None
    return replace(
        sampled,
        nulls=sampled.nulls if footer.nulls is None else footer.nulls,
        min=footer.min if known else sampled.min,
        max=footer.max if known else sampled.max,
    )


def _report_unique(report: TableReport, name: str, sketch: ColumnSketch) -> None:
    unique = is_unique(sketch)
    if unique:
        report.unique.append(name)
    elif unique is None and abs(sketch.distinct.estimate() / sketch.rows - 1.0) < 3 * STANDARD_ERROR:
        report.probably_unique.append(name)


def _remove_old_sketches(folder: Path, catalog: Catalog, cut: Mapping[str, Sequence[Piece]]) -> None:
    """Sketches that no piece of now has, when all tables were analyzed."""
    if set(cut) != set(catalog.tables):
        return
    wanted = {piece.sketch for each in cut.values() for piece in each}
    for path in (folder / METADATA_FOLDER / "sketches").glob("*.parquet"):
        if path not in wanted:
            path.unlink(missing_ok=True)
