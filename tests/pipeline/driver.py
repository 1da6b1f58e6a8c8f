"""A sweep in a process of its own, to be killed: `python -m tests.pipeline.driver OUT`, with SWEEP_ITEMS and SWEEP_CODE set."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from experiments.pipeline.spark.session import spark_session
from experiments.pipeline.sweep.plan import SweepPlan
from experiments.pipeline.sweep.run import run_sweep
from experiments.pipeline.sweep.spec import SweepSpec, plan_sweep

SHAPES = ("chain", "star", "cycle", "clique")


def plan_of(items: int, code: str) -> SweepPlan:
    """Join graphs of 4 to 6 relations under one or two settings, and seeds to make up `items`, a multiple of 12.

    `code` makes the run one of its own.
    """
    assert items % 12 == 0, f"{items} is no multiple of 12"
    queries = [f"{shape}/4..6" for shape in SHAPES]
    seeds = range(items // 24) if items % 24 == 0 else range(items // 12)
    pruning = ["lower", "both"] if items % 24 == 0 else ["both"]
    spec = SweepSpec(queries, settings={"pruning": pruning}, seeds=list(seeds), memory=0)
    measure = "tests.pipeline.failing:slow_counting" if items < 1000 else "tests.pipeline.failing:counting"
    return plan_sweep(spec, measure=measure, code=code)


if __name__ == "__main__":
    plan = plan_of(int(os.environ["SWEEP_ITEMS"]), os.environ["SWEEP_CODE"])
    run_sweep(plan, Path(sys.argv[1]), lambda: spark_session("local[2]"), lambda line: print(line, file=sys.stderr, flush=True))
