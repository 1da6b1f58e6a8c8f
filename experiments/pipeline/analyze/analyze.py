"""Analyzing a dataset: what is not sketched yet is sketched and merged by Spark, keys are verified, figures written.

Sketches are kept by what they were made from, so a second run reads no data, a changed or new file is the only one that is read
again, and a run that was interrupted goes on where it stopped. Figures of a table become current together, at the very end.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path

from executor.atomic import make_folder
from experiments.lock import hold
from experiments.pipeline.analyze.keys import declared, verify
from experiments.pipeline.analyze.pieces import Columns, check_unchanged, empty, pieces, remove_old_sketches, state_of, writing
from experiments.pipeline.analyze.scan import scan
from experiments.pipeline.analyze.table_figures import unique_columns, with_figures
from experiments.pipeline.sketches.stored import VERSION
from experiments.pipeline.spark.manifest import finished, write_manifest
from experiments.pipeline.spark.session import Say, Start, unheard
from optimizer.algebra.types import is_opaque, type_name
from optimizer.catalog.findings import findings_file
from optimizer.catalog.fingerprint import file_identities
from optimizer.catalog.folder import METADATA_FOLDER, find_tables
from optimizer.catalog.statistics import stored_statistics, write_statistics
from optimizer.catalog.table import Catalog, Table
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError

STAGE = "analyze"
_LOCK = ".analyze.lock"


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class AnalyzeReport:
    """`seconds`: of this call."""

    tables: list[TableReport]
    seconds: float

    @property
    def read(self) -> int:
        return sum(table.read for table in self.tables)


def analyze_dataset(
    folder: Path, start: Start, *, tables: Sequence[str] = (), joint: Iterable[tuple[str, Columns]] = (),
    sample: float | None = None, say: Say = unheard,
) -> AnalyzeReport:  # fmt: skip
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
    chosen = {}
    for table in (_table(catalog, name) for name in tables or catalog.tables):  # of opaque columns there is nothing to measure
        chosen[table.name] = replace(table, columns=tuple(c for c in table.columns if not is_opaque(c.type)))
    for name, reason in catalog.unread.items():
        say(f'table "{name}" cannot be read: {reason}')
    with hold(make_folder(folder / METADATA_FOLDER) / _LOCK, f"the analysis of {folder}"), writing(folder / METADATA_FOLDER):
        known = {name: file_identities(table.files) for name, table in catalog.tables.items()}
        check_unchanged({file: states.get(file) for table in catalog.tables.values() for file in table.files})
        together = _joint(folder, catalog, chosen, joint)
        inputs = {"tables": known, "declared": declared(catalog, chosen)}
        settings = {"tables": list(chosen), "sample": sample, "joint": together, "sketches": VERSION}
        if (done := finished(folder, STAGE, inputs, settings)) is not None:
            tables_then = [TableReport(**{**table, "read": 0, "seconds": 0.0}) for table in done["counts"]["tables"]]
            return AnalyzeReport(tables_then, time.perf_counter() - began)
        cut = {name: pieces(folder, table, known[name], states, sample, together[name]) for name, table in chosen.items()}
        scanned = scan(list(chain(*cut.values())), start, say)
        sketches = {}
        for name, table in chosen.items():  # one without pieces has had no rows to look at
            wanted, found = [*((column.name,) for column in table.columns), *together[name]], scanned.sketches.get(name, {})
            sketches[name] = {columns: found.get(columns) or empty(table, columns) for columns in wanted}
        held = [] if sample is not None else verify(folder, catalog, chosen, sketches, known, states, start, say)
        analyzed = [with_figures(table, sketches[name], cut[name]) for name, table in chosen.items()]
        check_unchanged({file: states[file] for table in chosen.values() for file in table.files})
        version = write_statistics(folder, analyzed, known)
        if not catalog.unread:  # whose sketches are known by files that cannot be looked at now
            remove_old_sketches(folder, known)
        reports = []
        for name, table in chosen.items():
            read, foreign = scanned.seconds.get(name, []), [bool(one.target) for one in held if one.table == name]
            keys, unique = (foreign.count(False), foreign.count(True)), unique_columns(table, sketches[name])
            reports.append(TableReport(name, table.stats.rows, len(cut[name]), len(read), sum(read, 0.0), *keys, *unique))
        report = AnalyzeReport(reports, time.perf_counter() - began)
        counts = {"seconds": round(sum(table.seconds for table in reports), 3), "tables": list(map(asdict, reports))}
        files = [version.parent.with_suffix(".json"), *sorted(version.iterdir())]
        files += [findings_file(folder)] if sample is None else []
        write_manifest(folder, STAGE, inputs=inputs, settings=settings, counts=counts, files=files)
    return report


def _table(catalog: Catalog, name: str) -> Table:
    table = catalog.table(name)
    if table is None:
        raise CatalogError(f'there is no table "{name}" in {catalog.name}; tables: {", ".join(catalog.tables)}')
    return table


def _joint(
    folder: Path, catalog: Catalog, tables: Mapping[str, Table], asked: Iterable[tuple[str, Columns]]
) -> dict[str, tuple[Columns, ...]]:
    """By table, the combinations of columns to be counted, for estimates of groupings and joins on several columns: the first
    columns of declared keys and foreign keys, what is asked for, and what was asked for before. Names as stored, in table
    order; a key's own columns are known to have no equal."""
    wanted: dict[str, list[Sequence[str]]] = {name: [] for name in tables}
    for name, columns in asked:
        table = _table(catalog, name)
        for column in columns:
            found = table.column(column)
            if found is None:
                others = ", ".join(c.name for c in table.columns)
                raise CatalogError(f'table {table.name} has no column "{column}"; it has {others}')
            if is_opaque(found.type):
                raise CatalogError(
                    f'column "{found.name}" of {table.name} is of type {type_name(found.type)}, whose values are not counted'
                )
        if table.name not in wanted:
            listed = ", ".join(tables)
            raise CatalogError(f"columns of {table.name} are to be counted together, but only {listed} is to be analyzed")
        wanted[table.name].append([known.name for each in columns if (known := table.column(each)) is not None])
    before = stored_statistics(folder)
    by_table = {}
    for name, table in tables.items():
        declared = [*table.keys, *(key.columns for key in table.foreign_keys)]
        remembered = [] if before is None else [names for names in before.distinct(name) if all(map(table.column, names))]
        sets = [*wanted[name], *remembered, *(key[:size] for key in declared for size in range(2, len(key) + 1))]
        places = {column.name: i for i, column in enumerate(table.columns)}
        ordered = {tuple(sorted(set(names), key=places.__getitem__)) for names in sets}
        keys = {frozenset(key) for key in table.keys}
        by_table[name] = tuple(sorted(names for names in ordered if len(names) > 1 and frozenset(names) not in keys))
    return by_table
