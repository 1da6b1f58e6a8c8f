"""The TOML file of a pipeline: a table for each stage that is wanted, which is made of it (docs/pipeline.md has the keys).

Stages run in the order generate, import, analyze, sweep, report, whatever the order of their tables.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.analyze.analyze import analyze_dataset
from experiments.pipeline.generate.generate import generate, made_text
from experiments.pipeline.generate.kinds import KINDS, recipe
from experiments.pipeline.generate.recipe import Recipe
from experiments.pipeline.intake.request import ImportRequest, import_dataset, planned
from experiments.pipeline.spark.manifest import finished, write_manifest
from experiments.pipeline.spark.session import Say, Start
from experiments.pipeline.sweep.problems import FIELDS, Problems, SpecError, read_words, suggestion
from experiments.workloads.data import dataset_folder, is_built_in
from experiments.workloads.scale import parse_scale
from optimizer.catalog.constraints import near
from optimizer.catalog.folder import find_tables
from optimizer.errors import CatalogError, PlanscopeError, many
from optimizer.toml_places import Places

if TYPE_CHECKING:
    from experiments.pipeline.sweep.spec import SweepSpec

ORDER = ("generate", "import", "analyze", "sweep", "report")
_DATA = "data"  # the folder of the dataset that a pipeline makes, within its own
# whose queries run on a dataset, if not only those of the workload that is called like it
_WORKLOADS = {"joingraph": ("chain", "star", "cycle", "clique", "grid", "random"), "imdb_like": ("job",)}


@dataclass(frozen=True)
class Context:
    """`out`: the folder of the pipeline, absolute. `resume`: the command that goes on with it."""

    out: Path
    spark: Start
    say: Say
    resume: str


@dataclass(frozen=True)
class Outcome:
    """How a stage went. `made`: something was done by this call; otherwise all of it was there. `text`: counts, on one line.
    `folder`: the one that has the stage's manifest, within that of the pipeline."""

    made: bool
    text: str
    folder: str = ""


@dataclass(frozen=True)
class Stage:
    """`words`: what the table says; `base`: the folder that files are named from."""

    name: str
    words: Mapping[str, Any]
    base: Path

    @property
    def into(self) -> str:
        return str(Path(self.words.get("into", _DATA)))  # data/ and ./data are one folder

    def check(self, out: Path) -> None:
        """Raises PlanscopeError for mistakes that can be seen before anything runs."""

    def tables(self, out: Path) -> list[str]:
        """The tables of the dataset that it makes. Raises PlanscopeError."""
        return []

    def run(self, context: Context) -> Outcome:
        """Does what is not done. Raises PlanscopeError, and KeyboardInterrupt; then a later call goes on."""
        raise AssertionError(f"{type(self).__name__} does nothing")

    def path(self, name: str) -> Path:
        """A file or folder beside the specification."""
        return (self.base / os.path.expanduser(name)).absolute()


class Generate(Stage):
    def check(self, out: Path) -> None:
        self._recipe()

    def tables(self, out: Path) -> list[str]:
        return list(dict.fromkeys(part.table for part in self._recipe().parts))

    def run(self, context: Context) -> Outcome:
        wanted = self._recipe()
        made = generate(wanted, context.out / self.into, context.spark, context.say)
        return Outcome(made.made, made_text(wanted, made), self.into)

    def _recipe(self) -> Recipe:
        scale = parse_scale(str(self.words["scale"]), "scale = S", "scale = 0.1")
        return recipe(self.words["kind"], scale, self.words.get("parts"), tuple(self.words.get("graphs", ())))


