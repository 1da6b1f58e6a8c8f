"""A column is an id, unique in its query; a set of columns is an int used as a bitset.

Operators and scalars refer to ids, never to positions, so a join can be reordered without renumbering anything.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

ColumnId = int
ColumnSet = int
DataType = Any  # pyarrow.DataType; pyarrow ships no type stubs


class Column:
    """One column of a query: `origin` says where it comes from (`orders.o_orderkey`, or "" when computed).

    `nullable` is what its definition allows; an outer join may add NULLs later (see `LogicalProps.not_null`).
    """

    __slots__ = ("id", "name", "nullable", "origin", "type")

    def __init__(self, id: ColumnId, name: str, type: DataType, nullable: bool, origin: str = "") -> None:
        self.id, self.name, self.type, self.nullable, self.origin = id, name, type, nullable, origin

    @property
    def label(self) -> str:
        """How trees and traces print it: `o_orderkey#3`; the id keeps equal names apart."""
        return f"{self.name}#{self.id}"

    @property
    def alias(self) -> str:
        """The relation that it comes from, "" when computed."""
        return self.origin.removesuffix(f".{self.name}")

    def __repr__(self) -> str:
        return f"Column({self.label}: {self.type}{'' if self.nullable else ' not null'})"


class Columns:
    """All columns of one query, by id. The binder makes most of them; a rule that computes something new adds its own.

    `derived_ids`: the columns that rules of the search added. `types`: those of all columns, each object by its `id`.
    """

    __slots__ = ("_all", "_derived", "derived_ids", "types")

    def __init__(self) -> None:
        self._all: list[Column | ColumnId | tuple[Sequence[Any], ColumnId, str]] = []  # a column, or what it is made of
        self.types: dict[int, DataType] = {}
        self._derived: dict[Hashable, Column] = {}
        self.derived_ids: ColumnSet = 0

    def new(self, name: str, type: DataType, nullable: bool, origin: str = "") -> Column:
        column = Column(len(self._all), name, type, nullable, origin)
        self._all.append(column)
        self.types[id(type)] = type
        return column

    def of_table(self, columns: Sequence[Any], types: Mapping[int, DataType], alias: str) -> ColumnId:
        """New columns for stored ones, with ids that follow each other; the first id. Most are never asked for, nor made."""
        first = len(self._all)
        self._all += [(columns, first, alias)] * len(columns)
        self.types.update(types)
        return first

    def copy(self, id: ColumnId) -> ColumnId:
        """A new column that is as `id` is. Most are never asked for, nor made."""
        self._all.append(id)
        return len(self._all) - 1

    def like(self, id: ColumnId, nullable: bool = True) -> ColumnId:
        """A new column with the name and the type of `id`."""
        return self.new(self[id].name, self[id].type, nullable).id

    def derived(self, meaning: Hashable, name: str, type: DataType, nullable: bool) -> Column:
        """The column that means `meaning`: the same one each time, so that a rule that fires twice on the same expression
        produces the same expression, which the memo then knows. `meaning` says what is computed, over which columns."""
        column = self._derived.get(meaning)
        if column is None:
            column = self._derived[meaning] = self.new(name, type, nullable)
            self.derived_ids |= 1 << column.id
        return column

    def __getitem__(self, id: ColumnId) -> Column:
        column = self._all[id]
        if isinstance(column, Column):
            return column
        if isinstance(column, int):
            of = self[column]
            origin = of.origin
        else:
            columns, first, alias = column
            of = columns[id - first]
            origin = f"{alias}.{of.name}"
        self._all[id] = made = Column(id, of.name, of.type, of.nullable, origin)
        return made

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Column]:
        return map(self.__getitem__, range(len(self._all)))

    def label(self, id: ColumnId) -> str:
        return self[id].label


def column_set(ids: Iterable[ColumnId]) -> ColumnSet:
    """The bitset of `ids`."""
    result = 0
    for id in ids:
        result |= 1 << id
    return result


def column_ids(columns: ColumnSet) -> Iterator[ColumnId]:
    """The ids in a bitset, ascending."""
    while columns:
        low = columns & -columns
        yield low.bit_length() - 1
        columns ^= low


def union(sets: Iterable[ColumnSet]) -> ColumnSet:
    """The columns of any of the sets."""
    result = 0
    for each in sets:
        result |= each
    return result


def is_subset(inner: ColumnSet, outer: ColumnSet) -> bool:
    return not inner & ~outer
