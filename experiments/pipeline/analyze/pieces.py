"""What one task reads, a part of a file, and where its sketches are kept.

A sketch is named by what it was made from (file, fingerprint, time of change, row groups, columns), so one that is there need not
be made again: sketches are the checkpoints of an analysis, and what makes the next one read new files only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from experiments.pipeline.sketches.stored import VERSION
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.catalog.source import open_source
from optimizer.catalog.table import Table
from optimizer.errors import CatalogError

PIECE = 16 << 20  # bytes of a file that one task reads, roughly
_ENOUGH = 16  # parts of which a sample is made of whole parts; of fewer ones rows are taken from all

Unit = tuple[Path, tuple[int, ...] | None]  # a file, and which of its row groups; None: all of it
State = tuple[int, int, int]


def state_of(file: Path) -> State:
    """Size, time of change, and the system's own time of change, which nobody can set. Raises OSError."""
    found = file.stat()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def check_unchanged(file: Path, state: State | None) -> None:
    """Raises CatalogError unless the file is what it was (None: not there): figures of it may not pass for those of another."""
    with suppress(OSError):
        if state_of(file) == state:
            return
    raise CatalogError(f"{file} changed while it was analyzed\nrun the analysis again, once nobody writes there any more")


class Piece(NamedTuple):
    """`groups`: row groups of a Parquet file, None for the whole file. `share`: of the rows, taken at random. `identity`: what
    the file is known by, `state`: what it was at that time. `home`: the folder of sketches."""

    table: Table
    file: Path
    identity: str
    state: State
    groups: tuple[int, ...] | None
    share: float
    home: Path

    @property
    def sketch(self) -> Path:
        """Of each column."""
        return self._named([[c.name, str(c.type)] for c in self.table.columns])

    def joint_sketch(self, names: Sequence[str]) -> Path:
        """Of the combinations of some columns."""
        return self._named([list(names), [str(self.table.schema.field(name).type) for name in names]])

    def _named(self, columns: object) -> Path:
        digest = _digest([VERSION, self.table.name, self.groups, self.share, columns])
        return self.home / f"{file_name(self.file, self.identity)}-{digest}.parquet"


def sketch_folder(folder: Path) -> Path:
    return folder / METADATA_FOLDER / "sketches"


def file_name(file: Path, identity: str) -> str:
    """The start of the names of all sketches of a file."""
    return _digest([file.name, identity])


def pieces(
    folder: Path, table: Table, identities: Mapping[str, str], states: Mapping[Path, State], sample: float | None
) -> list[Piece]:
    """All pieces of a table, in order. `identities`: what its files are known by, by name; `states`: what they were then.

    With `sample`, that share of the table: of its row groups (files, if not Parquet), spread over all of it, if these are many;
    else of the rows of each. Raises OSError.
    """
    home, table = sketch_folder(folder).absolute(), bare(table)
    units, share = parts_of(table), 1.0
    if sample is not None:
        groups = [(file, tuple(found[i : i + 1])) for file, found in _groups(table).items() for i in range(max(1, len(found)))]
        if len(groups) * sample >= _ENOUGH:
            random = np.random.default_rng(0)  # one in each stretch, not always at the same place: data may be periodic
            each = sum(file.stat().st_size for file in table.files) / len(groups)
            chosen: dict[Path, list[int]] = {}
            for i in range(int(len(groups) * sample)):
                file, group = groups[int((i + random.random()) / sample)]
                chosen.setdefault(file, []).extend(group)
            units = _runs(chosen, lambda *_: max(1, min(int(len(groups) * sample) // _ENOUGH, int(PIECE / each))))
        else:
            share = sample
    return [Piece(table, file, identities[file.name], states[file], groups, share, home) for file, groups in units]


def bare(table: Table) -> Table:
    """What a worker has to know of a table to read it: no figures."""
    files = tuple(file.absolute() for file in table.files)
    return Table(table.name, table.columns, files=files, format=table.format, order=table.order)


def fragment_of(table: Table, file: Path, groups: Sequence[int] | None) -> Any:
    """A file of a table, or some row groups of it, to be read as queries read it."""
    fragment = next(iter(open_source(replace(table, files=(file,))).get_fragments()))
    return fragment if groups is None else fragment.subset(row_group_ids=groups)


def parts_of(table: Table) -> list[Unit]:
    """Files of a table, and of each the row groups that one task reads, if it is Parquet: some PIECE bytes of it."""
    return _runs(_groups(table), lambda file, count: -(-count // max(1, round(file.stat().st_size / PIECE))))


def _groups(table: Table) -> dict[Path, list[int]]:
    """The row groups of each file; none of one that is no Parquet."""
    is_parquet = table.format == "parquet"
    return {file: list(range(pq.read_metadata(file).num_row_groups)) if is_parquet else [] for file in table.files}


def _runs(groups: Mapping[Path, Sequence[int]], most: Callable[[Path, int], int]) -> list[Unit]:
    """Successive row groups of a file together, up to `most` (of the file, and how many it has)."""
    found: list[Unit] = []
    for file, every in groups.items():
        step = most(file, len(every)) if every else 1
        found += [(file, tuple(every[i : i + step])) for i in range(0, len(every), step)] or [(file, None)]
    return found


def _digest(described: object) -> str:
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:20]
