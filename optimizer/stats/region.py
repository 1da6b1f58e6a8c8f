"""Rows of every subset of an inner-join region, compiled once for the region.

Each conjunct counts once, whatever the order of joins: an equality of columns as part of its class (`equality_class`), any other
by its selectivity.

What a subset shares with others is looked up: the product of its leaves' rows, and the factors of an equality class for the
members of the class that the subset holds. `vector` gives the rows of many subsets at once, the same numbers as `rows`.
"""

from collections.abc import Mapping, Sequence
from math import inf, ldexp, prod

import numpy as np
import numpy.typing as npt

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set
from optimizer.algebra.props import united
from optimizer.algebra.scalars import Call, Predicate, Scalar
from optimizer.stats.equality_class import NOTHING, EqualityClass, Found, Looks, OnLeaf, Relations, combined_leaf
from optimizer.stats.relation import CEILING, RelationStats, columns_of
from optimizer.stats.selectivity import Combine, back_off, plain_column, selectivity

FEW_KINDS = 8  # of factors on a relation: up to so many, all are combined, whether a set has them or not
FEW_SETS = 20  # that are estimated one by one, which is quicker than as arrays
HUGE, STEP = 1e200, 600  # products above HUGE are halved STEP times
Part = tuple[Relations, tuple[int, ...]]  # what a set holds of a class, with the turns of `_turns`
MANY_CLASSES = 24  # equality classes beyond which a set looks up the ones it holds columns of


