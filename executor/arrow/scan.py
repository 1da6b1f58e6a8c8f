"""table_scan: rows of a stored table, in stored order.

Parquet files are read by row groups (`parquet_rows`), as a stage of the pipeline, on its threads. Arrow files are read by a
`pyarrow.dataset` scanner, which decodes ahead on its own threads and applies the conjuncts that it knows. CSV files are parsed
in order. What reading does not apply is evaluated by the stage.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial, reduce
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from executor.arrow.batches import Batches, batch_schema, column_name, limited, select
from executor.arrow.comparisons import KERNELS
from executor.arrow.context import Context, TableSource
from executor.arrow.expressions import compile_predicate
from executor.arrow.failures import first_line
from executor.arrow.key_filter import KeyFilter
from executor.arrow.parameters import reads_parameters, resolved
from executor.arrow.parquet_rows import Decoder, ParquetFiles, RowGroup, RowTest, Zones
from executor.arrow.selection import filtered, mask_of
from optimizer.algebra.columns import ColumnId, ColumnSet, DataType, column_ids
from optimizer.algebra.field_texts import from_texts
from optimizer.algebra.functions import COMPARISONS, MIRRORED
from optimizer.algebra.logical import Scan
from optimizer.algebra.physical import TableScan
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.predicates import predicate_columns
from optimizer.algebra.scalars import Call, ColumnRef, InList, Literal, Predicate, Scalar
from optimizer.algebra.types import ARROW_TRUTH
from optimizer.errors import ExecutionError

if TYPE_CHECKING:
    import pyarrow.dataset as ds

_CSV_BLOCK_BYTES = 4 << 20  # a row has to fit into one block
_COARSER = (
    "\nthe bounds in the file's footer are whole microseconds, and so the column is a TIMESTAMP; not all of its values are"
    "\nwrite the file again with timestamps in microseconds, or make a dataset of it with planscope data import, which puts such"
    " rows aside"
)


class ScanParts(NamedTuple):
    """A scan cut in two: `items`, row groups or batches, one after the other, and what `work` makes of each on any thread: the
    scan's rows. None: the items are the rows. `rows`: how many rows the items have, 0 where that is not known."""

    items: Iterator[Any]
    work: Callable[[Any], Iterable[pa.RecordBatch]] | None
    rows: int = 0


class Range(NamedTuple):
    """Rows matter whose `column` passes `keys`. `skipped` is told how many rows were not read for it."""

    column: ColumnId
    keys: KeyFilter
    skipped: Callable[[int], None]


def start(node: PlanNode, context: Context, ranges: Sequence[Range] = (), tests: Sequence[RowTest] = ()) -> ScanParts:
    """The scan of `node`; `ranges` and `tests`: what else is known of the rows that matter. A scan with a limit has no tests.

    Here and in reading, ExecutionError is raised, naming the table and the file (of Arrow files maybe their folder), for a file
    that is missing, damaged or no longer has its columns.
    """
    scan = _current(node)
    if scan.table not in context.sources:
        raise ExecutionError(f'table "{scan.table}" has no rows here')
    if any(map(_never_true, scan.predicate)):
        return ScanParts(iter(()), None)
    source = context.sources[scan.table]
    with _errors_of(source):
        if source.format == "parquet":
            parts = _parquet(node, scan, source, context, ranges, tests)
        else:
            parts = _others(node, scan, source, context, tests)
    if scan.limit is None:
        return parts
    work = parts.work
    rows = parts.items if work is None else (batch for item in parts.items for batch in work(item))
    return ScanParts(limited(rows, scan.offset, scan.limit), None)


def _parquet(
    node: PlanNode, scan: Scan, source: TableSource, context: Context, ranges: Sequence[Range], tests: Sequence[RowTest]
) -> ScanParts:
    needed = node.columns | predicate_columns(scan.predicate)
    names = {c.id: c.source for c in scan.columns if needed >> c.id & 1}
    files = context.once(node, lambda: ParquetFiles(_dataset(source, source.files, list(names.values()))))
    decoder = Decoder(scan.predicate, names, {id: context.columns[id].type for id in names}, context.schema(node), tests)
    groups = files.row_groups(lambda zones: _split(scan, source, zones)[0])[_share(node, context)]
    for each in ranges:
        fewer = files.row_groups(partial(_bounds, each, names, source.schema), groups)
        each.skipped(sum(group.num_rows for group in groups) - sum(group.num_rows for group in fewer))
        groups = fewer

    def work(group: RowGroup) -> Iterator[pa.RecordBatch]:
        with _errors_of(source, group.file.path):
            for raw in files.read(group, decoder.columns, context.tuning.batch):
                batch = decoder.decode(raw)
                if batch is not None:
                    yield batch

    return ScanParts(iter(groups), work, sum(group.num_rows for group in groups))


