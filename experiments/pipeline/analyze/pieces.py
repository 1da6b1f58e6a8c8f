"""What one task reads: some row groups of one file of a table, and where its sketch is kept.

A sketch is named by what it was made from (file, fingerprint, time of change, row groups, combinations of columns), so one
that is there need not be made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from experiments.pipeline.sketches.stored import VERSION
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.catalog.statistics import identities
from optimizer.catalog.table import Table

PIECE = 32 << 20  # bytes of a file that one task reads, roughly
Joint = tuple[tuple[str, ...], ...]


class Piece(NamedTuple):
    """`groups`: row groups of a Parquet file, None for the whole file. `sketch`: the file with its sketches."""

    table: Table
    file: Path
    groups: tuple[int, ...] | None
    sketch: Path


def pieces(folder: Path, table: Table, joint: Joint, sample: float | None) -> Iterator[Piece]:
    """All pieces of a table, in order; with `sample`, about that share of its row groups (of its files, if not Parquet), at
    even distances. Raises OSError."""
    units = list(_units(table))
    if sample is not None and units:
        step = max(1.0, 1.0 / sample)
        units = [units[int(i * step)] for i in range(max(1, round(len(units) / step))) if int(i * step) < len(units)]
    known = identities(table.files)
    for file, groups in units if sample is not None else _joined(units):
        described = [VERSION, file.name, known[file.name], groups, sorted(joint), [c.name for c in table.columns]]
        digest = hashlib.sha256(json.dumps(described).encode()).hexdigest()[:24]
        yield Piece(table, file, groups, folder / METADATA_FOLDER / "sketches" / f"{digest}.parquet")


def _units(table: Table) -> Iterator[tuple[Path, tuple[int, ...] | None]]:
    for file in table.files:
        if table.format != "parquet":
            yield file, None
            continue
        for group in range(pq.read_metadata(file).num_row_groups):
            yield file, (group,)


def _joined(units: Sequence[tuple[Path, tuple[int, ...] | None]]) -> Iterator[tuple[Path, tuple[int, ...] | None]]:
    """Neighbouring row groups of a file together, in parts of about PIECE bytes."""
    by_file: dict[Path, list[int]] = {}
    for file, groups in units:
        if groups is None:
            yield file, None
        else:
            by_file.setdefault(file, []).extend(groups)
    for file, all_groups in by_file.items():
        parts = max(1, min(len(all_groups), round(file.stat().st_size / PIECE)))
        for i in range(parts):
            chosen = all_groups[i * len(all_groups) // parts : (i + 1) * len(all_groups) // parts]
            yield file, tuple(chosen)
