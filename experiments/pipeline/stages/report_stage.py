"""[report]: tables and figures of the sweep.

[report]
baseline = "pruning=none"   # the variant that others are compared with; by default the first
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.pipeline.stages.fields import TEXT, Field, read_fields
from experiments.pipeline.stages.stage import Context, Outcome
from experiments.pipeline.sweep.problems import Problems


@dataclass(frozen=True)
class MakeReport:
    baseline: str | None = None
    name: str = "report"

    @classmethod
    def from_table(cls, table: dict[str, Any], problems: Problems) -> MakeReport | None:
        """None when there are mistakes, which go to `problems`."""
        read = read_fields(table, "report", {"baseline": Field(TEXT)}, problems)
        return None if read is None else cls(**read)

    def check(self, out: Path) -> None:
        """What can be wrong depends on the sweep."""

    def run(self, context: Context) -> Outcome:
        from experiments.pipeline.report.report import write_report

        report = write_report(context.out, context.spark, self.baseline, progress=context.say)
        return Outcome(report.made, f"{context.out / report.page}, compared with {report.baseline}")
