"""[generate]: a dataset made by Spark tasks.

[generate]
kind = "tpch"        # tpch, tpcds, joingraph, imdb_like
scale = 0.1
parts = 4            # files of each large table; by default of some 128 MB
graphs = ["clique/8"]  # joingraph: which
into = "data"        # folder within that of the pipeline
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.stages.fields import FOLDER, TEXT, TEXTS, WHOLE, Field, read_fields
from experiments.pipeline.stages.stage import DATA, Context, Outcome
from experiments.pipeline.sweep.problems import Problems

if TYPE_CHECKING:
    from experiments.pipeline.generate.recipe import Recipe

_FIELDS = {
    "kind": Field(TEXT, required=True),
    "scale": Field("a number above 0", lambda v: isinstance(v, (int, float, str)) and not isinstance(v, bool), required=True),
    "parts": Field(WHOLE),
    "graphs": Field(TEXTS),
    "into": Field(FOLDER),
}
_WORKLOADS = {"joingraph": ("chain", "star", "cycle", "clique", "grid", "random"), "imdb_like": ("job",)}


@dataclass(frozen=True)
class Generate:
    kind: str
    scale: str
    parts: int | None = None
    graphs: tuple[str, ...] = ()
    into: str = DATA
    name: str = "generate"

    @classmethod
    def from_table(cls, table: dict[str, Any], problems: Problems) -> Generate | None:
        """None when there are mistakes, which go to `problems`."""
        read = read_fields(table, "generate", _FIELDS, problems)
        if read is None:
            return None
        from experiments.pipeline.generate.kinds import KINDS

        if read["kind"] not in KINDS:
            problems.add(f'there is no kind of dataset "{read["kind"]}"; there are {", ".join(KINDS)}', "generate", "kind")
            return None
        return cls(**{**read, "scale": str(read["scale"]), "graphs": tuple(read.get("graphs", ()))})

    def workloads(self) -> tuple[str, ...]:
        """The workloads whose queries run on this dataset."""
        return _WORKLOADS.get(self.kind, (self.kind,))

    def check(self, out: Path) -> None:
        self._recipe()

    def run(self, context: Context) -> Outcome:
        from experiments.pipeline.generate.generate import generate
        from experiments.pipeline.generate.space import size_text

        made = generate(self._recipe(), context.out / self.into, context.spark, context.say)
        rows = sum(made.rows.values())
        text = f"{self.kind}:{self.scale}, {len(made.rows)} tables, {rows:,} rows, {size_text(made.bytes)}"
        return Outcome(made.made, text, self.into)

    def _recipe(self) -> Recipe:
        from experiments.pipeline.generate.kinds import recipe
        from experiments.workloads.scale import parse_scale

        return recipe(self.kind, parse_scale(self.scale, "scale = S", "scale = 0.1"), self.parts, self.graphs)
