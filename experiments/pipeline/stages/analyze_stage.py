"""[analyze]: statistics of the datasets that the pipeline makes, or of another folder.

[analyze]
data = "shop"     # folder beside the specification; by default what the pipeline made
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.pipeline.stages.fields import TEXT, Field, read_fields
from experiments.pipeline.stages.stage import Context, Outcome
from experiments.pipeline.sweep.problems import Problems


@dataclass(frozen=True)
class Analyze:
    """`folders`: absolute, or within that of the pipeline."""

    folders: tuple[str, ...]
    name: str = "analyze"

    @classmethod
    def from_table(cls, table: dict[str, Any], base: Path, made: list[str], problems: Problems) -> Analyze | None:
        """None when there are mistakes, which go to `problems`. `made`: folders that the pipeline makes before."""
        read = read_fields(table, "analyze", {"data": Field(TEXT)}, problems)
        if read is None:
            return None
        if "data" in read:
            return cls((str((base / read["data"]).absolute()),))
        if not made:
            problems.add('nothing to analyze: write data = "FOLDER", or add [generate] or [import]', "analyze")
            return None
        return cls(tuple(made))

    def check(self, out: Path) -> None:
        """What can be wrong depends on the data."""

    def run(self, context: Context) -> Outcome:
        from experiments.pipeline.analyze import analyze_dataset

        for folder in self.folders:
            analyze_dataset(context.out / folder, context.spark, progress=context.say)
        return Outcome(True, ", ".join(self.folders), self.folders[-1])
