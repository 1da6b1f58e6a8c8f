"""An import from start to end: everything in a folder of its own until all is done, and going on where an earlier run stopped.

    DIR/TABLE/part-00000.parquet               a part for each Spark partition, in the order of the files and their rows
    DIR/schema.sql                             types, and the keys that the rows fulfil
    DIR/_planscope/rejected/TABLE/*.parquet    rejected rows: reason, column, value, record, file, row
    DIR/_planscope/manifests/import.json       inputs, settings, counts, versions, checksums
A table that an interrupted run has read is not read again by the next one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.atomic import make_folder, write_file
from experiments.pipeline.intake.checked import TableWriter, inferred, without_damaged
from experiments.pipeline.intake.constraints import check_constraints, declared_tables
from experiments.pipeline.intake.csv_files import CsvFiles
from experiments.pipeline.intake.finish import finish, row_numbers
from experiments.pipeline.intake.frames import Opened, batches, numbered
from experiments.pipeline.intake.json_files import JsonFiles
from experiments.pipeline.intake.keys import RawTable, parts_with_places
from experiments.pipeline.intake.prepare import is_needed, prepare
from experiments.pipeline.intake.request import ImportRequest, Plan, planned, read_inputs
from experiments.pipeline.intake.resolve import Resolved, resolve, undeclared
from experiments.pipeline.intake.sources import TableSource
from experiments.pipeline.intake.spark_source import SparkTable, add_jars, listed, open_table, unreadable
from experiments.pipeline.intake.state import State
from experiments.pipeline.intake.summary import shown_rejects
from experiments.pipeline.intake.target import Declared, schema_sql
from experiments.pipeline.intake.typed_files import open_typed
from experiments.pipeline.intake.values import literal, partition_types
from experiments.pipeline.spark.deliver import delivered
from experiments.pipeline.spark.errors import PipelineError, translated
from experiments.pipeline.spark.manifest import is_done, read_manifest, write_manifest
from experiments.pipeline.spark.publish import Request, staged
from experiments.pipeline.spark.tasks import run_tasks
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.errors import InternalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

STAGE = "import"
Progress = Callable[[str], None]
TEXTS = ("csv", "json")
_CONF = {
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}


def import_dataset(
    request: ImportRequest, session: Callable[[], SparkSession], progress: Progress, resume: str = ""
) -> tuple[dict[str, Any], bool]:
    """The manifest of the imported dataset, and whether it was there already. `session` starts Spark; `resume`: a command.

    Raises PipelineError, CatalogError, OutputError; then DIR holds no table, and what was done so far stays for the next time,
    unless rows were rejected and that was to fail.
    """
    plan = planned(request)
    if is_done(request.folder, STAGE, plan.inputs, plan.settings):
        return _manifest(request.folder), True
    what = "import of " + ", ".join(table.name for table in plan.tables[:5]) + (" and others" if len(plan.tables) > 5 else "")
    with staged(request.folder, Request(what, {"inputs": plan.inputs, "settings": plan.settings}, resume)) as inside:
        if inside is not None:
            spark = session()
            with translated("importing"), _configured(spark):
                _Import(request, plan, spark, inside, progress).run()
    return _manifest(request.folder), False


def import_at(
    request: ImportRequest, uri: str, session: Callable[[], SparkSession], progress: Progress
) -> tuple[dict[str, Any], bool]:
    """As `import_dataset`, to a URI that Spark writes to (`deliver`)."""
    plan = planned(request)

    def make(folder: Path) -> None:
        import_dataset(replace(request, folder=folder), session, progress)

    return delivered(uri, STAGE, plan.inputs, plan.settings, make, session, progress)


def _manifest(folder: Path) -> dict[str, Any]:
    found = read_manifest(folder, STAGE)
    if found is None:
        raise PipelineError(f"{folder} has no readable manifest of its import")
    return found


@contextmanager
def _configured(spark: SparkSession) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in _CONF}
    try:
        for name, value in _CONF.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


class _Import:
    """One import into the unfinished dataset folder `inside`; raw parts lie in its metadata until the end."""

    def __init__(self, request: ImportRequest, plan: Plan, spark: SparkSession, inside: Path, progress: Progress) -> None:
        self.request, self.plan, self.spark, self.inside, self.progress = request, plan, spark, inside, progress
        self.raw = inside / METADATA_FOLDER / "raw"
        self.state = State(self.raw)
        self.damaged: dict[str, str] = self.state.get("damaged") or {}  # files that were put aside, with the reason

    def run(self) -> None:
        if not is_done(self.inside, STAGE, self.plan.inputs, self.plan.settings):
            self._make()
        gone = self.raw.with_name(".raw.done")  # in one step, since half of the state would mislead the next run
        shutil.rmtree(gone, ignore_errors=True)
        if self.raw.exists():
            self.raw.rename(gone)
            shutil.rmtree(gone)

    def _make(self) -> None:
        add_jars(self.spark, self.request.jars)
        resolved: dict[str, Resolved] = {}
        writers: dict[str, TableWriter] = {}
        declarations = {table.name: self.plan.declared.get(table.name.lower()) for table in self.plan.tables}
        opened = dict(zip(declarations, self._open(), strict=True))
        texts = {name: undeclared(name, files, declarations[name], self.request.merge) for name, files in opened.items()}
        types = inferred({name: (opened[name], texts[name]) for name in texts})
        for number, (name, files) in enumerate(opened.items()):
            resolved[name] = resolve(name, files, declarations[name], self.request.merge, types[name])
            writers[name] = TableWriter(self.spark, name, files, resolved[name].targets, self.raw / str(number))
        results: dict[str, dict[str, Any]] = {}
        for number, table in enumerate(self.plan.tables):
            results[table.name] = self.state.once(f"table-{number}", partial(self._write, table, writers))
            writers[table.name].splits = results[table.name]["splits"]
        if self.plan.inputs != read_inputs(self.plan):
            raise PipelineError("files changed while they were imported; import them again into a new folder")
        self._refuse_rejects({name: one["rejected"] for name, one in results.items()})
        declared = declared_tables({name: one.targets for name, one in resolved.items()}, self.plan.declared)
        checks = self.state.once("checks", lambda: self._checks(declared, writers, results))
        made = {name: self._finish(writers[name], found, checks[name]["removed"]) for name, found in results.items()}
        self._refuse_rejects({name: one["rejected"] for name, one in made.items()})
        declared = {name: _without_dangling(one, checks[name]["dangling"]) for name, one in declared.items()}
        write_file(self.inside / "schema.sql", schema_sql(list(declared.values())))
        tables = {
            name: {**found, "dropped": resolved[name].dropped, "left_out": list(declared[name].left_out)}
            for name, found in made.items()
        }
        counts = {"tables": tables, "skipped": [str(path) for path in self.plan.skipped], "damaged": self.damaged}
        parts = [path for name in made for path in sorted((self.inside / name).glob("*.parquet"))]
        write_manifest(self.inside, STAGE, inputs=self.plan.inputs, settings=self.plan.settings, counts=counts, files=parts)

    # what the sources hold

    def _open(self) -> list[list[Opened]]:
        """The files of each table; damaged ones are put aside.

        Raises PipelineError with --on-reject fail, and when no file of a table is left.
        """
        trouble: dict[str, str] = {}
        tables, files, formats = [], [], []
        for number, table in enumerate(self.plan.tables):
            if isinstance(table, SparkTable) and table.format in TEXTS:
                table = listed(self.spark, table)
            here = [] if isinstance(table, SparkTable) else [str(file) for file in table.files]
            paths = {label: label for label in here if label not in self.damaged}
            if paths and is_needed(table.format, encoding := self.request.options.get("encoding", "utf-8")):
                paths = self._prepared(number, paths, table.format, encoding, trouble)
            tables.append(table)
            files.append(paths)
            formats.append("parquet" if paths and table.format == "arrow" else table.format)
        looked: dict[str, Row | None] = {}
        if texts := [item for paths, format in zip(files, formats, strict=True) if format == "csv" for item in paths.items()]:
            csv = CsvFiles(self.spark, self.request.options)
            for some in batches(texts):
                looked |= without_damaged(dict(some), "csv", trouble, csv.look)
        opened = []
        for table, paths, format in zip(tables, files, formats, strict=True):
            self.progress(f"{table.name}: looking at {table.label if isinstance(table, SparkTable) else f'{len(paths)} files'}")
            if isinstance(table, SparkTable):
                opened.append([open_table(self.spark, table)])
                continue
            found: list[Opened] = []
            for some in batches([(label, path) for label, path in paths.items() if label not in trouble]):
                match format:
                    case "csv":
                        names = self._declared_names(table)
                        one = {label: csv.open(label, path, looked[label], names) for label, path in some}
                    case "json":
                        one = without_damaged(dict(some), format, trouble, JsonFiles(self.spark).open)
                    case _:
                        one = open_typed(self.spark, format, dict(some))
                for label, each in one.items():
                    if isinstance(each, Opened):
                        found.append(each)
                    else:
                        trouble[label] = str(each)
            mine = {str(file): trouble[str(file)] for file in table.files if str(file) in trouble}
            self._put_aside(mine, bool(found))
            opened.append(_partitioned(self.spark, found, {str(file): table.partition(file) for file in table.files}))
        return opened

    def _declared_names(self, table: TableSource) -> list[str]:
        """The columns that schema.sql declares, without those that folders are named after."""
        declaration = self.plan.declared.get(table.name.lower())
        lower = {name.lower() for file in table.files for name in table.partition(file)}
        return [column.name for column in declaration.columns if column.name.lower() not in lower] if declaration else []

    def _prepared(
        self, number: int, files: dict[str, str], format: str, encoding: str, trouble: dict[str, str]
    ) -> dict[str, str]:
        folder = self.raw / f"{number}-prepared"
        targets = {label: folder / f"{i}{'.parquet' if format == 'arrow' else ''}" for i, label in enumerate(files)}
        missing = [label for label in files if not targets[label].exists()]
        tasks = [
            {"path": files[label], "format": format, "encoding": encoding, "target": str(targets[label])} for label in missing
        ]
        for label, done in zip(missing, run_tasks(self.spark, prepare, tasks, "prepare files"), strict=True):
            if done["trouble"] is not None:
                trouble[label] = done["trouble"]
        return {label: str(target) for label, target in targets.items() if label not in trouble}

    def _put_aside(self, trouble: Mapping[str, str], any_left: bool) -> None:
        """Raises PipelineError with --on-reject fail, and when no file is left."""
        if trouble and (self.request.on_reject == "fail" or not any_left):
            reasons = list(trouble.values())
            more = f"\n… and {len(reasons) - 5} more such files" if len(reasons) > 5 else ""
            raise PipelineError("\n".join(reasons[:5]) + more + "\nnothing was imported")
        for reason in trouble.values():
            self.progress(f"put aside: {reason.splitlines()[0]}")
        if trouble:
            self.damaged |= trouble
            self.state.put("damaged", self.damaged)

    # rows into raw parts

    def _write(self, table: TableSource | SparkTable, writers: dict[str, TableWriter]) -> dict[str, Any]:
        writer, trouble = writers[table.name], dict[str, str]()

        def write(files: dict[str, Opened]) -> dict[str, Any]:
            one = writers[table.name] = TableWriter(self.spark, table.name, list(files.values()), writer.targets, writer.folder)
            return one.write(self.progress)

        try:
            done: dict[str, Any] = without_damaged({file.label: file for file in writer.files}, table.format, trouble, write)
        except Exception as error:
            if isinstance(table, SparkTable):
                raise unreadable(table, error) from error
            raise
        self._put_aside(trouble, any_left=True)
        return done

    # keys

    def _checks(
        self, declared: Mapping[str, Declared], writers: Mapping[str, TableWriter], results: Mapping[str, dict[str, Any]]
    ) -> dict[str, Any]:
        tables = {}
        for name, writer in writers.items():
            parts = tuple(writer.part(i) for i in range(len(results[name]["parts"])))
            tables[name] = RawTable(name, parts)
        reject = self.request.on_dangling == "reject"
        found = check_constraints(self.spark, declared, tables, self.raw / "checks", reject, self.progress)
        for name, one in found.items():
            for dangling in one["dangling"]:
                number, place = dangling["first"]
                part = results[name]["parts"][number]
                file, before, count = writers[name].starts(part["batch"])[part["partition"]]
                numbers = row_numbers(part["rows"], file, before, count, writers[name].rejects)
                dangling["first"] = f"one from {file}" if numbers is None else f"row {numbers[place]:,} of {file}"
        return found

    # raw parts into final ones

    def _finish(self, writer: TableWriter, result: dict[str, Any], removed: list[dict[str, Any]]) -> dict[str, Any]:
        """{"read", "kept", "rejected"} of the table, whose parts are in their place then."""
        target, rejected = self.inside / writer.name, self.inside / METADATA_FOLDER / "rejected" / writer.name
        touched = [parts_with_places(Path(one["folder"])) for one in removed]
        tasks = []
        kept = 0
        starts: dict[int, dict[int, tuple[str, int | None, int]]] = {}
        for i, part in enumerate(result["parts"]):
            here = [one for one, parts in zip(removed, touched, strict=True) if i in parts]
            if not here:
                _move(writer.part(i), target / writer.part(i).name)
                kept += part["rows"]
                continue
            batch = part["batch"]
            starts[batch] = starts.get(batch) or writer.starts(batch)
            file, before, count = starts[batch][part["partition"]]
            place = {"raw": str(writer.part(i)), "part": str(target / writer.part(i).name), "earlier": str(writer.rejects)}
            facts = {"file": file, "before": before, "count": count, "number": i, "removed": here}
            tasks.append({**place, **facts, "rejects": str(rejected / f"keys-{i:05d}.parquet")})
        done = run_tasks(self.spark, finish, tasks, f"finish {writer.name}")
        for path in writer.rejects.glob("*.parquet"):  # copied: an interrupted run needs them again
            make_folder(rejected)
            shutil.copyfile(path, rejected / path.name)
        kept += sum(one["rows"] for one in done)
        rejects = _merged([*result["rejected"], *(entry for one in done for entry in one["rejected"])])
        if kept + sum(one["rows"] for one in rejects) != result["read"]:
            raise InternalError(f"{writer.name}: {result['read']} rows read, {kept} kept, rejected: {rejects}")
        return {"read": result["read"], "kept": kept, "rejected": rejects}

    def _refuse_rejects(self, rejected: Mapping[str, list[dict[str, Any]]]) -> None:
        """With --on-reject fail, ends the import as soon as rows are rejected, and leaves nothing of it."""
        if self.request.on_reject != "fail" or not any(rejected.values()):
            return
        for entry in self.inside.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
        lines = [line for name, found in rejected.items() for line in shown_rejects(name, found)]
        raise PipelineError("\n".join(["rows were rejected, so nothing was imported (--on-reject fail):", *lines]))


def _partitioned(spark: SparkSession, files: list[Opened], partitions: Mapping[str, Mapping[str, str | None]]) -> list[Opened]:
    """The files with the columns that their folders are named after, of the first type that all these names have.

    Raises PipelineError for a file that has a column of that name itself.
    """
    values: dict[str, list[str | None]] = {}
    for file in files:
        for name, value in partitions[file.label].items():
            values.setdefault(name, []).append(value)
    hints = partition_types(spark, values)
    found = []
    for file in files:
        texts = partitions[file.label]
        own = {name.lower() for name in file.types}
        if (twin := next((name for name in texts if name.lower() in own), None)) is not None:
            raise PipelineError(f'{file.label} has a column "{twin}" and lies in a folder {twin}=...; rename one of them')
        types = {**file.types, **dict.fromkeys(texts)}
        rows = partial(_with_texts, file, texts)
        found.append(replace(file, types=types, rows=rows, hints={**file.hints, **hints}) if texts else file)
    return found


def _with_texts(file: Opened, texts: Mapping[str, str | None], names: list[str]) -> DataFrame:
    own = [name for name in names if name not in texts]
    values = [literal(texts[name]) if name in texts else f"v{own.index(name)}" for name in names]
    return file.rows(own).selectExpr(*numbered(values), "_broken", "_line")


def _without_dangling(declared: Declared, dangling: list[dict[str, Any]]) -> Declared:
    broken = [one["key"] for one in dangling]
    kept = tuple(key for key in declared.references if key.text() not in broken)
    reasons = [f"foreign key {one['key']}: {one['rows']:,} rows refer to no row, first {one['first']}" for one in dangling]
    return replace(declared, references=kept, left_out=(*declared.left_out, *reasons))


def _merged(rejected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each reason and column, with the first row of all."""
    merged: dict[tuple[str, str | None], dict[str, Any]] = {}
    for one in rejected:
        known = merged.setdefault((one["reason"], one["column"]), {**one, "record": None, "rows": 0})
        known["rows"] += one["rows"]
    return list(merged.values())


def _move(source: Path, target: Path) -> None:
    """By renaming; nothing is left to do when that happened in an earlier run."""
    make_folder(target.parent)
    if source.exists() or not target.exists():
        os.replace(source, target)
