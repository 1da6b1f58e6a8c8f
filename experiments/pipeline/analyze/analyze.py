"""Analyzing a dataset: what is not sketched yet is sketched in Spark tasks, sketches are merged, keys verified, figures written.

Sketches are kept by what they were made from, so a second run reads no data, a changed or new file is the only one that is read
again, and a run that was interrupted goes on where it stopped. Figures of a table become current together, at the very end.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from experiments.pipeline.analyze.pieces import Piece, file_name, pieces, sketch_folder
from experiments.pipeline.analyze.sketch_files import read_sketches
from experiments.pipeline.analyze.sketch_task import sketch_piece, task_of
from experiments.pipeline.analyze.verify import Check, Sketches, checks, proved, run_check, tasks_of
from experiments.pipeline.manifest import write_manifest
from experiments.pipeline.sketches.column import ColumnSketch, merge_sketches, sketch_of
from experiments.pipeline.sketches.figures import column_stats, is_unique
from experiments.pipeline.sketches.hyperloglog import STANDARD_ERROR, HyperLogLog
from experiments.pipeline.tasks import run_tasks
from optimizer.catalog.fingerprint import file_identities
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.catalog.statistics import stored_statistics, write_statistics
from optimizer.catalog.table import Catalog, ColumnStats, Table
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str], None]
_ABANDONED = 3600.0  # seconds after which what a task was writing is no longer taken for work under way
Joint = tuple[tuple[str, ...], ...]
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
    with _writing(folder):
        sketch_folder(folder).mkdir(parents=True, exist_ok=True)
        known = {name: file_identities(table.files) for name, table in catalog.tables.items()}
        together = _joint(folder, catalog, chosen, joint)
        cut = {name: pieces(folder, table, known[name], sample) for name, table in chosen.items()}
        reports = {name: TableReport(name, table.stats.rows, len(cut[name])) for name, table in chosen.items()}
        _sketch([piece for each in cut.values() for piece in each], together, start, reports, say)
        merged = {name: _merged(table, cut[name]) for name, table in chosen.items()}
        if sample is None:
            _verify(folder, catalog, chosen, merged, known, start, reports, say)
        analyzed = [_figures(table, merged[name], cut[name], together[name], reports[name]) for name, table in chosen.items()]
        version = write_statistics(folder, analyzed, known)
        _remove_old_sketches(folder, known)
        report = AnalyzeReport(folder, list(reports.values()), time.perf_counter() - began)
        inputs = {"tables": {name: known[name] for name in chosen}}
        settings = {"sample": sample, "joint": {name: [list(names) for names in sets] for name, sets in together.items()}}
        counts = {"rows": sum(t.stats.rows for t in chosen.values()), "read": report.read, "seconds": round(report.seconds, 3)}
        files = [version.parent.with_suffix(".json"), *sorted(version.iterdir())]
        write_manifest(folder, "analyze", inputs=inputs, settings=settings, counts=counts, files=files)
    return report


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write {error.filename or folder / METADATA_FOLDER}: {error.strerror or error}\n"
            "what was read stays: once the folder can be written and has space, planscope data analyze goes on from there"
        ) from error


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


def _joint(
    folder: Path, catalog: Catalog, tables: Mapping[str, Table], asked: Iterable[tuple[str, tuple[str, ...]]]
) -> dict[str, Joint]:
    """By table, the combinations of columns to be counted: the first columns of declared keys and foreign keys, what is asked
    for, and what was asked for before. Names as stored, in table order; a key's own columns are known to have no equal."""
    wanted: dict[str, list[Sequence[str]]] = {name: [] for name in tables}
    for name, columns in asked:
        table = catalog.table(name)
        if table is None:
            raise CatalogError(f'there is no table "{name}" in {catalog.name}; tables: {", ".join(catalog.tables)}')
        for column in columns:
            if table.column(column) is None:
                known = ", ".join(c.name for c in table.columns)
                raise CatalogError(f'table {table.name} has no column "{column}"; it has {known}')
        if table.name in wanted:
            wanted[table.name].append([column.name for name in columns if (column := table.column(name)) is not None])
    before = stored_statistics(folder)
    found: dict[str, Joint] = {}
    for name, table in tables.items():
        declared = [*table.keys, *(key.columns for key in table.foreign_keys)]
        remembered = [] if before is None else [names for names in before.distinct(name) if all(map(table.column, names))]
        sets = [*wanted[name], *remembered, *(key[:size] for key in declared for size in range(2, len(key) + 1))]
        places = {column.name: i for i, column in enumerate(table.columns)}
        ordered = {tuple(sorted(set(names), key=places.__getitem__)) for names in sets}
        keys = {frozenset(key) for key in table.keys}
        found[name] = tuple(sorted(names for names in ordered if len(names) > 1 and frozenset(names) not in keys))
    return found


def _sketch(
    every: Sequence[Piece], joint: Mapping[str, Joint], start: Start, reports: Mapping[str, TableReport], say: Progress
) -> None:
    """Make the sketches that are missing."""
    tasks = [(piece, task) for piece in every if (task := task_of(piece, joint[piece.table.name])) is not None]
    if not tasks:
        return
    tasks.sort(key=lambda each: -each[0].file.stat().st_size)
    spark = start()
    done = 0
    say(f"analyzing: {len(tasks)} of {len(every)} parts of files to read")
    last = time.monotonic()

    def on_done(position: int, result: dict[str, Any]) -> None:
        nonlocal done, last
        done += 1
        report = reports[tasks[position][0].table.name]
        report.read += 1
        report.seconds += result["seconds"]
        if time.monotonic() - last > 2.0:
            last = time.monotonic()
            say(f"analyzing: {done} of {len(tasks)} parts read")

    run_tasks(spark, sketch_piece, [task for _, task in tasks], on_done)


