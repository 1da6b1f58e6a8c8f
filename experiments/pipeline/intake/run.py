"""An import from start to end: everything in a folder of its own until all is done, and going on where an earlier run stopped.

    DIR/TABLE/part-00000.parquet                        a part for each file, or Spark partition
    DIR/schema.sql                                      types, and the keys that the rows fulfil
    DIR/_planscope/rejected/TABLE/part-00000.parquet    rejected rows of that file: reason, column, value, record, file, row
    DIR/_planscope/manifests/import.json                inputs, settings, counts, versions, checksums
What an interrupted run has read from files or databases is not read again by the next one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from executor.atomic import write_file
from experiments.pipeline.intake.constraints import check_constraints, declared_tables
from experiments.pipeline.intake.convert import convert
from experiments.pipeline.intake.finish import finish
from experiments.pipeline.intake.keys import RawTable, parts_with_places
from experiments.pipeline.intake.look import look
from experiments.pipeline.intake.raw_parts import (
    Raw,
    merged_rejects,
    move,
    part_name,
    raw_paths,
    rejects_of,
    row_text,
    table_counts,
    without_dangling,
)
from experiments.pipeline.intake.request import ImportRequest, Plan, planned
from experiments.pipeline.intake.resolve import Resolved, columns_of, resolve, with_partitions
from experiments.pipeline.intake.schema_file import Declared, schema_sql
from experiments.pipeline.intake.sources import TableSource
from experiments.pipeline.intake.spark_source import SparkTable, add_jars, open_frame, write_frame
from experiments.pipeline.intake.state import State
from experiments.pipeline.intake.summary import shown_rejects
from experiments.pipeline.intake.target import as_schema, schema_text
from experiments.pipeline.spark.errors import PipelineError, translated
from experiments.pipeline.spark.manifest import is_done, read_manifest, write_manifest
from experiments.pipeline.spark.publish import Request, staged
from experiments.pipeline.spark.tasks import run_tasks
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.errors import InternalError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STAGE = "import"
Progress = Callable[[str], None]


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
            with translated("importing"):
                _Import(request, plan, session(), inside, progress).run()
    return _manifest(request.folder), False


def _manifest(folder: Path) -> dict[str, Any]:
    found = read_manifest(folder, STAGE)
    if found is None:
        raise PipelineError(f"{folder} has no readable manifest of its import")
    return found


class _Import:
    """One import into the unfinished dataset folder `inside`; raw parts lie in its metadata until the end."""

    def __init__(self, request: ImportRequest, plan: Plan, spark: SparkSession, inside: Path, progress: Progress) -> None:
        self.request, self.plan, self.spark, self.inside, self.progress = request, plan, spark, inside, progress
        self.damaged: dict[str, str] = {}  # files that were put aside, with the reason
        self.raw = inside / METADATA_FOLDER / "raw"
        self.state = State(self.raw)

    def run(self) -> None:
        if not is_done(self.inside, STAGE, self.plan.inputs, self.plan.settings):
            self._make()
        gone = self.raw.with_name(".raw.done")  # in one step, since half of the state would mislead the next run
        shutil.rmtree(gone, ignore_errors=True)
        if self.raw.exists():
            self.raw.rename(gone)
            shutil.rmtree(gone)

    def _make(self) -> None:
        from_spark = isinstance(self.plan.tables[0], SparkTable)
        resolved, raw = self._from_spark() if from_spark else self._from_files()
        declared = declared_tables({name: one.targets for name, one in resolved.items()}, self.plan.declared)
        self._refuse_rejects({name: one.results for name, one in raw.items()})
        checks = self.state.once("checks", lambda: self._checks(declared, raw))
        results = {name: self._finish(one, checks[name]["removed"]) for name, one in raw.items()}
        self._refuse_rejects(results)
        declared = {name: without_dangling(one, checks[name]["dangling"]) for name, one in declared.items()}
        write_file(self.inside / "schema.sql", schema_sql(list(declared.values())))
        counts = {
            "tables": {name: table_counts(found, resolved[name], declared[name]) for name, found in results.items()},
            "sources": {file: facts for one in raw.values() for file, facts in one.checksums()},
            "skipped": [str(path) for path in self.plan.skipped],
            "damaged": self.damaged,
        }
        files = {f"{name}/{part_name(i)}": result["part"] for name, found in results.items() for i, result in enumerate(found)}
        write_manifest(self.inside, STAGE, inputs=self.plan.inputs, settings=self.plan.settings, counts=counts, files=files)

    # what the sources hold

    def _from_files(self) -> tuple[dict[str, Resolved], dict[str, Raw]]:
        sources = [table for table in self.plan.tables if isinstance(table, TableSource)]
        looked = self.state.get("look") or self._look(sources)
        damaged = {file: found["trouble"] for file, found in looked.items() if found["trouble"] is not None}
        sources = self._without(sources, damaged)
        resolved: dict[str, Resolved] = {}
        for table in sources:
            columns = [columns_of(str(file), table.format, looked[str(file)]) for file in table.files]
            columns = with_partitions(columns, [table.partition(file) for file in table.files])
            resolved[table.name] = resolve(table.name, columns, self.plan.declared.get(table.name.lower()), self.request.merge)
        self.state.put("look", looked)
        return resolved, {table.name: self._convert(i, table, resolved[table.name]) for i, table in enumerate(sources)}

    def _look(self, sources: list[TableSource]) -> dict[str, Any]:
        tasks = [self._task(table, file) for table in sources for file in table.files]
        done = 0

        def report(position: int, result: dict[str, Any]) -> None:
            nonlocal done
            done += 1
            self.progress(f"looked at {done} of {len(tasks)} files: {tasks[position]['path']}")

        results = run_tasks(self.spark, look, tasks, report, "look at files")
        return {task["path"]: result for task, result in zip(tasks, results, strict=True)}

    def _without(self, tables: list[TableSource], damaged: Mapping[str, str]) -> list[TableSource]:
        """The tables without their damaged files, which are put aside, each with the reason.

        Raises PipelineError with --on-reject fail, and for a table that would be left without a file.
        """
        left = [replace(table, files=tuple(file for file in table.files if str(file) not in damaged)) for table in tables]
        if damaged and (self.request.on_reject == "fail" or not all(table.files for table in left)):
            reasons = list(damaged.values())
            more = f"\n… and {len(reasons) - 5} more such files" if len(reasons) > 5 else ""
            raise PipelineError("\n".join(reasons[:5]) + more + "\nnothing was imported")
        for reason in damaged.values():
            self.progress(f"put aside: {reason.splitlines()[0]}")
        self.damaged |= damaged
        return left

    def _task(self, table: TableSource, file: Path) -> dict[str, Any]:
        declaration = self.plan.declared.get(table.name.lower())
        columns = declaration.columns if declaration is not None else []
        partition = table.partition(file)
        lower = {name.lower() for name in partition}
        return {
            "table": table.name,
            "path": str(file.absolute()),
            "format": table.format,
            "options": self.request.options,
            "partition": partition,
            "names": [column.name for column in columns if column.name.lower() not in lower] or None,
            "declared": [column.name.lower() for column in columns if column.type is not None],
        }

    def _from_spark(self) -> tuple[dict[str, Resolved], dict[str, Raw]]:
        add_jars(self.spark, self.request.jars)
        resolved: dict[str, Resolved] = {}
        raw: dict[str, Raw] = {}
        for number, table in enumerate(self.plan.tables):
            assert isinstance(table, SparkTable)
            self.progress(f"{table.name}: reading {table.label}")
            frame, columns = open_frame(self.spark, table)
            one = resolve(table.name, [columns], self.plan.declared.get(table.name.lower()), merge=False)
            folder = self.raw / f"{number}-read"
            files = self.state.once(
                f"read-{number}",
                lambda: [str(f) for f in write_frame(frame, table, one.targets, folder)],  # noqa: B023
            )
            resolved[table.name] = one
            source = TableSource(table.name, "parquet", tuple(map(Path, files)))
            raw[table.name] = self._convert(number, source, one, table.label)
        return resolved, raw

    # rows into raw parts

    def _convert(self, number: int, table: TableSource, resolved: Resolved, label: str | None = None) -> Raw:
        """`label`: what to call files that Spark wrote, whose columns are c0, c1 ..."""
        folder = self.raw / str(number)
        schema = schema_text(as_schema(resolved.targets))
        stored = None if label is None else [f"c{i}" for i in range(len(resolved.targets))]
        labels = [label or str(file) for file in table.files]
        done = [self.state.get(f"part-{number}-{i}") for i in range(len(table.files))]
        positions = [i for i, result in enumerate(done) if result is None]
        common = {"schema": schema, "merge": self.request.merge, "stored": stored}
        tasks = []
        for i in positions:
            part, rejects = raw_paths(folder, i)
            place = {"part": str(part), "rejects": str(rejects), "label": labels[i]}
            tasks.append({**self._task(table, table.files[i]), **common, **place})

        def keep(position: int, result: dict[str, Any]) -> None:
            i = positions[position]
            done[i] = self.state.put(f"part-{number}-{i}", result)
            finished = [one for one in done if one is not None]
            rows = sum(one.get("read", 0) for one in finished)
            self.progress(f"{table.name}: {len(finished)} of {len(done)} files, {rows:,} rows read")

        run_tasks(self.spark, convert, tasks, keep, f"import {table.name}")
        results = [result for result in done if result is not None]
        damaged = {str(table.files[i]): one["trouble"] for i, one in enumerate(results) if "trouble" in one}
        if damaged and label is not None:
            raise PipelineError("\n".join(damaged.values()))
        self._without([table], damaged)
        whole = [i for i, result in enumerate(results) if "trouble" not in result]
        raw = RawTable(table.name, tuple(raw_paths(folder, i)[0] for i in whole), as_schema(resolved.targets))
        return Raw(raw, [results[i] for i in whole], [labels[i] for i in whole], numbered=label is None)

    # keys

    def _checks(self, declared: Mapping[str, Declared], raw: Mapping[str, Raw]) -> dict[str, Any]:
        tables = {name: one.table for name, one in raw.items()}
        folder = self.raw / "checks"
        reject = self.request.on_dangling == "reject"
        found = check_constraints(self.spark, declared, tables, folder, reject, self.progress)
        for name, one in found.items():
            for dangling in one["dangling"]:
                dangling["first"] = row_text(raw[name], *dangling["first"])
        return found

    # raw parts into final ones

    def _finish(self, raw: Raw, removed: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What `finish` or `convert` says of each part."""
        tasks, positions = [], []
        results: list[dict[str, Any]] = []
        touched = [parts_with_places(Path(one["folder"])) for one in removed]
        for i, path in enumerate(raw.table.parts):
            here = [one for one, parts in zip(removed, touched, strict=True) if i in parts]
            result = raw.results[i]
            target, rejects = self._final(raw.table.name, i)
            if here:
                positions.append(i)
                tasks.append(
                    {
                        "raw": str(path),
                        "raw_rejects": str(rejects_of(path)),
                        "part": str(target),
                        "rejects": str(rejects),
                        "number": i,
                        "file": raw.files[i],
                        "removed": here,
                        "numbered": raw.numbered,
                    }
                )
            else:
                move(path, target)
                if result["reject_file"]:
                    move(rejects_of(path), rejects)
            results.append(result)
        for i, result in zip(positions, run_tasks(self.spark, finish, tasks, what=f"finish {raw.table.name}"), strict=True):
            results[i] = {**raw.results[i], **result, "rejected": [*raw.results[i]["rejected"], *result["rejected"]]}
        for result in results:
            rejected = sum(one["rows"] for one in result["rejected"])
            if result["kept"] + rejected != result["read"]:
                raise InternalError(
                    f"{raw.table.name}: {result['read']} rows read, {result['kept']} kept and {rejected} rejected"
                )
        return results

    def _final(self, table: str, part: int) -> tuple[Path, Path]:
        return self.inside / table / part_name(part), self.inside / METADATA_FOLDER / "rejected" / table / part_name(part)

    def _refuse_rejects(self, results: Mapping[str, list[dict[str, Any]]]) -> None:
        """With --on-reject fail, ends the import as soon as rows are rejected, and leaves nothing of it."""
        rejected = {name: merged_rejects(found) for name, found in results.items()}
        if self.request.on_reject != "fail" or not any(rejected.values()):
            return
        for entry in self.inside.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
        lines = [line for name, found in rejected.items() for line in shown_rejects(name, found)]
        raise PipelineError("\n".join(["rows were rejected, so nothing was imported (--on-reject fail):", *lines]))
