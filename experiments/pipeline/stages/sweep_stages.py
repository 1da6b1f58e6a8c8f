"""[sweep], whose keys are those of `experiments.pipeline.sweep.spec`, and [report].

Where the pipeline makes a dataset and [sweep] gives no data, queries of its workload run on that: tpch/… on a generated tpch,
job/… on imdb_like, chain/4 on joingraph, everything on an imported one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.pipeline.spark.manifest import is_done, write_manifest
from experiments.pipeline.stages.stage import Context, Outcome
from experiments.pipeline.sweep.run import run_sweep
from experiments.pipeline.sweep.spec import SweepSpec, plan_sweep


@dataclass(frozen=True)
class Sweep:
    """`made`: folders of the datasets that the pipeline makes, by workload ("*": any)."""

    spec: SweepSpec
    made: Mapping[str, str]
    name: str = "sweep"

    def check(self, out: Path) -> None:
        plan_sweep(self._spec(out), later=out)

    def run(self, context: Context) -> Outcome:
        plan = plan_sweep(self._spec(context.out), context.say)
        done = run_sweep(plan, context.out, context.spark, context.say)
        inputs = {f"{query.name} on {query.data}": query.digest for query in plan.queries}
        settings = {name: value for name, value in plan.as_dict().items() if name != "queries"}
        if not is_done(context.out, self.name, inputs, settings):
            counts = {"items": done.items, "errors": done.errors}
            write_manifest(context.out, self.name, inputs=inputs, settings=settings, counts=counts, files=done.files)
        return Outcome(done.made > 0, f"run {done.run}: {done.items:,} items{error_text(done.errors)}")

    def _spec(self, out: Path) -> SweepSpec:
        if self.spec.data is not None or not self.made:
            return self.spec
        return replace(self.spec, data={workload: str(out / folder) for workload, folder in self.made.items()})


@dataclass(frozen=True)
class MakeReport:
    """`baseline`: the variant that others are compared with; by default the first."""

    baseline: str | None = None
    name: str = "report"

    def check(self, out: Path) -> None:
        """What can be wrong depends on the sweep."""

    def run(self, context: Context) -> Outcome:
        from experiments.pipeline.report.report import write_report

        report = write_report(context.out, context.spark, self.baseline, progress=context.say)
        return Outcome(report.made, f"{context.out / report.page}, compared with {report.baseline}")


def error_text(errors: Mapping[str, int]) -> str:
    """`, 3 errors (2 timeout, 1 crash)`; nothing when there are none."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in errors.items())
    total = sum(errors.values())
    return f", {total:,} error{'s' if total > 1 else ''} ({kinds})" if errors else ""