class Import(Stage):
    def check(self, out: Path) -> None:
        planned(self.request(out))

    def tables(self, out: Path) -> list[str]:
        return [table.name for table in planned(self.request(out)).found.tables]

    def run(self, context: Context) -> Outcome:
        made = import_dataset(self.request(context.out), context.spark, context.say, context.resume)
        tables = made.counts["tables"].values()
        rejected = sum(one["rows"] for table in tables for one in table["rejected"])
        text = f"{many(len(tables), 'table')}, {many(sum(table['kept'] for table in tables), 'row')}, {rejected:,} rejected"
        return Outcome(made.made, text, self.into)

    def request(self, out: Path) -> ImportRequest:
        words = {name: value for name, value in self.words.items() if name != "into"}
        words["sources"] = tuple(source if "://" in source else str(self.path(source)) for source in words.get("sources", ()))
        words["options"] = {name: str(value) for name, value in words.get("options", {}).items()}
        words |= {"tables": tuple(words.get("tables", ())), "jars": tuple(map(self.path, words.get("jars", ())))}
        words |= {"schema": self.path(words["schema"])} if "schema" in words else {}
        return ImportRequest(folder=out / self.into, **words)


@dataclass(frozen=True)
class Analyze(Stage):
    """`made`: stages that make datasets."""

    made: tuple[Stage, ...]

    def check(self, out: Path) -> None:
        given = self.words.get("data")
        if given is not None and not is_built_in(given) and not self.path(given).is_dir():
            raise CatalogError(f"there is no folder {self.path(given)} to analyze")
        known: list[list[str]] = []
        if given is None:
            with suppress(PlanscopeError):  # which is told of the other stage
                known = [stage.tables(out) for stage in self.made]
        elif not is_built_in(given):
            known = [[table.name for table in find_tables(self.path(given))]]
        for tables in known:
            for name in (*self.words.get("tables", ()), *self.words.get("joint", {})):
                if name.lower() not in map(str.lower, tables):
                    raise CatalogError(f'there is no table "{name}" to analyze\n{near(name, tables)}')

    def run(self, context: Context) -> Outcome:
        words, given = self.words, self.words.get("data")
        folders = [context.out / stage.into for stage in self.made]
        if given is not None:
            folders = [dataset_folder(given, context.say) if is_built_in(given) else self.path(given)]
        how = {
            "tables": words.get("tables", ()),
            "joint": [(name, tuple(columns)) for name, sets in words.get("joint", {}).items() for columns in sets],
            "sample": words.get("sample"),
        }
        reports = [analyze_dataset(folder, context.spark, say=context.say, **how) for folder in folders]
        tables = [table for report in reports for table in report.tables]
        text = f"{many(len(tables), 'table')}, {many(sum(table.rows for table in tables), 'row')}"
        return Outcome(any(report.read for report in reports), text, str(folders[-1]))


@dataclass(frozen=True)
class Sweep(Stage):
    """`made`: folders of the datasets that the pipeline makes, by workload ("*": any). Where [sweep] gives no data, queries of a
    workload run on that: tpch/… on a generated tpch, job/… on imdb_like, chain/4 on joingraph, everything on an imported one.
    `baseline`: the variant that [report] names, checked with the sweep."""

    spec: SweepSpec
    made: Mapping[str, str]
    baseline: str | None

    def check(self, out: Path) -> None:
        from experiments.pipeline.sweep.spec import plan_sweep  # the optimizer, which other stages do without

        plan_sweep(self._spec(out), later=out, baseline=self.baseline)

    def look_up(self, problems: Problems) -> None:
        """Notes mistakes in plug-ins, settings and variants, where others keep the sweep from being checked."""
        from experiments.pipeline.sweep.spec import checked_variants

        checked_variants(self.spec, problems)

    def run(self, context: Context) -> Outcome:
        from experiments.pipeline.sweep.run import run_sweep
        from experiments.pipeline.sweep.spec import plan_sweep

        plan = plan_sweep(self._spec(context.out), context.say)
        done = run_sweep(plan, context.out, context.spark, context.say)
        inputs = {f"{query.name} on {query.data}": query.digest for query in plan.queries}
        settings = {name: value for name, value in plan.as_dict().items() if name != "queries"}
        if finished(context.out, self.name, inputs, settings) is None:
            counts = {"items": done.items, "errors": done.errors}
            write_manifest(context.out, self.name, inputs=inputs, settings=settings, counts=counts, files=done.files)
        return Outcome(done.made > 0, f"run {done.run}: {many(done.items, 'item')}{error_text(done.errors)}")

    def _spec(self, out: Path) -> SweepSpec:
        if self.spec.data is not None or not self.made:
            return self.spec
        return replace(self.spec, data={workload: str(out / folder) for workload, folder in self.made.items()})


