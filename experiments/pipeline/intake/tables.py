"""The steps of an import on Spark, in the unfinished dataset folder: what is done of them is known to the next run.

.work/STEP.json    results: files that were put aside, parts of each table, foreign keys that rows break, tables that are made
.work/0, 1, …      each table on its way (`raw`)
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from executor.atomic import make_folder, write_file
from experiments.pipeline.intake.clean import read_clean
from experiments.pipeline.intake.csv_files import CsvFiles
from experiments.pipeline.intake.declared import declared_tables, publish_declared, reference_text
from experiments.pipeline.intake.json_files import faults, open_json, whole_files, without_keys
from experiments.pipeline.intake.keys import check_constraints
from experiments.pipeline.intake.opened import Opened, batches, damaged_file, joined, listed, open_elsewhere, open_typed, reading
from experiments.pipeline.intake.prepare import damage, prepare, read_as
from experiments.pipeline.intake.raw import Facts, RawTable
from experiments.pipeline.intake.request import VECTORIZED, ImportRequest, Plan, options_of, read_inputs
from experiments.pipeline.intake.resolve import Resolved, inferred, resolve, undeclared
from experiments.pipeline.intake.sources import ENDINGS, Source, with_driver
from experiments.pipeline.intake.summary import reject_lines
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.paths import reader, to_read
from experiments.pipeline.spark.publish import WORK
from experiments.pipeline.spark.session import Say, Start, is_running
from memo_viz.text import clean
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.errors import many

# damage seen where single values (places in a dictionary, fractions of a second) are taken out of columns, without their file
_OF_COLUMNS = "ArrayIndexOutOfBounds|nanos > 999999999"

_MOST_TOLD = 20  # reasons of one message
_TEXTS = ("csv", "json")
Result = TypeVar("Result")


class _BadFiles(Exception):
    """Files of which none can be imported: the reason of each, by label."""


def _of_all(tables: Iterable[str], compute: Callable[[str], Result]) -> dict[str, Result]:
    """For each table. Raises PipelineError with what is wrong with any of them."""
    found, wrong = dict[str, Result](), list[str]()
    for name in tables:
        try:
            found[name] = compute(name)
        except PipelineError as error:
            wrong.append(str(error))
    if wrong:
        raise PipelineError(_listed(wrong, "tables"))
    return found


def _listed(reasons: Sequence[str], what: str) -> str:
    more = len(reasons) - _MOST_TOLD
    return "\n".join(reasons[:_MOST_TOLD]) + (f"\n… and {more} more such {what}" if more > 0 else "")


def _check_columns(tables: Sequence[Source], resolved: Mapping[str, Resolved]) -> None:
    """Raises _BadFiles with the files of tables that have no column to import, PipelineError for such a table elsewhere."""
    bad: dict[str, str] = {}
    for table in tables:
        if (found := resolved.get(table.name)) is not None and not found.columns:
            why = ", ".join(f"{column} {reason}" for column, reason in found.dropped.items()) or "it has none at all"
            if not table.files:
                raise PipelineError(f'table "{table.name}" ({table.label}) has no column to import: {why}')
            bad |= {label: f"{label} has no column to import: {why}" for label in table.files}
    if bad:
        raise _BadFiles(bad)


class Tables:
    """One import into the folder `inside`. `make` gives its counts, for the manifest, and the parts. `start` gives the Spark
    session, called once it is needed."""

    def __init__(self, request: ImportRequest, plan: Plan, start: Start, inside: Path, say: Say) -> None:
        self.request, self.plan, self.start, self.inside, self.say = request, plan, cache(start), inside, say
        self.work = inside / WORK
        self.damaged: dict[str, str] = self._done("damaged") or {}  # files that were put aside, with the reason
        self.labels: dict[str, str] = {}  # of files, by where Spark reads them
        self.numbers = {one.name: number for number, one in enumerate(plan.found.tables)}
        self._csv: dict[tuple[tuple[str, str], ...], CsvFiles] = {}  # by options
        self.clean = {} if is_running() else read_clean(request, plan)

    @property
    def spark(self) -> SparkSession:
        return self.start()

    def csv(self, table: Source) -> CsvFiles:
        own = options_of(table.name, self.request.options)
        form = tuple(sorted(own.items()))
        if form not in self._csv:
            self._csv[form] = CsvFiles(self.spark, own)
        return self._csv[form]

    def make(self) -> tuple[Facts, list[Path]]:
        for jar in self.request.jars:
            self.spark.sql(f"ADD JAR '{jar.absolute()!s}'").collect()
        found = [with_driver(one, self.request.jars) for one in self.plan.found.tables]
        tables = [one if one.files or one.format not in ENDINGS else listed(self.spark, one) for one in found]
        try:
            return self._all(tables)
        except PipelineError:
            if {path.stem for path in self.work.glob("*.json")} <= {"damaged"}:  # nothing to go on with
                shutil.rmtree(self.work, ignore_errors=True)
            raise

    def _all(self, tables: list[Source]) -> tuple[Facts, list[Path]]:
        """As `_made`, without the files that turn out to be damaged."""
        while True:  # what is done once is not done again
            tables = [one for one in tables if not one.files or not one.files.keys() <= self.damaged.keys()]
            try:
                return self._made(tables)
            except _BadFiles as error:
                self._put_aside(error.args[0], tables)
            except Exception as error:
                if (path := damaged_file(error, list(self.labels))) is not None:
                    label = self.labels[path]
                    table = next(one for one in tables if label in one.files)
                    others = self._unreadable(table) if self.damaged else {}  # a second one: there may be many
                    self._put_aside({label: damage(label, table.format, error), **others}, tables)
                elif re.search(_OF_COLUMNS, str(error)) and self.spark.conf.get(VECTORIZED[0]) == "true":
                    for name in VECTORIZED:
                        self.spark.conf.set(name, "false")
                else:
                    raise

    def _made(self, tables: list[Source]) -> tuple[Facts, list[Path]]:
        merge, wanted = self.request.merge_schema, {one.name: self.plan.declared.get(one.name.lower()) for one in tables}
        opened = self._open([one for one in tables if one.name not in self.clean])
        texts = _of_all(opened, lambda name: undeclared(name, opened[name], wanted[name], merge))
        types = inferred({name: (opened[name], texts[name]) for name in texts})
        resolved = _of_all(opened, lambda name: resolve(name, opened[name], wanted[name], merge, types[name]))
        _check_columns(tables, resolved)
        resolved = {one.name: resolved.get(one.name) or Resolved(self.clean[one.name].columns, {}) for one in tables}
        raw: dict[str, RawTable] = {}
        for table in tables:
            number, columns = self.numbers[table.name], resolved[table.name].columns
            files = self.clean[table.name].files if table.name in self.clean else opened[table.name]
            one = raw[table.name] = RawTable(self.start, table.name, files, columns, self.work / str(number))
            with reading(table):
                one.parts = self._once(f"raw-{number}", partial(one.write, self.say))
        if self.plan.inputs != read_inputs(self.plan.found):
            raise PipelineError("files changed while they were imported; import them again into a new folder")
        declared = declared_tables({name: one.columns for name, one in resolved.items()}, self.plan.declared)
        rejected = self.request.on_dangling == "reject"
        broken = self._once("broken", lambda: check_constraints(declared, raw, rejected, self.say))
        made, rejects = dict[str, Facts](), self.inside / METADATA_FOLDER / "rejected"
        for name, one in raw.items():
            made[name] = self._once(f"made-{self.numbers[name]}", partial(one.finish, self.inside / name, rejects / name))
            shutil.rmtree(one.folder, ignore_errors=True)
        self._refuse_rejects(made)
        for name, one_declared in declared.items():
            one_declared.foreign_keys = [key for key in one_declared.foreign_keys if reference_text(key) not in broken[name]]
            one_declared.left_out += [f"foreign key {key}: {reason}" for key, reason in broken[name].items()]
        for name, found in made.items():
            found |= {"dropped": resolved[name].dropped, "left_out": declared[name].left_out}
        publish_declared(self.inside, declared)
        parts = [path for name in made for path in sorted((self.inside / name).glob("*.parquet"))]
        return {"tables": made, "skipped": [str(path) for path in self.plan.found.skipped], "damaged": self.damaged}, parts

    # what was done before

    def _done(self, step: str) -> Any:
        """None when the step was not finished."""
        try:
            return json.loads((self.work / f"{step}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _once(self, step: str, compute: Callable[[], Any]) -> Any:
        if (known := self._done(step)) is None:
            known = compute()
            write_file(make_folder(self.work) / f"{step}.json", json.dumps(known))
        return known

    def _put_aside(self, trouble: Mapping[str, str], tables: list[Source]) -> None:
        """Raises PipelineError with --on-reject fail, and when no file of any table is left."""
        self.damaged |= trouble
        if self.request.on_reject == "fail" or all(one.files and one.files.keys() <= self.damaged.keys() for one in tables):
            raise PipelineError(_listed(list(trouble.values()), "files") + "\nnothing was imported")
        for reason in trouble.values():
            self.say(f"put aside: {reason.splitlines()[0]}")
        write_file(make_folder(self.work) / "damaged.json", json.dumps(self.damaged))

    # what the sources hold

    def _open(self, tables: list[Source]) -> dict[str, list[Opened]]:
        """The files of each table. Raises _BadFiles."""
        trouble: dict[str, str] = {}
        paths = {one.name: self._prepared(one, trouble) for one in tables}
        of_csv: dict[CsvFiles, dict[str, str]] = {}
        for one in tables:
            if one.format == "csv":
                of_csv.setdefault(self.csv(one), {}).update(paths[one.name])
        looked = {label: its for files, some in of_csv.items() for label, its in files.look(some).items()}
        of_json = [file for one in tables if one.format == "json" for file in paths[one.name].items()]
        whole = whole_files(self.spark, [path for _, path in of_json]) if of_json else frozenset()
        trouble |= faults(self.spark, {label: path for label, path in of_json if path in whole}) if whole else {}
        found: dict[str, list[Opened]] = {}
        for table in tables:
            here = paths[table.name]
            self.say(f"{table.name}: looking at {many(len(here), 'file') if table.files else table.label}")
            if not table.files or (table.path is not None and table.format not in _TEXTS):
                try:
                    found[table.name] = open_elsewhere(self.spark, table, list(here))
                except PipelineError:  # maybe since Spark takes the columns from a damaged file, without saying from which
                    if table.format != "orc" or not (bad := self._unreadable(table)):
                        raise
                    trouble |= bad
                continue
            opened, records = list[Opened](), dict[str, str]()
            for label, path in here.items():
                try:
                    match table.format:
                        case "csv":
                            opened.append(self.csv(table).open(label, path, looked[label], self._declared_names(table)))
                        case "json":
                            records |= {label: path} if label not in trouble else {}
                        case format:
                            opened.append(open_typed(self.spark, read_as(label, path, format), label, path))
                except PipelineError as error:
                    trouble[label] = str(error)
            for some in batches(list(records.items())):
                try:
                    opened.append(open_json(self.spark, dict(some), whole))
                except PipelineError as error:
                    trouble |= {label: f"{label}: {error}" for label, _ in some}
            if opened and records and not any(one.types for one in opened):
                trouble |= {label: f"{label} {without_keys(opened[0], path)}" for label, path in records.items()}
            found[table.name] = joined(self.spark, [one.within(table.files) for one in opened])
        if trouble:
            raise _BadFiles(trouble)
        return found

    def _prepared(self, table: Source, trouble: dict[str, str]) -> dict[str, str]:
        """Where Spark is to read the files that are not put aside, by label."""
        encoding = options_of(table.name, self.request.options).get("encoding", "utf-8")
        folder = self.work / f"{self.numbers[table.name]}-prepared"
        paths: dict[str, str] = {}
        for i, label in enumerate(table.files):
            try:
                if label not in self.damaged:
                    paths[label] = str(prepare(label, folder / str(i), table.format, encoding))
            except PipelineError as error:
                trouble[label] = str(error)
        self.labels |= {path: label for label, path in paths.items()}
        return paths

    def _unreadable(self, table: Source) -> dict[str, str]:
        """The files that Spark cannot read, with the reason; each read alone, sooner than all anew after each of them."""
        self.say(f"{table.name}: files are damaged; reading each alone")
        found: dict[str, str] = {}
        for label, path in self._prepared(table, found).items():
            format = "text" if table.format in _TEXTS else read_as(label, path, table.format)
            try:
                reader(self.spark).format(format).load(to_read(path)).write.format("noop").mode("overwrite").save()
            except Exception as error:
                if damaged_file(error, [path]) is not None:
                    found[label] = damage(label, table.format, error)
        return found

    def _declared_names(self, table: Source) -> list[str]:
        """The columns that schema.sql declares, without those that folders are named after."""
        declaration = self.plan.declared.get(table.name.lower())
        lower = {name.lower() for values in table.files.values() for name in values}
        return [column.name for column in declaration.columns if column.name.lower() not in lower] if declaration else []

    # at the end

    def _refuse_rejects(self, results: Mapping[str, Facts]) -> None:
        """With --on-reject fail, ends the import as soon as rows are rejected, and leaves nothing of it."""
        if self.request.on_reject != "fail" or not any(one["rejected"] for one in results.values()):
            return
        for entry in self.inside.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
        lines = [f"{clean(name)}: {line}" for name, found in results.items() for line in reject_lines(found["rejected"])]
        raise PipelineError("\n".join(["rows were rejected, so nothing was imported (--on-reject fail):", *lines]))
