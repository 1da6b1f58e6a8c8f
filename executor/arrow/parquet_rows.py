"""Parquet files by row groups: each is read, filtered and decoded on the thread that goes on with its rows.

Texts that repeat much are read as dictionaries and become texts only once rows were dropped; a conjunct over one such column is
evaluated once for each distinct text of a batch. Row groups that statistics rule out are not read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from executor.arrow.batches import column_name, single_array
from executor.arrow.expressions import compile_predicate
from optimizer.algebra.columns import ColumnId, ColumnSet, DataType, column_ids
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.scalars import Predicate

if TYPE_CHECKING:
    import pyarrow.dataset as ds

_DICTIONARY_BYTES = 2.5  # that a value of a column of repeating texts takes in a file at most, before compression


class RowGroup(NamedTuple):
    """What a pipeline hands on in the place of a batch that was not read yet."""

    file: ds.ParquetFileFragment
    number: int
    num_rows: int


class ParquetFiles:
    """The files of a table, opened once for each thread."""

    def __init__(self, dataset: ds.Dataset) -> None:
        self._dataset = dataset
        self._open: dict[tuple[int, str], pq.ParquetFile] = {}

    def row_groups(self, conjuncts: Sequence[pc.Expression]) -> list[RowGroup]:
        """Those that may have rows for which all conjuncts are true, in order."""
        found = []
        for fragment in self._dataset.get_fragments():
            for conjunct in conjuncts:
                fragment = fragment.subset(filter=conjunct, schema=self._dataset.schema)
            found += [RowGroup(fragment, group.id, group.num_rows) for group in fragment.row_groups if group.num_rows]
        return found

    def read(self, group: RowGroup, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The row group as batches of at most `rows` rows. Texts may come as dictionaries."""
        key = threading.get_ident(), group.file.path
        file = self._open.get(key)
        if file is None:
            metadata = group.file.metadata
            file = self._open[key] = pq.ParquetFile(
                group.file.path,
                metadata=metadata,
                read_dictionary=_repeating(metadata, columns),
                page_checksum_verification=True,  # of pages that have checksums
            )
        yield from file.iter_batches(rows, [group.number], columns, use_threads=False)


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
    """Turns what was read into batches of `schema` with the rows for which `predicate` is TRUE.

    `names`: columns of the files, of all that the predicate reads and the schema has.
    """

    def __init__(self, predicate: Predicate, names: dict[ColumnId, str], types: dict[ColumnId, DataType], schema: pa.Schema):
        self._names, self._types, self._schema = names, types, schema
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
        """None where no row is left."""
        arrays = {id: _typed(raw.column(name), self._types[id]) for id, name in self._names.items()}
        rows = raw.num_rows
        if self._of_texts:
            mask = None
            for id, keep in self._of_texts.items():
                own = self._text_mask(id, arrays[id], keep)
                mask = own if mask is None else pc.and_(mask, own)
            needed = {*self._kept, *column_ids(self._read_by_rest)}
            arrays, rows = _where(mask, {id: array for id, array in arrays.items() if id in needed}, rows)
        if self._rest is not None and rows:
            ids = list(column_ids(self._read_by_rest))
            for id in ids:
                arrays[id] = _plain(arrays[id], self._types[id])
            # a condition on no column at all still has to know how many rows there are
            batch = pa.record_batch([*(arrays[id] for id in ids), pa.nulls(rows)], [*map(column_name, ids), "rows"])
            arrays, rows = _where(self._rest(batch), {id: arrays[id] for id in self._kept}, rows)
        if not rows:
            return None
        return pa.RecordBatch.from_arrays([_plain(arrays[id], self._types[id]) for id in sorted(self._kept)], schema=self._schema)

    def _text_mask(self, id: ColumnId, array: pa.Array, keep: Callable[[pa.RecordBatch], pa.Array]) -> pa.Array:
        name = column_name(id)
        if not pa.types.is_dictionary(array.type):
            return keep(pa.record_batch([array], [name]))
        texts = pa.concat_arrays([_typed(array.dictionary, self._types[id]), pa.nulls(1, self._types[id])])
        of_each = keep(pa.record_batch([texts], [name]))
        return of_each.take(pc.fill_null(array.indices, len(texts) - 1))


def _where(mask: pa.Array, arrays: dict[ColumnId, pa.Array], rows: int) -> tuple[dict[ColumnId, pa.Array], int]:
    chosen = mask.true_count
    if chosen == rows:
        return arrays, rows
    return ({id: array.filter(mask) for id, array in arrays.items()} if chosen else arrays), chosen


def _typed(array: pa.Array, type: DataType) -> pa.Array:
    """The values as `type`, whatever type the file has, or as a dictionary. Raises ArrowInvalid for a value that does not fit."""
    return array if array.type == type or pa.types.is_dictionary(array.type) else single_array(array.cast(type))


def _plain(array: pa.Array, type: DataType) -> pa.Array:
    """A dictionary as what it stands for."""
    return _typed(array.dictionary, type).take(array.indices) if pa.types.is_dictionary(array.type) else array