class RegionRows:
    """`leaves[i]` is relation i, bit i of a set. `rows(s)`: estimated rows of the join of the relations in `s`."""

    def __init__(self, leaves: Sequence[RelationStats], predicate: Predicate, combine: Combine = back_off) -> None:
        """`combine`: what becomes of several factors on one relation."""
        self._combine = combine
        self.leaves = leaves = [leaf.with_equals_as_one() for leaf in leaves]
        home = {column: i for i, leaf in enumerate(leaves) for column in leaf.columns}
        first = {column: one for leaf in leaves for column, one in leaf.equals.items()}
        equalities: list[tuple[ColumnId, ColumnId]] = []
        others: list[Scalar] = []
        for conjunct in predicate:
            pair = _equated(conjunct)
            if pair is None:
                others.append(conjunct)
                continue
            a, b = (first.get(column, column) for column in pair)
            if a != b:
                equalities.append((a, b))
        self._shares = _shares(others, home, leaves, combine) if others else []
        once = several = 0
        for column in {c for pair in equalities for c in pair}:
            several |= once & 1 << home[column]
            once |= 1 << home[column]
        classes = _connected(equalities)
        looks = _looks(classes, home, leaves)
        found = _found_by_key(equalities, home, leaves)
        self._classes = [EqualityClass(pairs, home, leaves, found, several, looks) for pairs in classes]
        self._equalities, self._home = [(1 << home[a] | 1 << home[b], (a, b)) for a, b in equalities], home
        self._turn_within: tuple[Relations, dict[int, int]] = 0, {}  # by relation, of the last set
        self._alone = column_set(k for k, each in enumerate(self._classes) if each.alone)
        self._touching = [0] * len(leaves)  # classes by relation, as bits
        for k, each in enumerate(self._classes):
            for i in column_ids(each.relations):
                self._touching[i] |= 1 << k
        self._products: dict[Relations, tuple[float, int]] = {0: (1.0, 0)}

    def rows(self, s: Relations) -> float:
        rows, halvings = self._product(s)
        on_leaves: dict[int, OnLeaf] = {}
        for each in self._classes if len(self._classes) <= MANY_CLASSES else self._reached(s):
            held = s & each.relations
            if held & (held - 1) or held & each.alone:
                share, found = each.factors(held, self._turns(s, held & each.contested))
                rows, halvings = _lifted(rows * share, halvings)
                for i, (factors, equated) in found.items():
                    before = on_leaves.get(i, NOTHING)
                    on_leaves[i] = before[0] + factors, before[1] | equated
        for i, (factors, equated) in sorted(on_leaves.items()):
            if factors:
                rows, halvings = _lifted(rows * _on_leaf(self.leaves[i], factors, equated, self._combine), halvings)
        for within, share in self._shares:
            if not within & ~s:
                rows, halvings = _lifted(rows * share, halvings)
        return min(scaled(rows, halvings) if halvings else rows, CEILING)

    def vector(self, sets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """`rows` of each set. The factors of a class are looked up for the distinct parts of it that the sets hold."""
        if len(sets) <= FEW_SETS or prod(max(1.0, leaf.rows) for leaf in self.leaves) > HUGE:
            return np.array([self.rows(s) for s in sets.tolist()])
        rows = np.ones(len(sets))
        for i, leaf in enumerate(self.leaves):
            rows *= np.array((1.0, leaf.rows)).take(sets >> i & 1)
        on_leaves: dict[int, list[tuple[npt.NDArray[np.int64], list[OnLeaf]]]] = {}
        contested = iter(self._parts_and_turns([each for each in self._classes if each.contested], sets))
        for each in self._classes:
            if each.contested:
                parts, number = next(contested)
            else:
                held, number = each.held(sets)
                parts = [(part, ()) for part in held]
            shares = np.ones(len(parts))
            parts_of: dict[int, list[OnLeaf]] = {}
            for at, (part, turns) in enumerate(parts):
                if part & (part - 1) or part & each.alone:
                    shares[at], found = each.factors(part, turns)
                    for i, own in found.items():
                        parts_of.setdefault(i, [NOTHING] * len(parts))[at] = own
            rows *= shares[number]
            for i, found_on in parts_of.items():
                on_leaves.setdefault(i, []).append((number, found_on))
        for i, entries in sorted(on_leaves.items()):
            rows *= self._combined(self.leaves[i], entries, len(sets))
        for within, share in self._shares:
            rows *= np.where(sets & within == within, share, 1.0)
        return np.minimum(rows, CEILING)

    def _turns(self, s: Relations, contested: Relations) -> tuple[int, ...]:
        """Relations of as many rows that stand for each other, in their turn: as set `s` alone links them, so that its rows are
        the same whatever else is joined."""
        if not contested & (contested - 1):
            return ()
        if self._turn_within[0] != s:
            within = [pair for both, pair in self._equalities if not both & ~s]
            looks = _looks(_connected(within), self._home, self.leaves)
            order = sorted(column_ids(s), key=lambda i: (len(looks[i][1]) < 2, looks[i], i))
            self._turn_within = s, {i: turn for turn, i in enumerate(order)}
        return tuple(sorted(column_ids(contested), key=self._turn_within[1].__getitem__))

    def _parts_and_turns(
        self, classes: list[EqualityClass], sets: npt.NDArray[np.int64]
    ) -> list[tuple[list[Part], npt.NDArray[np.int64]]]:
        """Of each class its different parts with the turns in them, and for each set the number of its own."""
        several = [(contested & contested - 1).astype(bool) for contested in (sets & each.contested for each in classes)]
        in_turn: list[list[Part]] = [[] for _ in classes]
        for at in np.flatnonzero(np.any(several, axis=0)).tolist() if classes else ():
            s = int(sets[at])
            for each, matter, parts in zip(classes, several, in_turn, strict=True):  # which look at the same joins within a set
                if matter[at]:
                    parts.append((s & each.relations, self._turns(s, s & each.contested)))
        found = []
        for each, matter, parts in zip(classes, several, in_turn, strict=True):
            number = np.zeros(len(sets), dtype=np.int64)
            plain, number[~matter] = np.unique(sets[~matter] & each.relations, return_inverse=True)
            different: dict[Part, int] = {(held, ()): n for n, held in enumerate(plain.tolist())}
            number[matter] = [different.setdefault(part, len(different)) for part in parts]
            found.append((list(different), number))
        return found

    def _combined(
        self, leaf: RelationStats, entries: list[tuple[npt.NDArray[np.int64], list[OnLeaf]]], count: int
    ) -> npt.NDArray[np.float64]:
        """The factors on one relation, combined, for each of `count` sets. `entries`: for each class the number of the part of it
        that each set holds, and what that leaves on the relation."""
        alike = np.zeros(count, dtype=np.int64)  # sets with the same factors have the same number
        kinds = [NOTHING]
        for number, parts in entries:
            different: dict[OnLeaf, int] = {}
            numbers = [different.setdefault(part, len(different)) for part in parts]
            alike = alike * len(different) + np.array(numbers).take(number)
            pairs = [(a, b) for a in kinds for b in different]
            if len(pairs) > FEW_KINDS:  # some may be in no set
                present = np.flatnonzero(np.bincount(alike))
                renumbered = np.empty(len(pairs), dtype=np.int64)
                renumbered[present] = np.arange(len(present))
                alike, pairs = renumbered[alike], [pairs[k] for k in present.tolist()]
            kinds = [((*a[0], *b[0]), a[1] | b[1]) for a, b in pairs]
        shares = [_on_leaf(leaf, factors, equated, self._combine) if factors else 1.0 for factors, equated in kinds]
        found: npt.NDArray[np.float64] = np.array(shares)[alike]
        return found

    def _reached(self, s: Relations) -> list[EqualityClass]:
        """Classes with two columns or more in the set."""
        once = twice = 0
        for i in column_ids(s):
            twice |= once & self._touching[i]
            once |= self._touching[i]
        return [self._classes[k] for k in column_ids(twice | once & self._alone)]

    def _product(self, s: Relations) -> tuple[float, int]:
        """Rows of the cross product, multiplied in the order of the relations, and how often the number was halved."""
        known = self._products.get(s)
        if known is None:
            top = 1 << s.bit_length() - 1
            below = s ^ top
            if below not in self._products:  # fill from the bottom: no recursion as deep as the set is large
                part = 0
                for i in column_ids(below):
                    last = self._products[part]
                    part |= 1 << i
                    self._products.setdefault(part, self._times(last, i))
            known = self._times(self._products[below], top.bit_length() - 1)
            self._products[s] = known
        return known

    def _times(self, product: tuple[float, int], relation: int) -> tuple[float, int]:
        rows, halvings = product[0] * self.leaves[relation].rows, product[1]
        return (ldexp(rows, -STEP), halvings + STEP) if rows > HUGE else (rows, halvings)


def _lifted(rows: float, halvings: int) -> tuple[float, int]:
    """Doubled again where factors have made it small: halved, a float might not hold it."""
    return (ldexp(rows, STEP), halvings - STEP) if halvings and 0.0 < rows < 1.0 else (rows, halvings)


def scaled(rows: float, halvings: int) -> float:
    """`rows` doubled as often as it was halved; infinite when a float cannot hold it."""
    try:
        return ldexp(rows, halvings)
    except OverflowError:
        return inf


def _on_leaf(leaf: RelationStats, factors: Sequence[tuple[float, ColumnSet]], equated: ColumnSet, combine: Combine) -> float:
    """`combined_leaf`, at once where there is nothing to combine."""
    return factors[0][0] if len(factors) == 1 and not leaf.keys else combined_leaf(leaf, factors, equated, combine)


def _shares(
    conjuncts: Sequence[Scalar], home: Mapping[ColumnId, int], leaves: Sequence[RelationStats], combine: Combine
) -> list[tuple[Relations, float]]:
    """Of conjuncts that are no equality of two columns: the relations they read, all where they read none, and the share of rows
    that passes."""
    figures, everything = columns_of(leaves), (1 << len(leaves)) - 1
    read = (column_set(home[c] for c in column_ids(each.columns)) for each in conjuncts)
    return [(within or everything, selectivity(each, figures, combine)) for within, each in zip(read, conjuncts, strict=True)]


def _equated(conjunct: object) -> tuple[ColumnId, ColumnId] | None:
    match conjunct:
        case Call(function="=" | "is_not_distinct_from", args=(a, b)):
            x, y = plain_column(a), plain_column(b)
            if x is not None and y is not None:
                return x, y
    return None


def _looks(
    classes: list[list[tuple[ColumnId, ColumnId]]], home: Mapping[ColumnId, int], leaves: Sequence[RelationStats]
) -> list[Looks]:
    """What tells relations apart that have as many stored rows, two aliases of a table for example, whatever their order: rows,
    and of each equated column its distinct values and those of all columns that it is equated with."""
    if len({leaf.base_rows for leaf in leaves}) == len(leaves):
        return [()] * len(leaves)
    equated: list[list[tuple[object, ...]]] = [[] for _ in leaves]
    for pairs in classes:
        members = {c for pair in pairs for c in pair}
        ndv = {c: leaves[home[c]].columns[c].ndv for c in members}
        everyone = sorted((leaves[home[c]].base_rows, ndv[c]) for c in members)
        for c in members:
            equated[home[c]].append((ndv[c], everyone))
    return [(leaf.rows, sorted(own)) for leaf, own in zip(leaves, equated, strict=True)]


def _found_by_key(
    pairs: Sequence[tuple[ColumnId, ColumnId]], home: dict[ColumnId, int], leaves: Sequence[RelationStats]
) -> dict[tuple[ColumnId, ColumnId], list[Found]]:
    """For equalities of two relations that hold a key of one of them (of both: of the larger table; of both where these are as
    large), and of more than one: the relation with the key, the one that looks for its rows, and how many columns the key has if
    this is one of them, else 0."""
    between: dict[tuple[int, int], list[tuple[ColumnId, ColumnId]]] = {}
    for a, b in pairs:
        if home[a] != home[b]:
            between.setdefault((min(home[a], home[b]), max(home[a], home[b])), []).append((a, b))
    found: dict[tuple[ColumnId, ColumnId], list[Found]] = {}
    for (one, other), equal in between.items():
        if len(equal) > 1:
            columns = column_set(c for pair in equal for c in pair)
            held = {i: max(keys) for i in (one, other) if (keys := [k for k in leaves[i].keys if k and not k & ~columns])}
            largest = max((leaves[i].base_rows for i in held), default=0.0)
            for i, key in held.items():
                if leaves[i].base_rows == largest:
                    for a, b in equal:
                        of_key = key.bit_count() if key >> a & 1 or key >> b & 1 else 0
                        found.setdefault((a, b), []).append((i, one + other - i, of_key))
    return found


def _connected(pairs: list[tuple[ColumnId, ColumnId]]) -> list[list[tuple[ColumnId, ColumnId]]]:
    """Equalities by the class they belong to, classes by lowest column."""
    classes = united([1 << a | 1 << b for a, b in pairs])
    return [[(a, b) for a, b in pairs if members >> a & 1] for members in classes]
