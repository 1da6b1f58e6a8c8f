"""Built-in datasets that the data pipeline makes on first use: generated, then analyzed, by Spark on this machine.

Nothing here imports Spark before something has to be made.
"""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path

from experiments.workloads.cache import Progress, cached_dataset
from experiments.workloads.scale import parse_scale
from optimizer.errors import CatalogError

EXAMPLES = {"tpch": "tpch:0.1", "tpcds": "tpcds:0.1", "imdb_like": "imdb_like:0.01"}
_STAGE = "first use"


def generated_name(kind: str, argument: str) -> str:
    """The dataset's name with its scale in normal form: 0.10 and 1e-1 are 0.1. Raises CatalogError."""
    return f"{kind}:{_scale(kind, argument).normalize():f}"


def generated_folder(kind: str, argument: str, progress: Progress) -> Path:
    """The folder of a dataset of that kind and scale, made on first use. Raises CatalogError, PipelineError."""
    scale = _scale(kind, argument)
    return cached_dataset(f"{kind}-{scale.normalize():f}", lambda folder: _build(folder, kind, scale, progress), progress)


def first_use_seconds(folder: Path) -> dict[str, float]:
    """How long each step took when the dataset was made: `session`, `generate`, `analyze`; {} when nobody wrote that down."""
    from experiments.pipeline.manifest import read_manifest

    manifest = read_manifest(folder, _STAGE)
    return {} if manifest is None else {str(name): float(value) for name, value in manifest["counts"]["seconds"].items()}


def _scale(kind: str, argument: str) -> Decimal:
    if not argument:
        raise CatalogError(f"{kind} needs a scale factor: try {EXAMPLES[kind]}")
    return parse_scale(argument, f"{kind}:SF", EXAMPLES[kind])


def _build(folder: Path, kind: str, scale: Decimal, progress: Progress) -> None:
    from experiments.pipeline.analyze import analyze_dataset
    from experiments.pipeline.generate.generate import generate
    from experiments.pipeline.generate.kinds import recipe
    from experiments.pipeline.manifest import write_manifest
    from experiments.pipeline.session import spark_session

    wanted = recipe(kind, scale)
    made = generate(wanted, folder, lambda: spark_session(progress=progress), progress, by_hand=False)
    progress(f"{wanted.label}: {sum(made.rows.values()):,} rows in {made.seconds['generate']:.1f} s; analyzing")
    begun = time.perf_counter()
    analyze_dataset(folder, spark_session(), progress=progress)
    seconds = {**made.seconds, "analyze": round(time.perf_counter() - begun, 3)}
    write_manifest(folder, _STAGE, inputs={}, settings=wanted.identity, counts={"seconds": seconds}, files={})
    progress(f"{wanted.label}: analyzed in {seconds['analyze']:.1f} s")
