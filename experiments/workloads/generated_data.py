"""Built-in datasets that the data pipeline makes on first use: generated, then analyzed, by Spark on this machine.

Nothing here imports Spark before something has to be made.
"""

from decimal import Decimal
from pathlib import Path

from experiments.workloads.cache import Progress, cache_folder, cached_dataset, is_whole
from experiments.workloads.scale import parse_scale
from optimizer.errors import CatalogError

EXAMPLES = {"tpch": "tpch:0.1", "tpcds": "tpcds:0.1", "imdb_like": "imdb_like:0.01"}


def generated_name(kind: str, argument: str) -> str:
    """The dataset's name with its scale in normal form: 0.10 and 1e-1 are 0.1. Raises CatalogError."""
    return f"{kind}:{_scale(kind, argument).normalize():f}"


def generated_folder(kind: str, argument: str, progress: Progress) -> Path:
    """The folder of a dataset of that kind and scale, made on first use. Raises CatalogError, PipelineError."""
    scale = _scale(kind, argument)
    return cached_dataset(f"{kind}-{scale.normalize():f}", lambda folder: _build(folder, kind, scale, progress), progress)


def is_made(kind: str, argument: str) -> bool:
    """Whether the dataset is in the cache, so that nothing would be made now. Raises CatalogError."""
    return is_whole(cache_folder() / f"{kind}-{_scale(kind, argument).normalize():f}")


def seconds_of_steps(folder: Path) -> dict[str, float]:
    """How long each step took, by the manifests: `session` (to start Spark), `generate`, `analyze`; those that are known."""
    from experiments.pipeline.spark.manifest import read_manifest

    generated, analyzed = read_manifest(folder, "generate"), read_manifest(folder, "analyze")
    seconds = {} if generated is None else dict(generated["counts"]["seconds"])
    return seconds if analyzed is None else {**seconds, "analyze": analyzed["counts"]["seconds"]}


def _scale(kind: str, argument: str) -> Decimal:
    if not argument:
        raise CatalogError(f"{kind} needs a scale factor: try {EXAMPLES[kind]}")
    return parse_scale(argument, f"{kind}:SF", EXAMPLES[kind])


def _build(folder: Path, kind: str, scale: Decimal, progress: Progress) -> None:
    from experiments.pipeline.analyze.analyze import analyze_dataset
    from experiments.pipeline.generate.generate import generate, made_text
    from experiments.pipeline.generate.kinds import recipe
    from experiments.pipeline.spark.session import is_running, spark_session, stop_session

    wanted = recipe(kind, scale)
    ours = not is_running()
    try:
        made = generate(wanted, folder, lambda: spark_session(progress=progress), progress, by_hand=False)
        progress(f"{made_text(wanted, made)}, in {made.counts['seconds']['generate']:.1f} s; analyzing")
        report = analyze_dataset(folder, spark_session, say=progress)
        progress(f"{wanted.label}: analyzed in {report.seconds:.1f} s")
    finally:
        if ours:  # a query needs no Spark, and a test another one
            stop_session()
