"""[import]: a dataset of files or tables from elsewhere; the words are those of `planscope data import`.

[import]
sources = ["shop/"]      # beside the specification
format = "csv"
schema = "shop.sql"
tables = ["orders"]
options = {delimiter = ";"}
on_reject = "keep"       # or fail
on_dangling = "keep"     # or reject
merge_schema = false
jars = ["driver.jar"]
into = "data"            # folder within that of the pipeline
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.stages.fields import FLAG, FOLDER, TABLE, TEXT, TEXTS, Field, one_of, read_fields
from experiments.pipeline.stages.stage import DATA, Context, Outcome
from experiments.pipeline.sweep.problems import Problems

if TYPE_CHECKING:
    from experiments.pipeline.intake.request import ImportRequest

_FIELDS = {
    "sources": Field(TEXTS),
    "format": Field(TEXT),
    "schema": Field(TEXT),
    "tables": Field(TEXTS),
    "options": Field(TABLE),
    "on_reject": one_of("keep", "fail"),
    "on_dangling": one_of("keep", "reject"),
    "merge_schema": Field(FLAG),
    "jars": Field(TEXTS),
    "into": Field(FOLDER),
}


@dataclass(frozen=True)
class Import:
    """`words`: what the table says; `base`: the folder that files are named from."""

    words: dict[str, Any]
    base: Path
    into: str = DATA
    name: str = "import"

    @classmethod
    def from_table(cls, table: dict[str, Any], base: Path, problems: Problems) -> Import | None:
        """None when there are mistakes, which go to `problems`."""
        read = read_fields(table, "import", _FIELDS, problems)
        return None if read is None else cls(read, base, read.get("into", DATA))

    def check(self, out: Path) -> None:
        from experiments.pipeline.intake.request import planned

        planned(self._request(out))

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