def _merged(table: Table, cut: Sequence[Piece]) -> dict[str, ColumnSketch]:
    """By column, of all pieces; a table without pieces has had no rows to look at."""
    parts: dict[str, list[ColumnSketch]] = {column.name: [] for column in table.columns}
    for piece in cut:
        for name, sketch in read_sketches(piece.sketch)[0].items():
            parts[name].append(sketch)
    types = {column.name: column.type for column in table.columns}
    return {name: merge_sketches(found or [sketch_of(pa.array([], types[name]))]) for name, found in parts.items()}


def _verify(
    folder: Path,
    catalog: Catalog,
    chosen: Mapping[str, Table],
    sketches: Sketches,
    known: Mapping[str, Mapping[str, str]],
    start: Start,
    reports: Mapping[str, TableReport],
    say: Progress,
) -> None:
    """Every declared key and foreign key of and to the tables. What was verified by reading is remembered beside the sketches."""
    every = checks(catalog, chosen)
    seals = [_seal(folder, check, known) for check in every]
    left = [(c, seal) for c, seal in zip(every, seals, strict=True) if not seal.exists() and not proved(c, sketches)]
    tasks = [(i, task) for i, (check, _) in enumerate(left) for task in tasks_of(check, catalog)]
    against: dict[int, list[dict[str, Any]]] = {i: [] for i in range(len(left))}
    if tasks:
        say(f"verifying {len(left)} of {len(every)} keys and foreign keys by reading their columns")
        results = run_tasks(start(), run_check, [task for _, task in tasks])
        for (i, _), result in zip(tasks, results, strict=True):
            if result["against"] is not None:
                against[i].append(result)
    for i, (_, seal) in enumerate(left):
        if not against[i]:
            seal.touch()
    complaints = [_complaint(check, against[i]) for i, (check, _) in enumerate(left) if against[i]]
    if complaints:
        raise CatalogError("\n".join(complaints) + "\nrules rely on what is declared: correct schema.sql, or the data")
    for check in every:
        report = reports.get(check["table"])
        if report is not None and check["kind"] == "key":
            report.keys += 1
        elif report is not None:
            report.foreign_keys += 1
    if len(chosen) == len(catalog.tables):
        for path in sketch_folder(folder).glob("*.verified"):
            if path not in seals:
                path.unlink(missing_ok=True)


def _seal(folder: Path, check: Check, known: Mapping[str, Mapping[str, str]]) -> Path:
    """An empty file that says that this was verified on these files."""
    files = [known[check[side]] for side in ("table", "target") if side in check]
    digest = hashlib.sha256(json.dumps([check, files], sort_keys=True).encode()).hexdigest()[:24]
    return sketch_folder(folder) / f"{digest}.verified"


def _complaint(check: Check, against: Sequence[Mapping[str, Any]]) -> str:
    columns, example = ", ".join(check["columns"]), ", ".join(against[0]["against"])
    rows = sum(result["rows"] for result in against)
    if check["kind"] == "key":
        return f"{check['table']} ({columns}) is declared as a key, but {rows:,} values occur more than once, as ({example}) does"
    target = f"{check['target']} ({', '.join(check['referenced'])})"
    return f"{check['table']} ({columns}) is declared to reference {target}, but {rows:,} rows refer to none, as ({example}) does"


def _figures(
    table: Table, sketches: Mapping[str, ColumnSketch], cut: Sequence[Piece], joint: Joint, report: TableReport
) -> Table:
    """`table` with the figures of its sketches."""
    seen = max((sketch.rows for sketch in sketches.values()), default=0)
    scale = table.stats.rows / seen if seen else 1.0
    sampled = seen < table.stats.rows
    stats: dict[str, ColumnStats] = {}
    for name, sketch in sketches.items():
        stats[name] = column_stats(sketch, scale if sampled else 1.0)
        if sampled:
            stats[name] = _with_footer(stats[name], table.stats.columns[name])
        elif (name,) in table.keys and seen:
            stats[name] = replace(stats[name], ndv=float(seen), degrees=((seen, 1),))
        elif seen and not sketch.nulls:
            _report_unique(report, name, sketch)
    together = {names: HyperLogLog() for names in joint}
    for names, registers in together.items():
        for piece in cut:
            registers.merge(read_sketches(piece.joint_sketch(names))[1][names])
    distinct = {
        names: min(found.estimate() * (scale if sampled else 1.0), float(table.stats.rows)) for names, found in together.items()
    }
    how = f"a sample of {seen:,} of {table.stats.rows:,} rows" if sampled else f"all {seen:,} rows"
    analyzed = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {how}"
    return replace(table, stats=replace(table.stats, columns=stats, distinct=distinct, analyzed=analyzed))


def _with_footer(sampled: ColumnStats, footer: ColumnStats) -> ColumnStats:
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


def _remove_old_sketches(folder: Path, known: Mapping[str, Mapping[str, str]]) -> None:
    """Sketches of files that are gone or have changed, and what killed tasks have left."""
    files = {file_name(Path(name), identity) for identities in known.values() for name, identity in identities.items()}
    long_ago = time.time() - _ABANDONED
    for path in sketch_folder(folder).iterdir():
        of_file, dash, _ = path.name.partition("-")
        if (dash and path.suffix == ".parquet" and of_file not in files) or (
            path.suffix == ".part" and path.stat().st_mtime < long_ago
        ):
            path.unlink(missing_ok=True)
