"""Analyzing a dataset: what is not sketched yet is sketched and merged by Spark, keys are verified, figures written.

Sketches are kept by what they were made from, so a second run reads no data, a changed or new file is the only one that is read
again, and a run that was interrupted goes on where it stopped. Figures of a table become current together, at the very end.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from executor.atomic import make_folder
from experiments.lock import hold
from experiments.pipeline.analyze.keys import declared, verify
from experiments.pipeline.analyze.pieces import Columns, check_unchanged, file_name, pieces, sketch_folder, state_of
from experiments.pipeline.analyze.scan import scan
from experiments.pipeline.analyze.table_figures import unique_columns, with_figures
from experiments.pipeline.sketches.column import ColumnSketch, sketch_of
from experiments.pipeline.sketches.hyperloglog import HyperLogLog
from experiments.pipeline.sketches.stored import VERSION
from experiments.pipeline.spark.manifest import finished, write_manifest
from experiments.pipeline.spark.session import Say, Start, unheard
from optimizer.algebra.types import is_opaque
from optimizer.catalog.findings import findings_file
from optimizer.catalog.fingerprint import file_identities
from optimizer.catalog.folder import METADATA_FOLDER, find_tables
from optimizer.catalog.statistics import stored_statistics, write_statistics
from optimizer.catalog.table import Catalog, Table
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError, OutputError

_ABANDONED = 3600.0  # seconds after which what a task was writing is no longer taken for work under way
STAGE = "analyze"
_LOCK = ".analyze.lock"


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
    joint: Iterable[tuple[str, Columns]] = (),
    sample: float | None = None,
    say: Say = unheard,
) -> AnalyzeReport:
    """Statistics of the named tables (default: all) of a dataset folder, written into it.

    `start` gives the Spark session, if one is needed. `joint`: (table, columns) whose combinations are to be counted, besides
    those of declared keys and foreign keys of several columns. `sample`: share of each table to read, 0 to 1; keys are not
    verified then. Raises CatalogError for a table that cannot be read, and for a declared key or foreign key that the data
    contradicts (then that is all that is written), or that changed meanwhile; PipelineError, also when another process is at it.
    """
    began, folder = time.perf_counter(), folder.absolute()
    sample = None if sample is not None and sample >= 1.0 else sample
    states = {file: state_of(file) for table in find_tables(folder) for file in table.files}  # before anything is read
    catalog = open_dataset(folder, as_declared=True)
    chosen = {table.name: table for table in _chosen(catalog, tables)}
    with _writing(folder), hold(make_folder(folder / METADATA_FOLDER) / _LOCK, f"the analysis of {folder}"):
        sketch_folder(folder).mkdir(exist_ok=True)
        known = {name: file_identities(table.files) for name, table in catalog.tables.items()}
        for file in (file for table in catalog.tables.values() for file in table.files):
            check_unchanged(file, states.get(file))
        together = _joint(folder, catalog, chosen, joint)
        inputs = {"tables": known, "declared": declared(catalog, chosen)}
        settings = {"tables": list(chosen), "sample": sample, "joint": together, "sketches": VERSION}
        if (done := finished(folder, STAGE, inputs, settings)) is not None:
            tables_then = [TableReport(**{**table, "read": 0, "seconds": 0.0}) for table in done["counts"]["tables"]]
            return AnalyzeReport(folder, tables_then, time.perf_counter() - began)
        cut = {name: pieces(folder, table, known[name], states, sample) for name, table in chosen.items()}
        reports = {name: TableReport(name, table.stats.rows, len(cut[name])) for name, table in chosen.items()}
        scanned = scan([piece for each in cut.values() for piece in each], together, start, say)
        merged = {name: _whole(table, scanned.columns.get(name, {})) for name, table in chosen.items()}
        for name, each in reports.items():
            each.read, each.seconds = scanned.read.get(name, 0), scanned.seconds.get(name, 0.0)
        if sample is None:
            for one in verify(folder, catalog, chosen, merged, known, states, start, say):
                if one.table in reports:
                    reports[one.table].keys += not one.target
                    reports[one.table].foreign_keys += bool(one.target)
        joined = {name: {n: HyperLogLog() for n in together[name]} | scanned.joint.get(name, {}) for name in chosen}
        analyzed = [with_figures(table, merged[name], joined[name], cut[name]) for name, table in chosen.items()]
        for file in (file for table in chosen.values() for file in table.files):
            check_unchanged(file, states[file])
        version = write_statistics(folder, analyzed, known)
        _remove_old_sketches(folder, known)
        for name, table in chosen.items():
            reports[name].unique, reports[name].probably_unique = unique_columns(table, merged[name])
        report = AnalyzeReport(folder, list(reports.values()), time.perf_counter() - began)
        counts = {"rows": sum(t.stats.rows for t in chosen.values()), "read": report.read, "seconds": round(report.seconds, 3)}
        told = {**counts, "tables": list(map(asdict, report.tables))}
        files = [version.parent.with_suffix(".json"), *sorted(version.iterdir())]
        files += [findings_file(folder)] if sample is None else []
        within = [file.relative_to(folder) for file in files]
        write_manifest(folder, STAGE, inputs=inputs, settings=settings, counts=told, files=within)
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


def _chosen(catalog: Catalog, names: Sequence[str]) -> list[Table]:
    """The tables without their opaque columns, of which there is nothing to measure."""
    tables = [_table(catalog, name) for name in names or catalog.tables]
    return [replace(table, columns=tuple(c for c in table.columns if not is_opaque(c.type))) for table in tables]


def _table(catalog: Catalog, name: str) -> Table:
    table = catalog.table(name)
    if table is None:
        raise CatalogError(f'there is no table "{name}" in {catalog.name}; tables: {", ".join(catalog.tables)}')
    return table


def _joint(
    folder: Path, catalog: Catalog, tables: Mapping[str, Table], asked: Iterable[tuple[str, Columns]]
) -> dict[str, tuple[Columns, ...]]:
    """By table, the combinations of columns to be counted, for estimates of groupings and joins on several columns: the first
    columns of declared keys and foreign keys, what is asked for, and what was asked for before.

    Names as stored, in table order; a key's own columns are known to have no equal."""
    wanted: dict[str, list[Sequence[str]]] = {name: [] for name in tables}
    for name, columns in asked:
        table = _table(catalog, name)
        for column in columns:
            if table.column(column) is None:
                others = ", ".join(c.name for c in table.columns)
                raise CatalogError(f'table {table.name} has no column "{column}"; it has {others}')
        if table.name in wanted:
            wanted[table.name].append([known.name for each in columns if (known := table.column(each)) is not None])
    before = stored_statistics(folder)
    found = {}
    for name, table in tables.items():
        declared = [*table.keys, *(key.columns for key in table.foreign_keys)]
        remembered = [] if before is None else [names for names in before.distinct(name) if all(map(table.column, names))]
        sets = [*wanted[name], *remembered, *(key[:size] for key in declared for size in range(2, len(key) + 1))]
        places = {column.name: i for i, column in enumerate(table.columns)}
        ordered = {tuple(sorted(set(names), key=places.__getitem__)) for names in sets}
        keys = {frozenset(key) for key in table.keys}
        found[name] = tuple(sorted(names for names in ordered if len(names) > 1 and frozenset(names) not in keys))
    return found


def _whole(table: Table, found: Mapping[str, ColumnSketch]) -> dict[str, ColumnSketch]:
    """A sketch for each column, in their order: a table without pieces has had no rows to look at."""
    return {column.name: found.get(column.name) or sketch_of(pa.array([], column.type)) for column in table.columns}


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
