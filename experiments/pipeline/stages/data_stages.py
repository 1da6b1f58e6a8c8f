"""[generate], [import] and [analyze]: a dataset and its statistics (docs/pipeline.md has their keys)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.stages.stage import DATA, Context, Outcome
from experiments.pipeline.sweep.problems import Problems
from experiments.pipeline.sweep.spec import is_built_in

if TYPE_CHECKING:
    from experiments.pipeline.generate.recipe import Recipe
    from experiments.pipeline.intake.request import ImportRequest

_WORKLOADS = {"joingraph": ("chain", "star", "cycle", "clique", "grid", "random"), "imdb_like": ("job",)}


@dataclass(frozen=True)
class Generate:
    """`words`: what the table says."""

    words: dict[str, Any]
    name: str = "generate"

    def complain(self, problems: Problems) -> None:
        from experiments.pipeline.generate.kinds import KINDS

        if self.words["kind"] not in KINDS:
            problems.add(f'there is no kind of dataset "{self.words["kind"]}"; there are {", ".join(KINDS)}', "generate", "kind")

    @property
    def into(self) -> str:
        return str(self.words.get("into", DATA))

    @property
    def workloads(self) -> tuple[str, ...]:
        """The workloads whose queries run on this dataset."""
        return _WORKLOADS.get(self.words["kind"], (self.words["kind"],))

    def check(self, out: Path) -> None:
        self._recipe()

    def run(self, context: Context) -> Outcome:
        from experiments.pipeline.generate.generate import generate, size_text

        made = generate(self._recipe(), context.out / self.into, context.spark, context.say)
        rows, what = sum(made.rows.values()), f"{self.words['kind']}:{self.words['scale']}"
        return Outcome(made.made, f"{what}, {len(made.rows)} tables, {rows:,} rows, {size_text(made.bytes)}", self.into)

    def _recipe(self) -> Recipe:
        from experiments.pipeline.generate.kinds import recipe
        from experiments.workloads.scale import parse_scale

        scale = parse_scale(str(self.words["scale"]), "scale = S", "scale = 0.1")
        return recipe(self.words["kind"], scale, self.words.get("parts"), tuple(self.words.get("graphs", ())))


@dataclass(frozen=True)
class Import:
    """`words`: what the table says; `base`: the folder that files are named from."""

    words: dict[str, Any]
    base: Path
    name: str = "import"

    @property
    def into(self) -> str:
        return str(self.words.get("into", DATA))

    def check(self, out: Path) -> None:
        from experiments.pipeline.intake.request import planned

        planned(self._request(out))

    def is_small(self, out: Path) -> bool:
        from experiments.pipeline.intake.request import is_small

        return is_small(self._request(out))

    def run(self, context: Context) -> Outcome:
        from experiments.pipeline.intake.run import import_dataset

        manifest, was_there = import_dataset(self._request(context.out), context.spark, context.say, context.resume)
        tables = manifest["counts"]["tables"].values()
        rejected = sum(one["rows"] for table in tables for one in table["rejected"])
        text = f"{len(tables)} tables, {sum(table['kept'] for table in tables):,} rows, {rejected:,} rejected"
        return Outcome(not was_there, text, self.into)

    def _request(self, out: Path) -> ImportRequest:
        from experiments.pipeline.intake.request import ImportRequest

        words = self.words
        return ImportRequest(
            sources=tuple(self._path(source) for source in words.get("sources", ())),
            folder=out / self.into,
            format=words.get("format"),
            schema=Path(self._path(words["schema"])) if "schema" in words else None,
            tables=tuple(words.get("tables", ())),
            options={name: str(value) for name, value in words.get("options", {}).items()},
            on_reject=words.get("on_reject", "keep"),
            on_dangling=words.get("on_dangling", "keep"),
            merge=words.get("merge_schema", False),
            jars=tuple(Path(self._path(jar)) for jar in words.get("jars", ())),
        )

    def _path(self, name: str) -> str:
        """A file beside the specification; a URL as it is."""
        return name if "://" in name else str((self.base / Path(name).expanduser()).absolute())


@dataclass(frozen=True)
class Analyze:
    """`words`: what the table says; `base`: the folder that `data` is named from; `made`: folders that the pipeline makes."""

    words: dict[str, Any]
    base: Path
    made: tuple[str, ...]
    name: str = "analyze"

    def complain(self, problems: Problems) -> None:
        if "data" not in self.words and not self.made:
            problems.add('nothing to analyze: write data = "FOLDER", or add [generate] or [import]', "analyze")

    def check(self, out: Path) -> None:
        """What can be wrong depends on the data."""

    def run(self, context: Context) -> Outcome:
        from experiments.pipeline.analyze.analyze import analyze_dataset
        from experiments.workloads.data import dataset_folder

        given = self.words.get("data")
        if given is None:
            folders = [context.out / folder for folder in self.made]
        else:
            folders = [
                dataset_folder(given, context.say) if is_built_in(given) else (self.base / Path(given).expanduser()).absolute()
            ]
        joint = [(name, tuple(columns)) for name, sets in self.words.get("joint", {}).items() for columns in sets]
        reports = [
            analyze_dataset(
                folder,
                context.spark,
                tables=self.words.get("tables", ()),
                joint=joint,
                sample=self.words.get("sample"),
                progress=context.say,
            )
            for folder in folders
        ]
        tables = [table for report in reports for table in report.tables]
        text = f"{len(tables)} tables, {sum(table.rows for table in tables):,} rows"
        return Outcome(any(report.read for report in reports), text, str(folders[-1]))
