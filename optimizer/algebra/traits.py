"""Physical traits: what an output has beyond its bag of rows. The Arrow engine uses two, of which a plan needs at most one:

- collation: rows are sorted by a list of keys;
- grouping: rows that are equal on a set of columns (NULL = NULL) are adjacent, the groups in any order. Any order that
  begins with a permutation of the set gives it, and so does anything else that keeps equal rows together.

A required trait is compared with a delivered one only after both were reduced in the context of one group: columns
known constant or determined by the columns before them drop out, equivalent columns become one representative
(Simmen, Shekita and Malkemus, SIGMOD 1996). Groupings beside orders: Neumann and Moerkotte, VLDB 2004. How rows lie on
the nodes of a cluster is told by `executor/spark/places.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set, union

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
    """The traits required of, or delivered by, a plan: an order or a grouping, not both. `ANY` asks for nothing."""

    collation: Collation = ()
    grouping: ColumnSet = 0

    def show(self, label: Callable[[ColumnId], str]) -> str:
        """`any`, `order(a#1, b#2 desc)` or `group(a#1, b#2)`."""
        if self.collation:
            return "order(" + ", ".join(key.show(label) for key in self.collation) + ")"
        if self.grouping:
            return "group(" + ", ".join(label(c) for c in column_ids(self.grouping)) + ")"
        return "any"


ANY = TraitSet()


class Alternative(NamedTuple):
    """One way to run a physical operator: what it needs of each input, and what it then delivers."""

    inputs: tuple[TraitSet, ...]
    delivered: TraitSet = ANY


def ascending(columns: Iterable[ColumnId]) -> Collation:
    return tuple(map(_ascending_key, columns))


_ascending_key = lru_cache(maxsize=4096)(SortKey)  # of a column: orders are made of few of them, again and again


def grouped(columns: ColumnSet) -> TraitSet:
    return TraitSet((), columns) if columns else ANY


def reduce_collation(order: Collation, props: LogicalProps) -> Collation:
    """The shortest order that means the same for rows with `props`.

    Later keys that the earlier ones determine are dropped, columns are replaced by their class representative, and
    NULLS FIRST is dropped where there are no NULLs.
    """
    if not order:
        return order
    answer: Collation | None = props.answers.get(order)
    if answer is None:
        answer = props.answers[order] = _reduced(order, props)
    return answer


def _reduced(order: Collation, props: LogicalProps) -> Collation:
    columns = props.constants
    reduced: list[SortKey] = []
    for key in order:
        known = props.closure(columns)
        if known >> key.column & 1:
            continue
        column = props.representative(key.column)
        nulls_first = key.nulls_first and not props.not_null & props.equivalents(key.column)
        same = column == key.column and nulls_first == key.nulls_first
        reduced.append(key if same else SortKey(column, key.descending, nulls_first))
        columns = known | 1 << key.column
    return tuple(reduced)


def reduce_grouping(columns: ColumnSet, props: LogicalProps) -> ColumnSet:
    """The columns that stand for all sets that group rows with `props` as `columns` do; 0 where that asks for nothing.

    Sets group alike if they determine the same columns. Rows that are never equal, or always, are grouped anyhow.
    """
    if props.unique_on(columns):
        return 0
    return props.without_determined(props.closure(columns) & props.columns)


def reduce_traits(traits: TraitSet, props: LogicalProps) -> TraitSet:
    if traits == ANY:
        return ANY
    answer: TraitSet | None = props.answers.get(traits)
    if answer is None:
        order = traits.collation
        answer = TraitSet(reduce_collation(order, props)) if order else grouped(reduce_grouping(traits.grouping, props))
        props.answers[traits] = answer
    return answer


def satisfies(delivered: TraitSet, required: TraitSet, props: LogicalProps) -> bool:
    """Whether rows with `props` that have `delivered` also have `required`."""
    if required.collation:
        want = reduce_collation(required.collation, props)
        return reduce_collation(delivered.collation, props)[: len(want)] == want
    if required.grouping:
        return _groups(delivered, required.grouping, props)
    return True


def _groups(delivered: TraitSet, columns: ColumnSet, props: LogicalProps) -> bool:
    """Whether rows equal on `columns` are adjacent: some prefix of the delivered order says as much as `columns`."""
    target = props.closure(columns)
    if target == props.closure(0) or props.unique_on(columns):
        return True  # all rows are equal, or none
    known = props.closure(delivered.grouping)
    for key in delivered.collation:
        if known == target or known & ~target:
            break
        known = props.closure(known | 1 << key.column)
    return known == target


def group_order(columns: ColumnSet) -> Collation:
    """The order a sort uses to bring rows equal on `columns` together."""
    return ascending(column_ids(columns))


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


def sequences(items: Sequence[ColumnId], leading: ColumnSet = -1) -> list[tuple[int, ...]]:
    """The sequences of keys that are tried: every permutation of up to three; of more as given, and each of `leading` first."""
    if len(items) <= ALL_PERMUTATIONS:
        return list(permutations(items))
    return [(lead, *(i for i in items if i != lead)) for lead in items if lead == items[0] or leading >> lead & 1]


def joined_on(columns: ColumnSet, order: Collation, props: LogicalProps) -> Collation:
    """Columns that others of `columns` determine, and by which rows that come by `order` may be sorted further for nothing,
    since a join was on them: rows equal on `columns` are together all the same."""
    known = column_set(key.column for key in order)
    open_, rest = props.closure(columns) & ~props.closure(known), props.without_determined(columns, known)
    classes = [same & open_ for same in props.equivalences if not same & rest]
    return ascending((same & -same).bit_length() - 1 for same in classes if same)


def sayable(order: Collation, columns: ColumnSet, outer: LogicalProps) -> bool:
    """Whether each key of `order`, meant where `outer` holds, equals one of `columns`."""
    return all(outer.equivalents(key.column) & columns for key in order)


MOST_SPELLINGS = 12
ALL_PERMUTATIONS = 3


def spellings(order: Collation, columns: ColumnSet, outer: LogicalProps, inner: LogicalProps) -> tuple[Collation, ...]:
    """All ways to say `order`, meant where `outer` holds, with the `columns` of an input where only `inner` holds.

    A column may be said by any equivalent one. Those that the input itself knows to be equivalent count once; others
    are different orders below, and which of them is cheap depends on the plan. Between two keys may stand a column that the
    keys before it determine where `outer` holds only, and by which the input may come sorted since a join was on it. At most
    MOST_SPELLINGS, and with such a column as many; () where a column has no equivalent in the input. Kept, since every join of
    the same inputs asks.
    """
    if not order:
        return ((),)
    key = (order, columns, outer.other(inner))
    known: tuple[Collation, ...] | None = outer.answers.get(key)
    if known is None:
        known = outer.answers[key] = _spellings(order, columns, outer, inner)
    return known


def _spellings(order: Collation, columns: ColumnSet, outer: LogicalProps, inner: LogicalProps) -> tuple[Collation, ...]:
    found: list[Collation] = [()]
    for key in order:
        same = outer.equivalents(key.column) & columns
        if not same:
            return ()
        said = [SortKey(c, key.descending, key.nulls_first) for c in inner.representatives(same)]
        found = [(*prefix, each) for prefix in found for each in said][:MOST_SPELLINGS]
    if len(order) > 1 and inner.equivalences:
        found += list(_longer(order, found, outer, inner))[:MOST_SPELLINGS]
    return tuple(found)


def interposed(
    offer: Collation, order: Collation, columns: ColumnSet, outer: LogicalProps, inner: LogicalProps
) -> Iterator[Collation]:
    """Ways to say `order` (see `spellings`) with first keys of `offer` between two of its own, that determine them where `outer`
    holds only."""
    if not outer.closure(column_set([k.column for k in order[:-1]])) >> offer[0].column & 1:
        return
    for cut in range(1, len(order)):
        known = outer.closure(column_set(k.column for k in order[:cut]))
        determined = next((n for n, key in enumerate(offer) if not known >> key.column & 1), len(offer))
        for way in spellings(order, columns, outer, inner) if determined else ():
            if not inner.closure(column_set(k.column for k in way[:cut])) >> offer[0].column & 1:
                yield from ((*way[:cut], *offer[:n], *way[cut:]) for n in range(1, determined + 1))


def _longer(order: Collation, ways: list[Collation], outer: LogicalProps, inner: LogicalProps) -> Iterator[Collation]:
    for cut in range(1, len(order)):
        known = outer.closure(column_set(key.column for key in order[:cut]))
        for way in ways:
            open_ = known & ~inner.closure(column_set(key.column for key in way[:cut]))
            for same in inner.equivalences:
                if same & open_:
                    yield (*way[:cut], _ascending_key((same & -same).bit_length() - 1), *way[cut:])


def completed(
    offer: Collation, order: Collation, columns: ColumnSet, outer: LogicalProps, inner: LogicalProps
) -> tuple[Collation, ...]:
    """Ways to say `order` (reduced, meant where `outer` holds) with the `columns` of an input, that begin as its `offer` does.

    Keys of the offer are taken as long as they are the next of `order` or are determined in the output, and these as long as one
    likes; what is then left of `order` follows. () where nothing is taken.
    """
    known = outer.closure(outer.constants)
    begun: list[tuple[Collation, Collation]] = []  # what is taken, and what is left
    for taken, key in enumerate(offer):
        if not order:
            break
        if known >> key.column & 1:
            begun.append((offer[:taken], order))
        elif reduce_collation((key,), outer) != order[:1]:
            break
        known = outer.closure(known | 1 << key.column)
        order = tuple(k for k in order if not known >> k.column & 1)
    else:
        taken = len(offer)
    begun.append((offer[:taken], order))
    return tuple(start + rest for start, left in begun if start for rest in spellings(left, columns, outer, inner))


def grouping_spellings(
    columns: ColumnSet, available: ColumnSet, outer: LogicalProps, inner: LogicalProps
) -> tuple[ColumnSet, ...]:
    """Ways to group as `columns` do where `outer` holds, with the columns `available` in an input where only `inner` holds.

    As with `spellings`, equal columns may be different ones in the input. Other columns may determine the same: as few as will
    do, or all there are, by which the input's rows are the likeliest to be all different, and then they are grouped as they
    come; or the determinants that the input knows. At most MOST_SPELLINGS and these; () where there is no way. Kept too.
    """
    key = (columns, available, outer.other(inner))
    known: tuple[ColumnSet, ...] | None = outer.answers.get(key)
    if known is None:
        known = outer.answers[key] = _grouping_spellings(columns, available, outer, inner)
    return known


def _grouping_spellings(
    columns: ColumnSet, available: ColumnSet, outer: LogicalProps, inner: LogicalProps
) -> tuple[ColumnSet, ...]:
    found = [0]
    for column in column_ids(columns):
        choices = list(inner.representatives(outer.equivalents(column) & available))
        found = [prefix | 1 << c for prefix in found for c in choices][:MOST_SPELLINGS]
    target = outer.closure(columns)
    whole = target & available
    if outer.closure(whole) == target:
        found += [outer.without_determined(whole), whole]
        said = (each.determinant & available for each in inner.dependencies)
        found += [part for part in said if part and outer.closure(part) == target]
    return tuple(dict.fromkeys(found))


def grouping_orders(offer: Collation, columns: ColumnSet, outer: LogicalProps, inner: LogicalProps) -> Iterator[Collation]:
    """Orders of an input that begin as its `offer` does and bring rows that are equal on `columns` where `outer` holds together,
    with a column in them that is neither asked for nor joined on: those that any operator thinks of by itself are left out."""
    target, known, joined = outer.closure(columns), outer.closure(0), union(inner.equivalences)
    start: Collation = ()
    for key in offer:
        if known == target or not target >> key.column & 1:
            break
        known, start = outer.closure(known | 1 << key.column), (*start, key)
        begun = column_set(k.column for k in start)
        for way in grouping_spellings(columns, inner.columns, outer, inner) if begun & ~joined else ():
            if begun & ~joined & ~way:
                rest = list(column_ids(inner.without_determined(way, begun)))
                yield from (start + ascending(each) for each in sequences(rest, 0))


def spelled(traits: TraitSet, columns: ColumnSet, outer: LogicalProps, inner: LogicalProps) -> tuple[TraitSet, ...]:
    """All ways to ask an input that has `columns` for what `traits` mean in the output of an operator that keeps them."""
    if traits.grouping:
        return tuple(grouped(g) for g in grouping_spellings(traits.grouping, columns, outer, inner))
    return tuple(TraitSet(order) for order in spellings(traits.collation, columns, outer, inner))
