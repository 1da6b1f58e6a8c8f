"""Distribution: how the rows of a plan lie on the nodes of a cluster, the trait of engines that have several.

    any ⊒ random, hash[c…], range[order], singleton, broadcast

*Delivered* is one of singleton (all rows on one node), broadcast (every node has all rows), hash (a row's node is a function of
the hashed columns), range (a function of its place in an order) and random. *Required* is any, singleton, broadcast,
clustered(A): rows equal on A (NULL = NULL) are on one node, or a scheme to be co-located with: the very function that places
the rows of another input. Satisfaction is modulo what is known of the rows, as for orders (`traits.py`); it is independent of
collation, and an engine with both asks for a pair.

A hash or range may leave out NULL: rows with a NULL in the placing columns lie anywhere. That is what an outer join makes of the
side it extends: extended rows are where their partners would have been. Joins by `=` do not mind, since NULL matches nothing.

Sources: Zhou, Larson and Chaiken, ICDE 2010 (partitioning and functional dependencies); Soliman et al., SIGMOD 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import Collation, SortKey

Label = Callable[[ColumnId], str]


class Kind(Enum):
    SINGLETON = "singleton"
    BROADCAST = "broadcast"
    HASH = "hash"
    RANGE = "range"
    RANDOM = "random"


class Scheme(NamedTuple):
    """Which function places rows: a hash function or a list of boundaries, by name, over so many partitions. Equal
    values go to one partition; two streams placed by one scheme put equal values on the same node."""

    function: str
    partitions: int


class Distribution(NamedTuple):
    """`keys`: the hashed columns in their order (directions mean nothing), or the order of the ranges. `nulls_anywhere`: rows
    with a NULL among them lie on any node."""

    kind: Kind
    keys: Collation = ()
    scheme: Scheme | None = None
    nulls_anywhere: bool = False

    @property
    def columns(self) -> ColumnSet:
        return column_set(key.column for key in self.keys)

    def show(self, label: Label) -> str:
        """`singleton`, `hash(a#1, b#2)`, `range(a#1 desc) but NULL`."""
        if not self.keys:
            return self.kind.value
        keys = ", ".join(key.show(label) for key in self.keys)
        return f"{self.kind.value}({keys}){' but NULL' if self.nulls_anywhere else ''}"


SINGLETON = Distribution(Kind.SINGLETON)
BROADCAST = Distribution(Kind.BROADCAST)
RANDOM = Distribution(Kind.RANDOM)


def hashed(columns: Sequence[ColumnId], scheme: Scheme) -> Distribution:
    return Distribution(Kind.HASH, tuple(map(SortKey, columns)), scheme)


def ranged(order: Collation, scheme: Scheme) -> Distribution:
    return Distribution(Kind.RANGE, order, scheme)


class Required(NamedTuple):
    """What an operator needs of an input: nothing, `exactly` one distribution (modulo equal columns), or rows equal on
    `clustered` on one node. An empty set is clustered when all rows are on one node."""

    exactly: Distribution | None = None
    clustered: ColumnSet | None = None

    def show(self, label: Label) -> str:
        if self.exactly is not None:
            return self.exactly.show(label)
        if self.clustered is not None:
            return f"clustered({', '.join(label(c) for c in column_ids(self.clustered))})"
        return "any"


ANYWHERE = Required()


def satisfies(delivered: Distribution, required: Required, props: LogicalProps) -> bool:
    """Whether rows with `props` that lie as `delivered` says lie as `required`.

    Rows that every node has do not satisfy singleton or clustered: work on them would be done, and counted, once a node.
    """
    if required.exactly is not None:
        return _same(delivered, required.exactly, props)
    if required.clustered is not None:
        return _clustered(delivered, required.clustered, props)
    return True


def _clustered(delivered: Distribution, columns: ColumnSet, props: LogicalProps) -> bool:
    match delivered.kind:
        case Kind.SINGLETON:
            return True
        case Kind.BROADCAST:
            return False
    if props.unique_on(columns):
        return True  # no two rows are equal
    if delivered.kind is Kind.RANDOM:
        return False
    # rows equal on the columns are equal on what places them
    return not delivered.columns & ~props.closure(columns) and _places_nulls(delivered, props)


def _same(delivered: Distribution, wanted: Distribution, props: LogicalProps) -> bool:
    if delivered.kind is not wanted.kind or delivered.scheme != wanted.scheme or len(delivered.keys) != len(wanted.keys):
        return False
    if not wanted.nulls_anywhere and not _places_nulls(delivered, props):
        return False
    return all(
        props.equivalents(a.column) >> b.column & 1 and _alike(delivered.kind, a, b, props)
        for a, b in zip(delivered.keys, wanted.keys, strict=True)
    )


def _alike(kind: Kind, a: SortKey, b: SortKey, props: LogicalProps) -> bool:
    """Whether two keys of ranges run in one direction; hashing has none."""
    if kind is Kind.HASH:
        return True
    nulls = a.nulls_first == b.nulls_first or bool(props.not_null & props.equivalents(a.column))
    return a.descending == b.descending and nulls


def _places_nulls(delivered: Distribution, props: LogicalProps) -> bool:
    """Whether every row has a place: none has a NULL, or NULLs are placed like values."""
    return not delivered.nulls_anywhere or all(props.not_null & props.equivalents(key.column) for key in delivered.keys)


def colocated(
    left: Distribution, right: Distribution, pairs: Sequence[tuple[ColumnId, ColumnId]], inputs: Sequence[LogicalProps],
    null_safe: bool = False,
) -> bool:  # fmt: skip
    """Whether rows of two inputs that are equal in all `pairs` (left column, right column) are on the same node.

    Both are placed by the same scheme, on columns that a pair ties together, in one sequence; fewer columns than there are
    pairs will do, if both sides use the same. `null_safe`: NULL equals NULL in the pairs.
    """
    if left.kind is Kind.SINGLETON and right.kind is Kind.SINGLETON:
        return True
    if left.kind not in (Kind.HASH, Kind.RANGE) or left.kind is not right.kind:
        return False
    if left.scheme != right.scheme or len(left.keys) != len(right.keys):
        return False
    if null_safe and not (_places_nulls(left, inputs[0]) and _places_nulls(right, inputs[1])):
        return False
    for a, b in zip(left.keys, right.keys, strict=True):
        if left.kind is Kind.RANGE and (a.descending, a.nulls_first) != (b.descending, b.nulls_first):
            return False
        ours, theirs = inputs[0].equivalents(a.column), inputs[1].equivalents(b.column)
        if not any(ours >> c & 1 and theirs >> d & 1 for c, d in pairs):
            return False
    return True


def may_broadcast(kind: JoinKind) -> tuple[bool, bool]:
    """Whether a join is right if every node has all of its left (right) input while the other is spread over the nodes.

    A side whose unmatched rows are kept must not be: every node would keep them.
    """
    return kind in (JoinKind.INNER, JoinKind.RIGHT), kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def joined(kind: JoinKind, left: Distribution, right: Distribution) -> tuple[Distribution, ...]:
    """How the result of a join lies whose inputs are co-located, or one of them broadcast: every distribution that it has.

    A side that is extended by NULL keeps its placing but for NULL: unmatched rows of the other side are everywhere.
    """
    if left.kind is Kind.BROADCAST and right.kind is Kind.BROADCAST:
        return (BROADCAST,)
    if left.kind is Kind.SINGLETON and right.kind in (Kind.SINGLETON, Kind.BROADCAST):
        return (SINGLETON,)
    if right.kind is Kind.BROADCAST:
        return (left,)
    if left.kind is Kind.BROADCAST:
        return (right,)
    if kind.left_only:
        return (left,)
    ours = left._replace(nulls_anywhere=True) if kind.keeps_right else left
    theirs = right._replace(nulls_anywhere=True) if kind.keeps_left else right
    return ours, theirs


def projected(delivered: Distribution, sources: dict[ColumnId, ColumnId], below: LogicalProps) -> Distribution:
    """The distribution of a projection whose output column `o` is input column `sources[o]`: random where a placing column,
    and all equal to it, are gone."""
    keys = []
    for key in delivered.keys:
        same = below.equivalents(key.column)
        out = next((o for o, source in sorted(sources.items()) if same >> source & 1), None)
        if out is None:
            return RANDOM
        keys.append(key._replace(column=out))
    return delivered._replace(keys=tuple(keys))
