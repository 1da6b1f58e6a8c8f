"""Parquet files by row groups: each is read, filtered and decoded on the thread that goes on with its rows.

Texts that repeat much are read as dictionaries and become texts only once rows were dropped; a conjunct over one such column is
evaluated once for each distinct text of a batch. Row groups that statistics rule out are not read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from executor.arrow.batches import column_name, single_array
from executor.arrow.expressions import compile_predicate
from executor.arrow.selection import flags, taken
from optimizer.algebra.columns import ColumnId, ColumnSet, DataType, column_ids
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.scalars import Predicate

if TYPE_CHECKING:
    import pyarrow.dataset as ds

Zones = Mapping[str, str]  # of those columns of a file that are timestamps with a zone, by name
_DICTIONARY_BYTES = 2.5  # that a value of a column of repeating texts takes in a file at most, before compression


class RowGroup(NamedTuple):
    """What a pipeline hands on in the place of a batch that was not read yet."""

    file: ds.ParquetFileFragment
    number: int
    num_rows: int


class RowTest(Protocol):
    """Which rows matter besides, by the values of a column."""

    column: ColumnId

    def passes(self, values: pa.Array) -> np.ndarray:
        """A flag for each value."""


class ParquetFiles:
    """The files of a table. Each thread keeps the one open that it read last: row groups come file by file."""

    def __init__(self, dataset: ds.Dataset) -> None:
        self._dataset = dataset
        self._open: dict[int, tuple[str, pq.ParquetFile]] = {}

    def row_groups(
        self, conjuncts: Callable[[Zones], Sequence[pc.Expression]], among: Sequence[RowGroup] | None = None
    ) -> list[RowGroup]:
        """Those (of all, or of such as were found before) that may have rows for which all conjuncts are true, in order.
        `conjuncts`: for files with such zones."""
        found, made = [], {}
        fragments = self._dataset.get_fragments() if among is None else {id(group.file): group.file for group in among}.values()
        for fragment in fragments:
            zones = tuple((f.name, f.type.tz) for f in fragment.physical_schema if pa.types.is_timestamp(f.type) and f.type.tz)
            if zones not in made:
                made[zones] = conjuncts(dict(zones))
            schema = fragment.physical_schema if zones else self._dataset.schema  # which has no zones to compare statistics with
            for conjunct in made[zones]:
                fragment = fragment.subset(filter=conjunct, schema=schema)
            found += [RowGroup(fragment, group.id, group.num_rows) for group in fragment.row_groups if group.num_rows]
        if among is None:
            return found
        known = {(group.file.path, group.number) for group in among}
        return [group for group in found if (group.file.path, group.number) in known]

    def read(self, group: RowGroup, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The row group as batches of at most `rows` rows. Texts may come as dictionaries."""
        path, thread = group.file.path, threading.get_ident()
        known, file = self._open.get(thread, ("", None))
        if file is None or path != known:
            metadata = group.file.metadata
            file = pq.ParquetFile(
                path,
                metadata=metadata,
                read_dictionary=_repeating(metadata, columns),
                coerce_int96_timestamp_unit="us",  # Spark's timestamps, of any year
                pre_buffer=False,  # reading ahead is for other threads to do, and they are busy
                page_checksum_verification=True,  # of pages that have checksums
            )
            self._open[thread] = path, file
        yield from file.iter_batches(rows, [group.number], columns, use_threads=False)


def repeats(path: Path, column: str) -> bool:
    """Whether the column is read as a dictionary from this file, if there is one."""
    try:
        return column in _repeating(pq.read_metadata(path), [column])
    except (pa.ArrowException, OSError):
        return False  # whoever reads it says why