class MakeReport(Stage):
    def run(self, context: Context) -> Outcome:
        from experiments.pipeline.report.report import write_report

        report = write_report(context.out, context.spark, self.words.get("baseline"), say=context.say)
        return Outcome(report.made, f"{context.out / report.page}, compared with {report.baseline}")


def error_text(errors: Mapping[str, int]) -> str:
    """`, 3 errors (2 timeout, 1 crash)`; nothing when there are none."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in errors.items())
    total = sum(errors.values())
    return f", {many(total, 'error')} ({kinds})" if errors else ""


@dataclass(frozen=True)
class Pipeline:
    """`stages` in the order in which they run. `file`: where they were read from, absolute; `places` of its tables."""

    file: Path
    stages: tuple[Stage, ...]
    places: Places


def read_pipeline(file: Path) -> Pipeline:
    """Raises SpecError, which names every mistake in the file."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        tables: dict[str, Any] = tomllib.loads(text)
    except OSError as error:
        raise SpecError(f"cannot read {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{file} is not valid TOML: {error}") from error
    problems = Problems(Places(text, file.name))
    for name, value in tables.items():
        if name not in ORDER:
            problems.add(f"there is no stage {name}; {suggestion(name, ORDER)}", name)
        elif not isinstance(value, dict):
            problems.add(f"{name} is a table: write [{name}]", name)
    if not tables:
        raise SpecError(f"{file} has no stage: write a table [{'], ['.join(ORDER)}]")
    known = {name: value for name, value in tables.items() if name in ORDER and isinstance(value, dict)}
    stages = _stages(known, file.absolute().parent, problems)
    for stage in stages if problems else ():
        if isinstance(stage, Sweep):
            stage.look_up(problems)
    problems.check()
    return Pipeline(file.absolute(), stages, problems.places)


def _stages(tables: dict[str, Any], base: Path, problems: Problems) -> tuple[Stage, ...]:
    words = {name: read_words(tables[name], name, problems) for name in FIELDS if name in tables}
    found: list[Stage] = []
    made: dict[str, str] = {}  # workload ("*": any) -> folder of the dataset that is made
    if (said := words.get("generate")) is not None:
        found.append(generate := Generate("generate", said, base))
        if said["kind"] not in KINDS:
            problems.add(f'there is no kind of dataset "{said["kind"]}"; there are {", ".join(KINDS)}', "generate", "kind")
        made = dict.fromkeys(_WORKLOADS.get(said["kind"], (said["kind"],)), generate.into)
    if (said := words.get("import")) is not None:
        found.append(imported := Import("import", said, base))
        for other in set(made.values()):
            if imported.into == other:
                both = f'[generate] and [import] both make the folder {other}: give one of them into = "…"'
                problems.add(both, "import", "into")
            elif Path(imported.into).is_relative_to(other) or Path(other).is_relative_to(imported.into):
                problems.add(f"a dataset cannot be within another: {imported.into}, {other} of [generate]", "import", "into")
        made["*"] = imported.into
    if (said := words.get("analyze")) is not None:
        found.append(Analyze("analyze", said, base, tuple(found)))
        if "data" not in said and not made and not problems:  # else a stage that is written wrong may make it
            problems.add('nothing to analyze: write data = "FOLDER", or add [generate] or [import]', "analyze")
    if (said := words.get("sweep")) is not None:
        from experiments.pipeline.sweep.spec import SweepSpec

        spec, baseline = SweepSpec(**said, base=base, places=problems.places), (words.get("report") or {}).get("baseline")
        found.append(Sweep("sweep", said, base, spec, made, baseline))
    if (said := words.get("report")) is not None:
        found.append(MakeReport("report", said, base))
    return tuple(found)
