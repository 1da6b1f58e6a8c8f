"""The results of sweeps on disk: which runs there are, how far each is, and all rows of one.

OUT/results/run=3f2a91c05be7/_plan.json            what is done (plan.py)
OUT/results/run=3f2a91c05be7/chunk-00000.parquet   rows of finished chunks
OUT/results/run=3f2a91c05be7/.chunk-00001.….journal   rows of chunks under way (journal.py)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.pipeline.sweep.chunk import chunk_file, is_whole
from experiments.pipeline.sweep.journal import journals, read_rows
from experiments.pipeline.sweep.plan import PLAN_FILE, SweepPlan, read_plan
from optimizer.errors import CatalogError

RESULTS = "results"
_RUN = "run="


@dataclass(frozen=True)
class Progress:
    """How far a run is. `done`: items with a row, of them `under_way` in chunks that are not finished. `errors` by kind."""

    items: int
    chunks: int
    chunks_done: int
    done: int
    under_way: int
    errors: dict[str, int]

    @property
    def complete(self) -> bool:
        return self.chunks_done == self.chunks


def run_folder(out: Path, run: str) -> Path:
    return out / RESULTS / f"{_RUN}{run}"


def runs(out: Path) -> list[str]:
    """Names of the runs in a folder of results, the one begun last at the end."""
    plans = sorted((out / RESULTS).glob(f"{_RUN}*/{PLAN_FILE}"), key=lambda path: (path.stat().st_mtime_ns, path))
    return [path.parent.name.removeprefix(_RUN) for path in plans]


def chunks_done(folder: Path, plan: SweepPlan) -> list[int]:
    return [chunk for chunk in range(plan.chunks) if is_whole(chunk_file(folder, chunk), plan.chunk_size(chunk))]


def progress_of(folder: Path) -> Progress:
    """How far the run in `folder` is. Raises CatalogError when there is none."""
    plan = read_plan(folder)
    finished = set(chunks_done(folder, plan))
    errors: Counter[str] = Counter()
    done = 0
    for chunk in finished:
        kinds = pq.read_table(chunk_file(folder, chunk), columns=["error_kind"]).column("error_kind").to_pylist()
        done += len(kinds)
        errors.update(kind for kind in kinds if kind is not None)
    under_way: dict[str, str | None] = {}
    for path in journals(folder):
        if int(path.name.split(".")[1].removeprefix("chunk-")) not in finished:
            under_way.update((row["item"], row.get("error_kind")) for row in read_rows(path))
    errors.update(kind for kind in under_way.values() if kind is not None)
    return Progress(plan.size, plan.chunks, len(finished), done + len(under_way), len(under_way), dict(sorted(errors.items())))


def read_results(folder: Path) -> pa.Table:
    """All rows of a complete run in the order of its plan. Raises CatalogError for a run that is not complete."""
    plan = read_plan(folder)
    missing = plan.chunks - len(chunks_done(folder, plan))
    if missing:
        raise CatalogError(f"the sweep in {folder} is not complete: {missing} of {plan.chunks} chunks are missing; run it again")
    tables = [
        pq.read_table(chunk_file(folder, chunk), partitioning=None, page_checksum_verification=True)
        for chunk in range(plan.chunks)
    ]
    return pa.concat_tables(tables).sort_by("number")
