"""The steps of an import on Spark, in the unfinished dataset folder: what is done of them is known to the next run.

.work/STEP.json    results: files that were put aside, rows of each table, what its keys lose
.work/0, 1, …      parts of each table and its rejected rows (`checked`)
.work/checks       rows that break keys
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from executor.atomic import make_folder, write_file
from experiments.data_view.shown import safe
from experiments.pipeline.analyze.keys import declared as constraints
from experiments.pipeline.intake.checked import TableWriter, inferred, without_damaged
from experiments.pipeline.intake.csv_files import CsvFiles, Looked
from experiments.pipeline.intake.declared import Declared, declared_tables, schema_sql
from experiments.pipeline.intake.frames import Opened, batches, listed, open_table, open_typed, partitioned, unreadable
from experiments.pipeline.intake.json_files import open_json
from experiments.pipeline.intake.keys import RawTable, check_constraints, finish, removed_rows, row_numbers
from experiments.pipeline.intake.prepare import is_needed, prepare
from experiments.pipeline.intake.request import ImportRequest, Plan, read_inputs
from experiments.pipeline.intake.resolve import Resolved, resolve, undeclared
from experiments.pipeline.intake.sources import TableSource
from experiments.pipeline.intake.spark_source import SparkTable
from experiments.pipeline.intake.summary import reject_lines
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.publish import WORK
from experiments.pipeline.spark.session import Say
from experiments.pipeline.spark.tasks import run_tasks
from optimizer.catalog.findings import Findings
from optimizer.catalog.fingerprint import file_identities
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.dataset import open_dataset
from optimizer.errors import InternalError

Facts = dict[str, Any]


class Tables:
    """One import into the folder `inside`. `make` gives its counts, for the manifest, and the parts."""

    def __init__(self, request: ImportRequest, plan: Plan, spark: SparkSession, inside: Path, say: Say) -> None:
        self.request, self.plan, self.spark, self.inside, self.say = request, plan, spark, inside, say
        self.raw = inside / WORK
        self.damaged: dict[str, str] = self._done("damaged") or {}  # files that were put aside, with the reason

    def make(self) -> tuple[Facts, list[Path]]:
        for jar in self.request.jars:
            if not jar.is_file():
                raise PipelineError(f"there is no file {jar}")
            self.spark.sql(f"ADD JAR '{jar.absolute()!s}'").collect()
        resolved: dict[str, Resolved] = {}
        writers: dict[str, TableWriter] = {}
        declarations = {table.name: self.plan.declared.get(table.name.lower()) for table in self.plan.tables}
        opened = dict(zip(declarations, self._open(), strict=True))
        texts = {name: undeclared(name, files, declarations[name], self.request.merge) for name, files in opened.items()}
        types = inferred({name: (opened[name], texts[name]) for name in texts})
        for number, (name, files) in enumerate(opened.items()):
            resolved[name] = resolve(name, files, declarations[name], self.request.merge, types[name])
            writers[name] = TableWriter(self.spark, name, files, resolved[name].columns, self.raw / str(number))
        results: dict[str, Facts] = {}
        for number, table in enumerate(self.plan.tables):
            results[table.name] = self._once(f"table-{number}", partial(self._write, table, writers))
            writers[table.name].splits = results[table.name]["splits"]
        if self.plan.inputs != read_inputs(self.plan.tables, self.plan.schema):
            raise PipelineError("files changed while they were imported; import them again into a new folder")
        self._refuse_rejects(results)
        declared = declared_tables({name: one.columns for name, one in resolved.items()}, self.plan.declared)
        checks = self._once("checks", lambda: self._checks(declared, writers, results))
        made = {name: self._finish(writers[name], found, checks[name]["removed"]) for name, found in results.items()}
        self._refuse_rejects(made)
        for name, one in declared.items():
            one.leave_out(checks[name]["dangling"])
        write_file(self.inside / "schema.sql", schema_sql(list(declared.values())))
        for name, found in made.items():
            found |= {"dropped": resolved[name].dropped, "left_out": declared[name].left_out}
        self._remember(declared)
        parts = [path for name in made for path in sorted((self.inside / name).glob("*.parquet"))]
        return {"tables": made, "skipped": [str(path) for path in self.plan.skipped], "damaged": self.damaged}, parts

    def _remember(self, declared: Mapping[str, Declared]) -> None:
        """What the rows keep was checked here: an analysis need not look again."""
        if any(table.primary_key or table.unique or table.foreign_keys for table in declared.values()):
            tables = open_dataset(self.inside, as_declared=True)
            known = {name: file_identities(table.files) for name, table in tables.tables.items()}
            Findings({}).with_found(dict.fromkeys(constraints(tables, tables.tables), ""), known).write(self.inside)

    # what was done before

    def _done(self, step: str) -> Any:
        """None when the step was not finished."""
        try:
            return json.loads((self.raw / f"{step}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _once(self, step: str, compute: Callable[[], Any]) -> Any:
        if (known := self._done(step)) is None:
            known = compute()
            write_file(make_folder(self.raw) / f"{step}.json", json.dumps(known))
        return known

    # what the sources hold

    def _open(self) -> list[list[Opened]]:
        """The files of each table; damaged ones are put aside.

        Raises PipelineError with --on-reject fail, and when no file of a table is left.
        """
        trouble: dict[str, str] = {}
        tables: list[tuple[TableSource | SparkTable, str, dict[str, str]]] = []  # with its format, and paths by label
        for number, table in enumerate(self.plan.tables):
            if isinstance(table, SparkTable) and table.format in ("csv", "json"):
                table = listed(self.spark, table)
            here = [] if isinstance(table, SparkTable) else [str(file) for file in table.files]
            paths = {label: label for label in here if label not in self.damaged}
            if paths and is_needed(table.format, encoding := self.request.options.get("encoding", "utf-8")):
                paths = self._prepared(number, paths, table.format, encoding, trouble)
            tables.append((table, "parquet" if paths and table.format == "arrow" else table.format, paths))
        looked: dict[str, Looked | None] = {}
        if texts := [item for _, format, paths in tables if format == "csv" for item in paths.items()]:
            csv = CsvFiles(self.spark, self.request.options)
            for some in batches(texts):
                looked |= without_damaged(dict(some), "csv", trouble, csv.look)
        opened = []
        for table, format, paths in tables:
            what = table.label if isinstance(table, SparkTable) else "1 file" if len(paths) == 1 else f"{len(paths)} files"
            self.say(f"{table.name}: looking at {what}")
            if isinstance(table, SparkTable):
                opened.append([open_table(self.spark, table)])
                continue
            found: dict[str, Opened | PipelineError] = {}
            for some in batches([(label, path) for label, path in paths.items() if label not in trouble]):
                if format == "csv":
                    names = self._declared_names(table)
                    found |= {label: csv.open(label, path, looked[label], names) for label, path in some}
                elif format == "json":
                    found |= without_damaged(dict(some), format, trouble, partial(open_json, self.spark))
                else:
                    found |= open_typed(self.spark, format, dict(some))
            trouble |= {label: str(one) for label, one in found.items() if isinstance(one, PipelineError)}
            good = [one for one in found.values() if isinstance(one, Opened)]
            self._put_aside({str(file): trouble[str(file)] for file in table.files if str(file) in trouble}, bool(good))
            opened.append(partitioned(good, {str(file): values for file, values in table.files.items()}))
        return opened

    def _declared_names(self, table: TableSource) -> list[str]:
        """The columns that schema.sql declares, without those that folders are named after."""
        declaration = self.plan.declared.get(table.name.lower())
        lower = {name.lower() for values in table.files.values() for name in values}
        return [column.name for column in declaration.columns if column.name.lower() not in lower] if declaration else []

    def _prepared(
        self, number: int, files: dict[str, str], format: str, encoding: str, trouble: dict[str, str]
    ) -> dict[str, str]:
        ending, folder = ".parquet" if format == "arrow" else "", self.raw / f"{number}-prepared"
        targets = {label: folder / f"{i}{ending}" for i, label in enumerate(files)}
        how = {"format": format, "encoding": encoding}
        tasks = [{"path": files[label], "target": str(path), **how} for label, path in targets.items() if not path.exists()]
        for task, done in zip(tasks, run_tasks(self.spark, prepare, tasks, "prepare files"), strict=True):
            if done["trouble"] is not None:
                trouble[task["path"]] = done["trouble"]
        return {label: str(target) for label, target in targets.items() if label not in trouble}

    def _put_aside(self, trouble: Mapping[str, str], any_left: bool) -> None:
        """Raises PipelineError with --on-reject fail, and when no file is left."""
        if trouble and (self.request.on_reject == "fail" or not any_left):
            reasons = list(trouble.values())
            more = f"\n… and {len(reasons) - 5} more such files" if len(reasons) > 5 else ""
            raise PipelineError("\n".join(reasons[:5]) + more + "\nnothing was imported")
        for reason in trouble.values():
            self.say(f"put aside: {reason.splitlines()[0]}")
        if trouble:
            self.damaged |= trouble
            write_file(make_folder(self.raw) / "damaged.json", json.dumps(self.damaged))

    # rows into raw parts, and those into final ones

    def _write(self, table: TableSource | SparkTable, writers: dict[str, TableWriter]) -> Facts:
        writer, trouble = writers[table.name], dict[str, str]()

        def write(files: dict[str, Opened]) -> Facts:
            one = writers[table.name] = TableWriter(self.spark, table.name, list(files.values()), writer.targets, writer.folder)
            return one.write(self.say)

        try:
            done: Facts = without_damaged({file.label: file for file in writer.files}, table.format, trouble, write)
        except Exception as error:
            if isinstance(table, SparkTable):
                raise unreadable(table, error) from error
            raise
        self._put_aside(trouble, any_left=bool(done))
        return done

    def _checks(
        self, declared: Mapping[str, Declared], writers: Mapping[str, TableWriter], results: Mapping[str, Facts]
    ) -> Facts:
        tables = {}
        for name, writer in writers.items():
            tables[name] = RawTable(name, tuple(writer.part(i) for i in range(len(results[name]["parts"]))))
        reject = self.request.on_dangling == "reject"
        found = check_constraints(self.spark, declared, tables, self.raw / "checks", reject, self.say)
        for name, one in found.items():
            for dangling in one["dangling"]:
                number, place = dangling["first"]
                part = results[name]["parts"][number]
                file, before, count = writers[name].starts(part["batch"])[part["partition"]]
                numbers = row_numbers(part["rows"], file, before, count, writers[name].rejects)
                dangling["first"] = f"one from {file}" if numbers is None else f"row {numbers[place]:,} of {file}"
        return found

    def _finish(self, writer: TableWriter, result: Facts, removed: list[Facts]) -> Facts:
        """{"read", "kept", "rejected"} of the table, whose parts are in their place then."""
        target, rejected = self.inside / writer.name, make_folder(self.inside / METADATA_FOLDER) / "rejected" / writer.name
        touched = [set(removed_rows(Path(one["folder"]))["part"].unique().to_pylist()) for one in removed]
        tasks, kept = list[Facts](), 0
        starts: dict[int, dict[int, tuple[str, int | None, int]]] = {}
        for i, part in enumerate(result["parts"]):
            raw, final = writer.part(i), make_folder(target) / writer.part(i).name
            here = [one for one, parts in zip(removed, touched, strict=True) if i in parts]
            if not here:
                if raw.exists() or not final.exists():  # else an earlier run moved it
                    os.replace(raw, final)
                kept += part["rows"]
                continue
            batch = part["batch"]
            starts[batch] = starts.get(batch) or writer.starts(batch)
            file, before, count = starts[batch][part["partition"]]
            where = {"raw": str(raw), "part": str(final), "earlier": str(writer.rejects)}
            facts = {"file": file, "before": before, "count": count, "number": i, "removed": here}
            tasks.append({**where, **facts, "rejects": str(rejected / f"keys-{i:05d}.parquet")})
        done = run_tasks(self.spark, finish, tasks, f"finish {writer.name}")
        for path in writer.rejects.glob("*.parquet"):  # copied: an interrupted run needs them again
            shutil.copyfile(path, make_folder(rejected) / path.name)
        kept += sum(one["rows"] for one in done)
        merged: dict[tuple[str, str | None], Facts] = {}  # one entry for each reason and column, with the first row of all
        for entry in [*result["rejected"], *(entry for one in done for entry in one["rejected"])]:
            known = merged.setdefault((entry["reason"], entry["column"]), {**entry, "record": None, "rows": 0})
            known["rows"] += entry["rows"]
        if kept + sum(one["rows"] for one in merged.values()) != result["read"]:
            raise InternalError(f"{writer.name}: {result['read']} rows read, {kept} kept, rejected: {list(merged.values())}")
        return {"read": result["read"], "kept": kept, "rejected": list(merged.values())}

    def _refuse_rejects(self, results: Mapping[str, Facts]) -> None:
        """With --on-reject fail, ends the import as soon as rows are rejected, and leaves nothing of it."""
        if self.request.on_reject != "fail" or not any(one["rejected"] for one in results.values()):
            return
        for entry in self.inside.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
        lines = [f"{safe(name)}: {line}" for name, found in results.items() for line in reject_lines(found["rejected"])]
        raise PipelineError("\n".join(["rows were rejected, so nothing was imported (--on-reject fail):", *lines]))
