"""Record batches of the executor: column 12 is called "c12", columns stand in ascending order of their ids."""

from collections.abc import Generator, Iterable, Mapping, Sequence

import pyarrow as pa

from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids

Batches = Generator[pa.RecordBatch, None, None]
ENCODED_TEXT = pa.dictionary(pa.int32(), pa.string())
ONE_ROW = pa.RecordBatch.from_arrays([pa.nulls(1)], names=["row"])  # to evaluate on what depends on no column
_LARGE = 32 << 20  # bytes that Arrow's pool, which keeps what is free for a second, is told to give back


def column_name(id: ColumnId) -> str:
    return f"c{id}"


def batch_schema(ids: ColumnSet, columns: Columns, encoded: ColumnSet = 0) -> pa.Schema:
    """Every field may hold NULLs: an outer join below may have put some there. Columns of `encoded` come as dictionaries."""
    types = {id: ENCODED_TEXT if encoded >> id & 1 else columns[id].type for id in column_ids(ids)}
    return pa.schema([pa.field(column_name(id), type) for id, type in types.items()])


def plain_texts(array: pa.Array) -> pa.Array:
    """What a dictionary stands for; other arrays as they are."""
    return array.dictionary.take(array.indices) if pa.types.is_dictionary(array.type) else array


def select(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of `schema`, by name."""
    if batch.schema.equals(schema):
        return batch
    return pa.RecordBatch.from_arrays([batch.column(field.name) for field in schema], schema=schema)


def renamed(batches: Iterable[pa.RecordBatch], source: Mapping[ColumnId, ColumnId], ids: ColumnSet, schema: pa.Schema) -> Batches:
    """The columns `ids`, those of `schema`, which the batches have under the names of their sources."""
    names = [column_name(source[id]) for id in column_ids(ids)]
    for batch in batches:
        yield pa.RecordBatch.from_arrays([batch.column(name) for name in names], schema=schema)


def table_batches(table: pa.Table, rows: int) -> Batches:
    """A table as batches of at most `rows` rows, none empty."""
    for batch in table.to_batches(max_chunksize=rows):
        if batch.num_rows:
            yield batch


def limited(batches: Iterable[pa.RecordBatch], skip: int, left: int | None) -> Batches:
    """The rows but for the first to `skip`; of the others as many as are `left`, None for all. Of none nothing is asked for."""
    for batch in batches if left != 0 else ():
        kept = batch.slice(min(skip, batch.num_rows), left)
        skip -= min(skip, batch.num_rows)
        left = None if left is None else left - kept.num_rows
        if kept.num_rows:
            yield kept
        if left == 0:
            return


def one_after_other(first: Iterable[pa.RecordBatch], second: Iterable[pa.RecordBatch]) -> Batches:
    yield from first
    yield from second


def emptied(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The batches as a table, which alone has them from then on."""
    table = pa.Table.from_batches(batches, schema)
    batches.clear()
    return table


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """A table as a single batch. Raises ArrowInvalid when a column of text has more than 2 GB."""
    if table.num_rows == 0:
        return empty_batch(table.schema)
    schema, columns, arrays = table.schema, table.columns[::-1], []
    del table  # where nobody else has it, a column is let go of as soon as it was copied
    while columns:
        arrays.append(single_array(columns.pop()))
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    give_back(batch.nbytes)
    return batch


def give_back(bytes: int) -> None:
    """So many bytes were let go of after they were copied: the system gets them at once where they are many."""
    if bytes >= _LARGE:
        pa.default_memory_pool().release_unused()


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def single_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array of what a kernel gave back."""
    if not isinstance(values, pa.ChunkedArray):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    return pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)


def collect(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """All rows, held in memory."""
    return pa.Table.from_batches(list(batches), schema)


def fewer(batches: Iterable[pa.RecordBatch], rows: int) -> Batches:
    """The same rows in batches of at least so many rows, where they come in smaller ones that fit together."""
    waiting: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        if waiting and not waiting[0].schema.equals(batch.schema):
            yield pa.concat_batches(waiting)
            waiting, held = [], 0
        waiting.append(batch)
        held += batch.num_rows
        if held >= rows:
            yield pa.concat_batches(waiting) if len(waiting) > 1 else batch
            waiting, held = [], 0
    if waiting:
        yield pa.concat_batches(waiting) if len(waiting) > 1 else waiting[0]


def nbytes(batches: Sequence[pa.RecordBatch]) -> int:
    return sum(batch.nbytes for batch in batches)
