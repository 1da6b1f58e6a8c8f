"""Physical traits: what an output has beyond its bag of rows. Collation (sort order) is the one the Arrow engine uses.

A required trait is compared with a delivered one only after both were reduced in the context of one group: columns
known constant or determined by the columns before them drop out, equivalent columns become one representative
(Simmen, Shekita and Malkemus, SIGMOD 1996).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet

if TYPE_CHECKING:
    from optimizer.algebra.props import LogicalProps


class SortKey(NamedTuple):
    column: ColumnId
    descending: bool = False
    nulls_first: bool = False

    def show(self, label: Callable[[ColumnId], str]) -> str:
        return label(self.column) + (" desc" if self.descending else "") + (" nulls first" if self.nulls_first else "")


Collation = tuple[SortKey, ...]


class TraitSet(NamedTuple):
    """The traits required of, or delivered by, a plan. `ANY` asks for nothing."""

    collation: Collation = ()

    def show(self, label: Callable[[ColumnId], str]) -> str:
        """`any`, or `order(a#1, b#2 desc)`."""
        if not self.collation:
            return "any"
        return "order(" + ", ".join(key.show(label) for key in self.collation) + ")"


ANY = TraitSet()


class Alternative(NamedTuple):
    """One way to run a physical operator: what it needs of each input, and what it then delivers."""

    inputs: tuple[TraitSet, ...]
    delivered: TraitSet = ANY


def ascending(columns: Iterable[ColumnId]) -> Collation:
    return tuple(SortKey(c) for c in columns)


def reduce_collation(order: Collation, props: LogicalProps) -> Collation:
    """The shortest order that means the same for rows with `props`.

    Later keys that the earlier ones determine are dropped, columns are replaced by their class representative, and
    NULLS FIRST is dropped where there are no NULLs.
    """
    if not order:
        return order
    known = props.closure(props.constants)
    reduced: list[SortKey] = []
    for key in order:
        if known >> key.column & 1:
            continue
        column = props.representative(key.column)
        nulls_first = key.nulls_first and not props.not_null >> key.column & 1
        reduced.append(SortKey(column, key.descending, nulls_first))
        known = props.closure(known | 1 << key.column)
    return tuple(reduced)


def reduce_traits(traits: TraitSet, props: LogicalProps) -> TraitSet:
    reduced = reduce_collation(traits.collation, props)
    return ANY if not reduced else TraitSet(reduced)


def satisfies(delivered: TraitSet, required: TraitSet, props: LogicalProps) -> bool:
    """Whether rows with `props` that have `delivered` also have `required`."""
    if not required.collation:
        return True
    want = reduce_collation(required.collation, props)
    return reduce_collation(delivered.collation, props)[: len(want)] == want


def restrict_collation(order: Collation, columns: ColumnSet, props: LogicalProps) -> Collation:
    """The longest prefix of `order` that can be said with `columns` only, using equivalent columns of `props`."""
    result: list[SortKey] = []
    for key in order:
        if columns >> key.column & 1:
            result.append(key)
            continue
        same = props.equivalents(key.column) & columns
        if not same:
            break
        result.append(key._replace(column=(same & -same).bit_length() - 1))
    return tuple(result)


MOST_SPELLINGS = 12


def spellings(order: Collation, columns: ColumnSet, outer: LogicalProps, inner: LogicalProps) -> tuple[Collation, ...]:
    """All ways to say `order`, meant where `outer` holds, with the `columns` of an input where only `inner` holds.

    A column may be said by any equivalent one. Those that the input itself knows to be equivalent count once; others
    are different orders below, and which of them is cheap depends on the plan. At most MOST_SPELLINGS; () where a
    column has no equivalent in the input.
    """
    found: list[Collation] = [()]
    for key in order:
        choices: dict[ColumnId, None] = {}
        same = outer.equivalents(key.column) & columns
        while same:
            low = same & -same
            choices.setdefault(inner.representative(low.bit_length() - 1))
            same ^= low
        found = [(*prefix, key._replace(column=c)) for prefix in found for c in choices][:MOST_SPELLINGS]
    return tuple(found)
