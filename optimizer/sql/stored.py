"""What the binder makes of a stored table once for all queries: its scan by the columns that a text may mean.

A text can mean only columns whose names it has, unless a star, NATURAL or names by place ask for all. The others get no ids, but
for those of keys: so sets of columns, which are ints by id, stay short, and a query over a table of thousands of columns does not
pay for them.
"""

from itertools import chain, takewhile
from typing import NamedTuple

from optimizer.algebra.columns import DataType, column_set, union
from optimizer.algebra.logical import Scan, ScanForeignKey
from optimizer.algebra.traits import ascending
from optimizer.algebra.types import type_width
from optimizer.catalog.table import Table, TableColumn

KEPT = 256  # sets of columns of one table


class Stored(NamedTuple):
    """Some columns of a table in their order. `scan` has none yet, and column i of them where keys and order name id i; `types`:
    theirs, by `id`."""

    scan: Scan
    columns: tuple[TableColumn, ...]
    names: tuple[str, ...]
    types: dict[int, DataType]


class StoredTable:
    """A table as texts read it, by the words of a text that are names of its columns."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names = frozenset(column.name.lower() for column in table.columns)
        self._known: dict[frozenset[str] | None, Stored] = {}
        counted = min(table.columns, key=lambda column: type_width(column.type)).name
        self._always = {counted, *chain.from_iterable(table.keys)}

    def columns(self, words: frozenset[str] | None) -> Stored:
        """Its columns that are among the words of a text, and those that a plan may read in any case: of keys, by which
        decorrelation tells rows apart, and the narrowest, which `column_prune` leaves where rows are counted. For None all."""
        named = None if words is None else self._names & words
        known = self._known.get(named)
        if known is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            columns = self._table.columns
            if named is not None:
                columns = tuple(c for c in columns if c.name.lower() in named or c.name in self._always)
            known = self._known[named] = _stored(self._table, columns)
        return known


def _stored(table: Table, columns: tuple[TableColumn, ...]) -> Stored:
    ids = {column.name: place for place, column in enumerate(columns)}
    keys = tuple(column_set(ids[c] for c in key) for key in table.keys)
    not_null = union((*keys, column_set(ids[c.name] for c in columns if not c.nullable)))
    order = ascending(ids[name] for name in takewhile(ids.__contains__, table.order))
    foreign = tuple(
        ScanForeignKey(tuple(ids[c] for c in key.columns), key.table, key.referenced)
        for key in table.foreign_keys
        if all(c in ids for c in key.columns)
    )
    scan = Scan(table.name, table.name, (), keys, not_null, order, foreign_keys=foreign)
    return Stored(scan, columns, tuple(ids), {id(column.type): column.type for column in columns})