def _repeating(metadata: pq.FileMetaData, columns: Sequence[str]) -> list[str]:
    """Those of the columns that are texts and take few bytes a value, by a few row groups of the file: it has places in a
    dictionary for them."""
    count = metadata.num_row_groups
    groups = [metadata.row_group(number) for number in sorted({0, count // 2, count - 1})] if count else []
    places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    rows = sum(group.num_rows for group in groups)
    found = []
    for name in columns:
        chunks = [group.column(places[name]) for group in groups] if name in places else []
        if chunks and all(chunk.physical_type == "BYTE_ARRAY" for chunk in chunks):
            if sum(chunk.total_uncompressed_size for chunk in chunks) <= _DICTIONARY_BYTES * rows:
                found.append(name)
    return found


class Decoder:
    """Turns what was read into batches of `schema` with the rows for which `predicate` is TRUE, and that pass all `tests`, which
    are over columns of the schema.

    `names`: columns of the files, of all that the predicate reads and the schema has.
    """

    def __init__(
        self, predicate: Predicate, names: dict[ColumnId, str], types: dict[ColumnId, DataType], schema: pa.Schema,
        tests: Sequence[RowTest] = (),
    ) -> None:  # fmt: skip
        self._names, self._types, self._schema, self._tests = names, types, schema, tests
        one_text: dict[ColumnId, list[int]] = {}
        for i, conjunct in enumerate(predicate):
            of = list(column_ids(conjunct.columns))
            if len(of) == 1 and pa.types.is_string(types[of[0]]) and not conjunct.raises and not conjunct.volatile:
                one_text.setdefault(of[0], []).append(i)
        self._of_texts = {id: compile_predicate(tuple(predicate[i] for i in numbers)) for id, numbers in one_text.items()}
        done = {i for numbers in one_text.values() for i in numbers}
        rest = tuple(conjunct for i, conjunct in enumerate(predicate) if i not in done)
        self._rest = compile_predicate(rest) if rest else None
        self._read_by_rest: ColumnSet = predicate_columns(rest)
        self._kept = [id for id in names if column_name(id) in schema.names]

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(self._names.values()))

    def decode(self, raw: pa.RecordBatch) -> pa.RecordBatch | None:
        """None where no row is left. Columns are taken last, once it is known which rows are left."""
        arrays = {id: _column(raw, name, self._types[id]) for id, name in self._names.items()}
        rows: np.ndarray | None = None  # all
        if self._of_texts:
            masks = [self._text_mask(id, arrays[id], keep) for id, keep in self._of_texts.items()]
            rows = _fewer(None, reduce(np.logical_and, masks))
        if self._rest is not None and (rows is None or len(rows)):
            ids = list(column_ids(self._read_by_rest))
            # a condition on no column at all still has to know how many rows there are
            count = pa.nulls(raw.num_rows if rows is None else len(rows))
            values = [*(self._plain(id, arrays[id], rows) for id in ids), count]
            rows = _fewer(rows, flags(self._rest(pa.record_batch(values, [*map(column_name, ids), "rows"]))))
        for test in self._tests:
            if rows is None or len(rows):
                rows = _fewer(rows, test.passes(self._plain(test.column, arrays[test.column], rows)))
        if rows is not None and not len(rows):
            return None
        made = [
            (self._encoded if pa.types.is_dictionary(field.type) else self._plain)(id, arrays[id], rows)
            for id, field in zip(sorted(self._kept), self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(made, schema=self._schema)

    def _encoded(self, id: ColumnId, array: pa.Array, rows: np.ndarray | None) -> pa.Array:
        """The same rows of a column of texts as a dictionary of texts that differ, in whatever form it was read."""
        chosen = array if rows is None else taken(array, rows)
        if not pa.types.is_dictionary(chosen.type):
            return chosen.dictionary_encode()
        texts = _typed(chosen.dictionary, self._types[id])
        if len(texts) > len(chosen) or texts.null_count or len(texts.unique()) < len(texts):
            return taken(texts, chosen.indices).dictionary_encode()
        return pa.DictionaryArray.from_arrays(chosen.indices.cast(pa.int32()), texts, safe=False)

    def _plain(self, id: ColumnId, array: pa.Array, rows: np.ndarray | None) -> pa.Array:
        """Some rows of a column (None: all); a dictionary as what it stands for."""
        if not pa.types.is_dictionary(array.type):
            return array if rows is None else taken(array, rows)
        indices = array.indices if rows is None else taken(array.indices, rows)
        return taken(_typed(array.dictionary, self._types[id]), indices)

    def _text_mask(self, id: ColumnId, array: pa.Array, keep: Callable[[pa.RecordBatch], pa.Array]) -> np.ndarray:
        name = column_name(id)
        if not pa.types.is_dictionary(array.type):
            return flags(keep(pa.record_batch([array], [name])))
        texts = pa.concat_arrays([_typed(array.dictionary, self._types[id]), pa.nulls(1, self._types[id])])
        of_each = flags(keep(pa.record_batch([texts], [name])))
        return of_each.take(array.indices.fill_null(len(texts) - 1).to_numpy(), mode="clip")


def _fewer(rows: np.ndarray | None, mask: np.ndarray) -> np.ndarray | None:
    """Of the rows (None: all) those that the mask, which has a flag for each of them, chooses."""
    chosen = np.flatnonzero(mask)
    if len(chosen) == len(mask):
        return rows
    return chosen if rows is None else rows[chosen]


def _column(raw: pa.RecordBatch, name: str, type: DataType) -> pa.Array:
    """As `_typed`, of a column, which errors name."""
    try:
        return _typed(raw.column(name), type)
    except pa.ArrowInvalid as error:
        raise pa.ArrowInvalid(f'column "{name}": {error}') from error


def _typed(array: pa.Array, type: DataType) -> pa.Array:
    """The values as `type`, whatever type the file has, or as a dictionary. Raises ArrowInvalid for a value that does not fit."""
    return array if array.type == type or pa.types.is_dictionary(array.type) else single_array(array.cast(type))