def _others(node: PlanNode, scan: Scan, source: TableSource, context: Context, tests: Sequence[RowTest]) -> ScanParts:
    files = source.files[_share(node, context)]
    if not files:
        return ScanParts(iter(()), None)
    pushed, local = _split(scan, source, {})
    ids = node.columns | predicate_columns(local)
    names = {c.id: c.source for c in scan.columns if ids >> c.id & 1}
    if source.format == "csv":
        rows = _read_csv(source, files, names, ids, context)
    else:
        needed = node.columns | predicate_columns(scan.predicate)
        wanted = [c.source for c in scan.columns if needed >> c.id & 1]
        dataset = context.once(node, lambda: _dataset(source, files, wanted))
        rows = _read_dataset(dataset, names, ids, pushed, context)
    items = _with_errors(rows, source)
    if not local and not tests:
        return ScanParts(items, None)
    keep, schema = compile_predicate(local), context.schema(node)

    def work(batch: pa.RecordBatch) -> tuple[pa.RecordBatch]:
        batch = select(filtered(batch, keep(batch)), schema)
        for test in tests:
            batch = filtered(batch, mask_of(test.passes(batch.column(column_name(test.column)))))
        return (batch,)

    return ScanParts(items, work)


def _share(node: PlanNode, context: Context) -> slice:
    """Which row groups, or files, of a table are read here."""
    first, of = context.shares.get(node.id, (0, 1))
    return slice(first, None, of)


def _bounds(range: Range, names: dict[ColumnId, str], schema: pa.Schema, zones: Zones) -> list[pc.Expression]:
    """Conjuncts for the statistics of row groups."""
    name, keys = names[range.column], range.keys
    if keys.low is None or keys.high is None or schema.field(name).type != keys.type:
        return []
    return [pc.field(name) >= _stored(keys.low, name, zones), pc.field(name) <= _stored(keys.high, name, zones)]


def _stored(value: pa.Scalar, name: str, zones: Zones) -> pa.Scalar:
    """The value as it is compared with statistics of a column: those of moments in a zone only with such."""
    return value.cast(pa.timestamp("us", zones[name])) if name in zones else value


@contextmanager
def _errors_of(source: TableSource, file: str | None = None) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        file = file or str(source.files[0] if len(source.files) == 1 else source.files[0].parent)
        reason = first_line(error)
        place = "" if file in reason else f" ({file})"
        way_out = _COARSER if "timestamp[ns" in reason and "would lose data" in reason else ""
        raise ExecutionError(f'table "{source.name}"{place}: {reason}{way_out}') from error


def _with_errors(rows: Batches, source: TableSource) -> Batches:
    with _errors_of(source):
        yield from rows


def _current(node: PlanNode) -> Scan:
    """The scan, with what it reads of enclosing queries as literals: they can rule out row groups."""
    assert isinstance(node.op, TableScan)
    scan = node.op.scan
    if not any(map(reads_parameters, scan.predicate)):
        return scan
    return replace(scan, predicate=tuple(map(resolved, scan.predicate)))


def _never_true(conjunct: Scalar) -> bool:
    """A comparison with NULL."""
    if not isinstance(conjunct, Call) or conjunct.function not in COMPARISONS:
        return False
    return any(isinstance(arg, Literal) and arg.value is None for arg in conjunct.args)


def _dataset(source: TableSource, files: Sequence[Path], names: list[str]) -> ds.Dataset:
    """The files, which have these columns."""
    states = [os.stat(file) for file in files]
    versions = tuple((str(file), s.st_ino, s.st_size, s.st_mtime_ns) for file, s in zip(files, states, strict=True))
    what = versions, source.schema, "ipc" if source.format == "arrow" else "parquet"
    try:
        dataset = _opened(*what)
    except TypeError:  # the schema has a type of somebody's own that cannot be hashed
        dataset = _opened.__wrapped__(*what)
    for fragment in dataset.get_fragments():
        _check_columns(fragment.path, fragment.physical_schema.names, names)
    return dataset


@lru_cache(maxsize=256)
def _opened(files: tuple[tuple[str, int, int, int], ...], schema: pa.Schema, format: str) -> ds.Dataset:
    """The same while its files stay as they are: it keeps what it has read of their footers."""
    import pyarrow.dataset as ds  # loads pandas, if there is one: most of the time that an import of this file would take

    return ds.dataset([path for path, *_ in files], schema=schema, format=format)


