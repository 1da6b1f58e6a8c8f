"""What one task reads, a part of a file, and the sketches it makes of that: in one reading, kept as Parquet files.

A file of sketches has a row for each column, or one for a combination of columns, of which the distinct values alone are
sketched. It is named by what it was made from (file, fingerprint, row groups, columns), so one that is there need not be made
again: sketches are the checkpoints of an analysis, and what makes the next one read new files only. Nothing in them is executed.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from executor.atomic import atomic_output, make_folder
from experiments.pipeline.sketches import stored
from experiments.pipeline.sketches.column import ColumnSketch, merge_sketches, sketch_of
from experiments.pipeline.sketches.hyperloglog import HyperLogLog, counter_of, hashes, merge_counters
from experiments.stored_rows import as_declared, open_source
from optimizer.catalog.csv_files import csv_input
from optimizer.catalog.folder import METADATA_FOLDER
from optimizer.catalog.table import Table
from optimizer.errors import CatalogError, OutputError

PIECE = 16 << 20  # bytes of a file that one task reads, roughly
_ENOUGH = 16  # parts of which a sample is made of whole parts; of fewer ones rows are taken from all
LEAST = 1_000  # rows that a sample has, or about as many: of none, nothing would be known
FEW = 30_000  # rows of a table that is read whole: as many as PostgreSQL's ANALYZE looks at in any table
_ROWS = 1 << 20  # that are counted at a time: of more rows at once less is lost than by merging
_BYTES = 256 << 20  # that are held at a time
_GATHERED = 16  # sketches of batches that wait to be merged
_MARK = {b"planscope-sketches": str(stored.VERSION).encode()}
_SCHEMA = pa.schema([("columns", pa.list_(pa.string())), ("sketch", pa.binary())], _MARK)
_AGAIN = "what was read before stays: once the folder can be written and has space, planscope data analyze goes on from there"

Columns = tuple[str, ...]
Unit = tuple[Path, tuple[int, ...] | None]  # a file, and which of its row groups; None: all of it
State = tuple[int, int, int]
Sketch = ColumnSketch | HyperLogLog  # of one column, of several
Sketches = dict[Columns, Sketch]


def state_of(file: Path) -> State:
    """Size, time of change, and the system's own time of change, which nobody can set. Raises OSError."""
    found = file.stat()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def check_unchanged(states: Mapping[Path, State | None]) -> None:
    """Raises CatalogError unless the files are what they were (None: not there): figures of one may not pass for another's."""
    for file, state in states.items():
        try:
            changed = state_of(file) != state
        except OSError:
            changed = True
        if changed:
            raise CatalogError(f"{file} changed while it was analyzed\nrun the analysis again, once nobody writes there any more")


class Piece(NamedTuple):
    """`groups`: row groups of a Parquet file, None for the whole file. `share`: of the rows, taken at random. `identity`: what
    the file is known by, `state`: what it was at that time. `joint`: combinations of columns that are counted together. `home`:
    the folder of sketches."""

    table: Table
    file: Path
    identity: str
    state: State
    groups: tuple[int, ...] | None
    share: float
    joint: Sequence[Columns]
    home: Path

    @property
    def sketches(self) -> dict[Path, list[Columns]]:
        """Its files of sketches, and what each is of: one of all columns, then one for each combination."""
        types = {column.name: str(column.type) for column in self.table.columns}
        each: list[list[Columns]] = [[(name,) for name in types], *([names] for names in self.joint)]
        start, of = file_name(self.file, self.identity), [self.table.name, self.groups, self.share]
        marks = [_digest([*of, wanted, [types[name] for names in wanted for name in names]]) for wanted in each]
        return {self.home / f"{start}-{mark}.parquet": wanted for mark, wanted in zip(marks, each, strict=True)}

    @property
    def missing(self) -> dict[Path, list[Columns]]:
        """Those of `sketches` that are still to be made."""
        return {path: wanted for path, wanted in self.sketches.items() if not path.exists()}


