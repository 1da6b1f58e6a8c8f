"""[analyze]: statistics of the datasets that the pipeline makes, or of another one.

[analyze]
data = "shop"              # folder beside the specification, or tpch:0.1; by default what the pipeline made
tables = ["orders"]        # by default all
sample = 0.1               # share of each table to read; by default all, and keys are verified
joint = {orders = [["customer", "day"]]}   # columns whose combinations are counted
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.pipeline.stages.fields import TEXT, TEXTS, Field, read_fields
from experiments.pipeline.stages.stage import Context, Outcome
from experiments.pipeline.sweep.problems import Problems
from experiments.pipeline.sweep.spec import is_built_in


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1


def _is_joint(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    sets = [columns for given in value.values() for columns in (given if isinstance(given, list) else [None])]
    return all(isinstance(columns, list) and columns and all(isinstance(c, str) for c in columns) for columns in sets)


_FIELDS = {
    "data": Field(TEXT),
    "tables": Field(TEXTS),
    "sample": Field("a share from 0 to 1", _is_share),
    "joint": Field('lists of columns by table, {orders = [["customer", "day"]]}', _is_joint),
}


@dataclass(frozen=True)
class Analyze:
    """`data`: folders, absolute or within that of the pipeline, or names of built-in datasets. `joint`: (table, columns)."""

    data: tuple[str, ...]
    tables: tuple[str, ...] = ()
    sample: float | None = None
    joint: tuple[tuple[str, tuple[str, ...]], ...] = ()
    name: str = "analyze"

    @classmethod
    def from_table(cls, table: dict[str, Any], base: Path, made: list[str], problems: Problems) -> Analyze | None:
        """None when there are mistakes, which go to `problems`. `made`: folders that the pipeline makes before."""
        read = read_fields(table, "analyze", _FIELDS, problems)
        if read is None:
            return None
        given = read.get("data")
        if given is not None and not is_built_in(given):
            given = str((base / Path(given).expanduser()).absolute())
        if given is None and not made:
            problems.add('nothing to analyze: write data = "FOLDER", or add [generate] or [import]', "analyze")
            return None
        joint = tuple((name, tuple(columns)) for name, sets in read.get("joint", {}).items() for columns in sets)
        share = read.get("sample")
        data = tuple(made) if given is None else (given,)
        return cls(data, tuple(read.get("tables", ())), None if share is None else float(share), joint)

    def check(self, out: Path) -> None:
        """What can be wrong depends on the data."""

    def run(self, context: Context) -> Outcome:
        from experiments.pipeline.analyze.analyze import analyze_dataset
        from experiments.workloads.data import dataset_folder

        read = rows = tables = 0
        for data in self.data:
            folder = dataset_folder(data, context.say) if is_built_in(data) else context.out / data
            report = analyze_dataset(
                folder, context.spark, tables=self.tables, joint=self.joint, sample=self.sample, progress=context.say
            )
            read += report.read
            tables += len(report.tables)
            rows += sum(table.rows for table in report.tables)
        return Outcome(read > 0, f"{tables} tables, {rows:,} rows", str(folder))
