"""A sweep in a process of its own, to be killed: `python -m tests.pipeline.driver OUT ITEMS`."""

import sys
from dataclasses import replace
from pathlib import Path

from experiments.pipeline.spark.session import spark_session
from experiments.pipeline.sweep.plan import SweepPlan
from experiments.pipeline.sweep.run import run_sweep
from experiments.pipeline.sweep.spec import SweepSpec, plan_sweep
from tests.pipeline import failing

SHAPES = ("chain", "star", "cycle", "clique")


def plan_of(items: int, code: str = "test") -> SweepPlan:
    """Join graphs of 4 to 6 relations under one or two settings, and seeds to make up `items`, a multiple of 12."""
    assert items % 12 == 0, f"{items} is no multiple of 12"
    queries = [f"{shape}/4..6" for shape in SHAPES]
    seeds = range(items // 24) if items % 24 == 0 else range(items // 12)
    pruning = ["lower", "both"] if items % 24 == 0 else ["both"]
    spec = SweepSpec(queries, settings={"pruning": pruning}, seeds=list(seeds), memory=0)
    return replace(plan_sweep(spec, code=code), measure=failing.NAME)


if __name__ == "__main__":
    plan = plan_of(int(sys.argv[2]))
    run_sweep(plan, Path(sys.argv[1]), lambda: spark_session("local[2]"), lambda line: print(line, file=sys.stderr, flush=True))