def sketch_folder(folder: Path) -> Path:
    """Of a dataset; made unless it is there. Raises OSError."""
    home = folder.absolute() / METADATA_FOLDER / "sketches"
    home.mkdir(exist_ok=True)
    return home


def file_name(file: Path, identity: str) -> str:
    """The start of the names of all sketches of a file."""
    return _digest([stored.VERSION, file.name, identity])


def remove_old_sketches(folder: Path, known: Mapping[str, Mapping[str, str]]) -> None:
    """Those of files that are gone or have changed, and what killed tasks have left. `known`: identities of files, by table."""
    files = {file_name(Path(name), identity) for identities in known.values() for name, identity in identities.items()}
    for path in sketch_folder(folder).iterdir():
        if path.name.partition("-")[0] not in files:
            path.unlink(missing_ok=True)


def _digest(described: object) -> str:
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:20]


def pieces(
    folder: Path, table: Table, identities: Mapping[str, str], states: Mapping[Path, State], sample: float | None,
    joint: Sequence[Columns],
) -> list[Piece]:  # fmt: skip
    """All pieces of a table, in order. `identities`: what its files are known by, by name; `states`: what they were then. With
    `sample`, that share of a table of more than FEW rows, but LEAST rows: of its row groups (files, if not Parquet), spread
    over all of it, if these are many; else of the rows of each. Raises OSError."""
    if sample is not None:
        sample = None if table.stats.rows <= FEW else max(sample, LEAST / table.stats.rows)
    home = sketch_folder(folder)
    units, share = parts_of(table), 1.0
    if sample is not None:
        groups = [(file, tuple(found[i : i + 1])) for file, found in _groups(table).items() for i in range(max(1, len(found)))]
        count = int(len(groups) * sample)
        if len(groups) * sample >= _ENOUGH:
            random = np.random.default_rng(0)  # one in each stretch, not always at the same place: data may be periodic
            each = sum(file.stat().st_size for file in table.files) / len(groups)
            chosen: dict[Path, list[int]] = {}
            for i in range(count):
                file, group = groups[int((i + random.random()) / sample)]
                chosen.setdefault(file, []).extend(group)
            units = _runs(chosen, lambda *_: max(1, min(count // _ENOUGH, int(PIECE / each))))
        else:
            share = sample
    bare = {file: of_file(table, file) for file in table.files}
    return [Piece(bare[file], file, identities[file.name], states[file], groups, share, joint, home) for file, groups in units]


def of_file(table: Table, file: Path) -> Table:
    """What a worker has to know of a table to read one of its files: no figures."""
    return Table(table.name, table.columns, files=(file.absolute(),), format=table.format, order=table.order)


def batches_of(table: Table, file: Path, groups: Sequence[int] | None, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Columns of a file of a table, or of some row groups of it, as queries read them."""
    fragment = next(iter(open_source(replace(table, files=(file,))).get_fragments()))
    fragment = fragment if groups is None else fragment.subset(row_group_ids=groups)
    batches: Iterator[pa.RecordBatch] = fragment.to_batches(table.read_schema, as_declared(table, names), batch_readahead=2)
    return batches


def parts_of(table: Table) -> list[Unit]:
    """Files of a table, and of each the row groups that one task reads, if it is Parquet: some PIECE bytes of it."""
    return _runs(_groups(table), lambda file, count: -(-count // max(1, round(file.stat().st_size / PIECE))))


def _groups(table: Table) -> dict[Path, list[int]]:
    """The row groups of each file, none of one that is no Parquet; without CSV files that are no more than names."""
    if table.format == "parquet":
        return {file: list(range(pq.read_metadata(file).num_row_groups)) for file in table.files}
    return {file: [] for file in table.files if table.format != "csv" or csv_input(file) is file}


def _runs(groups: Mapping[Path, Sequence[int]], most: Callable[[Path, int], int]) -> list[Unit]:
    """Successive row groups of a file together, up to `most` (of the file, and how many it has)."""
    found: list[Unit] = []
    for file, every in groups.items():
        step = most(file, len(every)) if every else 1
        found += [(file, tuple(every[i : i + step])) for i in range(0, len(every), step)] or [(file, None)]
    return found


def sketch_piece(piece: Piece) -> float:
    """Makes what is missing; seconds. Raises CatalogError naming the file that cannot be read or has changed, OutputError."""
    started, missing = time.perf_counter(), piece.missing
    try:
        sketches = _sketched(piece, [columns for wanted in missing.values() for columns in wanted])
        check_unchanged({piece.file: piece.state})
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n")[0].split(". Detail:")[0]
        raise CatalogError(f"{piece.file} cannot be read: {reason}\nwrite it again, or move it out of the folder") from error
    for path, wanted in missing.items():
        write_sketches(path, {columns: stored.to_bytes(sketches[columns]) for columns in wanted})
    return time.perf_counter() - started


def write_sketches(path: Path, found: Mapping[Columns, bytes]) -> None:
    """Whole or not at all: other processes may write the same file. Raises OutputError."""
    columns = {"columns": list(map(list, found)), "sketch": list(found.values())}
    with writing(path), atomic_output(make_folder(path.parent) / path.name) as file:
        pq.write_table(pa.table(columns, schema=_SCHEMA), file, compression="none", write_page_checksum=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What cannot be written is an OutputError that says what to do."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {error.filename or path}: {error.strerror or error}\n{_AGAIN}") from error
    except OutputError as error:
        raise OutputError(f"{error}\n{_AGAIN}") from error


def contents(path: Path) -> dict[Columns, bytes]:
    """What `write_sketches` wrote, for `sketch_in`. Raises CatalogError when damaged."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        if table.schema.metadata != _MARK:
            raise ValueError("another version")
        return {tuple(row["columns"]): row["sketch"] for row in table.to_pylist()}
    except (OSError, ValueError, LookupError, pa.ArrowException) as error:
        raise CatalogError(f"cannot read {path} ({error})\ndelete it: planscope data analyze makes it again") from error


def sketch_in(columns: Sequence[str], content: bytes) -> Any:
    """The sketch of one column or of several. Raises ArrowException or KeyError for what is none."""
    return stored.from_bytes(ColumnSketch if len(columns) == 1 else HyperLogLog, content)


def merged(parts: Sequence[Any]) -> Any:
    """The sketches of several pieces as one."""
    return merge_sketches(parts) if isinstance(parts[0], ColumnSketch) else merge_counters(parts)


def empty(table: Table, columns: Columns) -> Sketch:
    """The sketch of no rows."""
    return _of_batch([pa.array([], table.schema.field(name).type) for name in columns])


def _of_batch(columns: Sequence[pa.Array]) -> Sketch:
    return sketch_of(columns[0]) if len(columns) == 1 else counter_of(hashes(*columns))


def _sketched(piece: Piece, wanted: Sequence[Columns]) -> Sketches:
    """In one reading, the sketches of each of `wanted`."""
    parts = {columns: [empty(piece.table, columns)] for columns in wanted}
    for batch in _batches(piece, list(dict.fromkeys(name for columns in wanted for name in columns))):
        for columns, gathered in parts.items():
            gathered.append(_of_batch([batch.column(name) for name in columns]))
            if len(gathered) > _GATHERED:
                gathered[:] = [merged(gathered)]
    return {columns: merged(gathered) for columns, gathered in parts.items()}


def _batches(piece: Piece, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of the named columns, of about _ROWS rows or _BYTES bytes, without empty ones."""
    random = np.random.default_rng(0)
    waiting: list[pa.RecordBatch] = []
    for batch in batches_of(piece.table, piece.file, piece.groups, names):
        if piece.share < 1.0:
            batch = batch.filter(pa.array(random.random(batch.num_rows) < piece.share))
        if batch.num_rows:
            waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= _ROWS or sum(each.nbytes for each in waiting) >= _BYTES:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)
