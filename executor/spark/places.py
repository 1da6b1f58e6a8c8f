"""Where the rows of a plan lie while it runs on many tasks.

    ONE    all rows in the first task
    ALL    every task has all rows
    HASH   a row is in the task that the hash of its `columns` says: rows equal on them (NULL = NULL) are together
    ANY    each row is in one task, no matter which

As in Zhou, Larson and Chaiken, ICDE 2010: rows by the hash of some columns are together also for those who need them together
by these columns and others.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from executor.arrow.key_words import is_exact, rises
from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.logical import Label


class Kind(Enum):
    ONE = "to one task"
    ALL = "to every task"
    HASH = "by hash"
    ANY = "kept where they are made"


class Place(NamedTuple):
    kind: Kind
    columns: tuple[ColumnId, ...] = ()

    @property
    def parted(self) -> bool:
        """Whether each task has some of the rows."""
        return self.kind in (Kind.HASH, Kind.ANY)

    def serves(self, wanted: Place) -> bool:
        """Whether rows that lie here need not be moved to lie as `wanted`: a plan that every task runs may be run by one."""
        return self == wanted or (wanted.kind, self.kind) in ((Kind.ANY, Kind.HASH), (Kind.ONE, Kind.ALL))

    def show(self, label: Label) -> str:
        columns = f" of {', '.join(map(label, self.columns))}" if self.columns else ""
        return f"{self.kind.value}{columns}"


ONE, ALL, ANY = Place(Kind.ONE), Place(Kind.ALL), Place(Kind.ANY)


def by_hash(columns: tuple[ColumnId, ...]) -> Place:
    return Place(Kind.HASH, columns)


def can_hash(type: DataType) -> bool:
    """Whether equal values of the type have one hash (`executor.arrow.key_words`)."""
    return rises(type) or not is_exact(type)
