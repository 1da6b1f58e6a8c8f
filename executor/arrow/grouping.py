"""Rows grouped by keys, each group as one row: by place where the keys lie close together, else by Arrow, on one thread."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.batches import single_array
from executor.arrow.place_groups import grouped_by_place
from executor.arrow.selection import taken
from optimizer.algebra.columns import DataType

Call = tuple[str | list[str], str]  # column and function


def grouped(table: pa.Table, keys: list[str], steps: Sequence[tuple[str, str]], types: Mapping[str, DataType]) -> pa.Table:
    """`steps`: function and column; the result has the column's name and type of `types`. Without keys there is one group."""
    if not keys:
        whole = {column: pa.repeat(_whole(function, column, table), 1) for function, column in steps}
        return pa.table({c: a if a.type == types[c] else a.cast(types[c]) for c, a in whole.items()})
    if (made := grouped_by_place(table, keys, steps, types)) is not None:
        return made
    calls: list[Call] = [([], function) if function == "count_all" else (column, function) for function, column in steps]
    names = [("count_all" if f == "count_all" else f"{column}_{f}", column) for f, column in steps]
    return named(_by_arrow(table, keys, calls), keys, names, types)


def unique_rows(values: pa.Table) -> pa.Table:
    """The rows that differ, NULL being a value like others."""
    made = grouped_by_place(values, values.column_names, (), {})
    return _by_arrow(values, values.column_names, []) if made is None else made


def _whole(function: str, column: str, table: pa.Table) -> pa.Scalar:
    """An aggregate over all rows: the kernel that a grouping by no keys would call, without a plan to call it from."""
    if function == "count_all":
        return pa.scalar(table.num_rows, pa.int64())
    return pc.call_function(function, [table[column]])


def named(grouped: pa.Table, keys: list[str], names: list[tuple[str, str]], types: Mapping[str, DataType]) -> pa.Table:
    """The keys, and beside them what was found, under the second of its two names and of that name's type."""
    columns = {key: grouped[key] for key in keys}
    for found, name in names:
        column = grouped[found]
        columns[name] = column if column.type == types[name] else column.cast(types[name])
    return pa.table(columns) if columns else grouped


def _by_arrow(table: pa.Table, keys: list[str], calls: Sequence[Call]) -> pa.Table:
    """Arrow's grouping; of keys that are dictionaries by the numbers."""
    texts: dict[str, pa.Array] = {}
    for at, key in enumerate(table.column_names):
        if pa.types.is_dictionary(table[key].type):
            array = single_array(table[key])
            texts[key] = array.dictionary
            table = table.set_column(at, key, array.indices)
    grouped = table.group_by(keys, use_threads=False).aggregate(calls)
    for at, key in enumerate(grouped.column_names):
        if key in texts:
            grouped = grouped.set_column(at, key, taken(texts[key], single_array(grouped[key])))
    return grouped