def _read_dataset(
    dataset: ds.Dataset, names: dict[ColumnId, str], ids: ColumnSet, pushed: list[pc.Expression], context: Context
) -> Batches:
    schema = batch_schema(ids, context.columns)
    scanner = dataset.scanner(
        columns={column_name(id): pc.field(names[id]) for id in column_ids(ids)},
        filter=reduce(and_, pushed) if pushed else None,
        batch_size=context.tuning.batch,
    )
    for batch in scanner.to_batches():
        if batch.num_rows:
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _read_csv(
    source: TableSource, files: Sequence[Path], names: dict[ColumnId, str], ids: ColumnSet, context: Context
) -> Batches:
    """An empty field is NULL."""
    schema = batch_schema(ids, context.columns)
    for file in files:
        convert = pacsv.ConvertOptions(
            column_types={field.name: field.type for field in source.read_schema},
            include_columns=list(dict.fromkeys(names.values())),
            null_values=[""],
            strings_can_be_null=True,
            **ARROW_TRUTH,
        )
        parse = pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(source.schema) > 1)
        try:
            with pacsv.open_csv(file, pacsv.ReadOptions(block_size=_CSV_BLOCK_BYTES), parse, convert) as reader:
                for batch in reader:
                    read = zip((batch.column(names[id]) for id in column_ids(ids)), schema.types, strict=True)
                    arrays = [array if array.type == type else from_texts(array, type) for array, type in read]
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        except pa.ArrowKeyError as error:
            raise ExecutionError(f"{file}: {first_line(error)}: it has changed since its table was described") from error
        except pa.ArrowInvalid as error:
            if "Empty CSV file or block" in str(error):  # a line of column names that no line break follows
                continue
            if str(error) == "Empty CSV file":
                raise ExecutionError(f"{file} is empty: it has lost its line of column names") from error
            raise ExecutionError(f"{file}: {first_line(error)}{_line(file, error)}") from error


def _line(file: Path, error: pa.ArrowInvalid) -> str:
    """Where a row of another length stands: the parser counts rows only when it reads on one thread."""
    if "columns, got" not in str(error) or "Row #" in str(error):
        return ""
    try:
        pacsv.read_csv(file, pacsv.ReadOptions(use_threads=False), pacsv.ParseOptions(newlines_in_values=True))
    except pa.ArrowInvalid as again:
        if "Row #" in str(again):
            return f" (row {str(again).split('Row #')[1].split(':')[0]})"
    return ""


def _check_columns(file: str, present: list[str], wanted: list[str]) -> None:
    for name in wanted:
        if name not in present:
            raise ExecutionError(f'{file} has no column "{name}": it has changed since its table was described')


def _split(scan: Scan, source: TableSource, zones: Zones) -> tuple[list[pc.Expression], Predicate]:
    """The conjuncts as dataset filters, and those for which there is none; `zones`: for the statistics of files with these."""
    if source.format == "csv":
        return [], scan.predicate
    names = {c.id: c.source for c in scan.columns}
    pushed, local = [], []
    for conjunct in scan.predicate:
        expression = _as_filter(conjunct, names, source.schema, zones)
        if expression is None:
            local.append(conjunct)
        else:
            pushed.append(expression)
    return pushed, tuple(local)


def _as_filter(conjunct: Scalar, names: dict[ColumnId, str], schema: pa.Schema, zones: Zones) -> pc.Expression | None:
    """A dataset filter that keeps exactly the rows where `conjunct` is TRUE."""
    match conjunct:
        case Call(function="is_null", args=[ColumnRef(id=id)]):
            return pc.field(names[id]).is_null()
        case Call(function="is_not_null", args=[ColumnRef(id=id)]):
            return pc.field(names[id]).is_valid()
        case Call(function="=" | "<>" | "<" | "<=" | ">" | ">=" as function, args=[ColumnRef() as column, Literal() as constant]):
            return _comparison(function, names[column.id], column, constant, schema, zones)
        case Call(function="=" | "<>" | "<" | "<=" | ">" | ">=" as function, args=[Literal() as constant, ColumnRef() as column]):
            return _comparison(MIRRORED[function], names[column.id], column, constant, schema, zones)
        case InList(arg=ColumnRef() as column, items=items) if all(isinstance(item, Literal) for item in items):
            values = [item.value for item in items if isinstance(item, Literal) and item.value is not None]
            name, type = names[column.id], column.type
            if schema.field(name).type == type and not pa.types.is_floating(type) and name not in zones:
                return _field(name, type).isin(pa.array(values, type))
    return None


def _field(name: str, type: DataType) -> pc.Expression:
    """The column as filters see it: they run before a file's own type (a string view, a dictionary) becomes `type`."""
    return pc.field(name).cast(type) if pa.types.is_string(type) else pc.field(name)


def _comparison(
    function: str, name: str, column: Scalar, constant: Literal, schema: pa.Schema, zones: Zones
) -> pc.Expression | None:
    value = constant.value
    if value is None or not column.type == constant.type == schema.field(name).type:
        return None
    if pa.types.is_floating(column.type) and (math.isnan(value) or function in ("<>", ">", ">=")):
        return None  # NaN is above every number, but Arrow, and the statistics of row groups, do not know it
    field, scalar = _field(name, constant.type), _stored(pa.scalar(value, constant.type), name, zones)
    return KERNELS[function](field, scalar)
