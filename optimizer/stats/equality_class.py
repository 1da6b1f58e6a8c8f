"""What an equality class of a region leaves of the rows of a set: the factors of the class for the members that the set holds.

A class that reaches k relations contributes the 1/ndv of all its columns but the one with the fewest values (of several with the
fewest, the largest table's), corrected by what common values and histograms say of all k columns together (`overlap`). Where the
equated columns of a relation hold one of its keys, the factors of the key's columns become one, 1/|stored rows|: a join to a key
finds one row, however many columns the key has, for rows whose values are among the key's. A further equality with the relation
that was joined to the key counts for nothing, since such columns are mostly copies (in TPC-DS, the customer of a return and of
its sale); one with another relation is taken as independent of the key. Other factors on one relation are combined with
back-off, but not the share of rows that find a key of one column among fewer values.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set, union
from optimizer.algebra.props import united
from optimizer.stats.overlap import Overlap, overlap_of
from optimizer.stats.relation import RelationStats
from optimizer.stats.selectivity import Combine, back_off

Relations = int
OnLeaf = tuple[tuple[tuple[float, ColumnSet], ...], ColumnSet]  # factors on one relation, and all its equated columns
NOTHING: OnLeaf = ((), 0)
Looks = tuple[Any, ...]
Found = tuple[int, int, int]  # a relation with a key, the one that looks for its rows, columns of the key or 0 (`_found_by_key`)
SURE = 0.5  # share of values found by a key from which on all are thought to be


class _Entry(NamedTuple):
    """Columns of one relation that are equated with those of others. `fewest`: distinct values of the one that has the fewest,
    which makes `factor`, or `alone` where no other column of the relation is equated; `within`: share of its own rows.
    `member`: the column's place in what is known of common values and histograms; -1 where that says nothing. `once`: the columns
    hold a key of the relation."""

    fewest: float
    minus_rows: float  # the largest table first
    single: bool  # nothing else of it is equated; of two aliases of a table the other goes first
    looks: Looks  # of two aliases with as many, what else tells them apart whatever the order of FROM
    columns: ColumnSet
    relation: int
    factor: float
    within: float
    alone: float
    member: int
    once: bool


class EqualityClass:
    """Columns that a region equates, directly or in turn. A subset may link only some of them: `factors` looks at the
    equalities whose two columns it holds. `several`: relations with columns in other classes too, or more than one in this;
    `looks`: what tells relations of as many rows apart, whatever their order."""

    def __init__(
        self, pairs: list[tuple[ColumnId, ColumnId]], home: dict[ColumnId, int], leaves: Sequence[RelationStats],
        found: Mapping[tuple[ColumnId, ColumnId], list[Found]], several: Relations,
        looks: Sequence[Looks],
    ) -> None:  # fmt: skip
        self._leaves, self._several, self._looks = leaves, several, looks
        self._pairs = [(1 << home[a] | 1 << home[b], 1 << a | 1 << b) for a, b in pairs]
        self._found = [(1 << a | 1 << b, found[a, b]) for a, b in pairs if (a, b) in found]
        self.relations: Relations = 0
        self.alone: Relations = 0  # relations with an equality of two columns of their own
        for within, _ in self._pairs:
            self.relations |= within
            if not within & (within - 1):
                self.alone |= within
        ids = list(column_ids(union(both for _, both in self._pairs)))
        self._columns: dict[int, ColumnSet] = {}
        for c in ids:
            self._columns[home[c]] = self._columns.get(home[c], 0) | 1 << c
        self._pairwise = len(ids) == len(self._columns) and 2 * len({both for _, both in self._pairs}) == len(ids) * (
            len(ids) - 1
        )
        self._entries: dict[ColumnSet, _Entry] = {}
        self._sorted: list[_Entry] = []
        self._figures = [leaves[home[c]].columns[c] for c in ids]
        informed = sum(1 for f in self._figures if f.frequent or f.spread is not None)
        self._members = {c: k for k, c in enumerate(ids)} if informed > 1 else {}
        self._overlap: Overlap | None = None
        self._known: dict[tuple[Relations, tuple[int, ...]], tuple[float, dict[int, OnLeaf]]] = {}
        # relations that may stand for each other, of which it matters which one does
        rows = [leaves[i].base_rows for i in self._columns if several >> i & 1]
        self.contested = column_set(i for i in self._columns if several >> i & 1 and rows.count(leaves[i].base_rows) > 1)

    def held(self, sets: npt.NDArray[np.int64]) -> tuple[list[Relations], npt.NDArray[np.int64]]:
        """The different parts of the class that the sets hold, and for each set the number of its part."""
        within = sets & self.relations
        if self.relations.bit_count() == 2 and not self.alone:  # the two together, or nothing that matters
            return [0, self.relations], (within == self.relations).astype(np.int64)
        held, number = np.unique(within, return_inverse=True)
        return held.tolist(), number

    def factors(self, held: Relations, turns: tuple[int, ...] = ()) -> tuple[float, dict[int, OnLeaf]]:
        """For the relations held: the factor that stands by itself; and by relation of which more columns are equated
        (`several`) the factors to be combined with those of other columns, and its equated columns. `turns`: those of them that
        are contested, in their turn."""
        known = self._known.get((held, turns))
        if known is None:
            known = self._known[held, turns] = self._compute(held, turns)
        return known

    def _compute(self, held: Relations, turns: tuple[int, ...]) -> tuple[float, dict[int, OnLeaf]]:
        share, several = 1.0, self._several
        on_leaves: dict[int, OnLeaf] = {}
        for entries in self._linked(held):
            if turns:
                contested = (turns.index(each.relation) if each.relation in turns else -1 for each in entries)
                entries = [e if turn < 0 else e._replace(looks=(turn,)) for e, turn in zip(entries, contested, strict=True)]
                entries.sort()
            for _, _, _, _, columns, i, _, within, _, _, _ in entries:
                share *= within
                if several >> i & 1:
                    factors, equated = on_leaves.get(i, NOTHING)
                    on_leaves[i] = factors, equated | columns
            if self._found:
                key = entries[0]
                entries = self._told_by_keys(entries, turns)
                looking = entries[0]
                if looking is not key and (matched := self._matched(looking, key)) < 1.0:
                    factors, equated = on_leaves.get(looking.relation, NOTHING)
                    on_leaves[looking.relation] = (*factors, (matched, 0)), equated
            share *= self._correction(entries)
            looks = next((entry for entry in entries if not entry.once), entries[0]) if entries[0].once else entries[0]
            if looks is not entries[0]:  # its factor is the share of its rows that the key has: nothing to combine with others
                share *= looks.factor
            for entry in entries[1:]:
                if entry is looks:
                    continue
                _, _, _, _, columns, i, factor, _, alone, _, _ = entry
                if several >> i & 1:
                    factors, equated = on_leaves[i]
                    on_leaves[i] = (*factors, (factor, columns)), equated
                else:
                    share *= alone
        return share, on_leaves

    def _linked(self, held: Relations) -> Iterable[list[_Entry]]:
        """Columns that equalities within a set link, as entries in their order."""
        if self._pairwise:  # whatever is held is linked
            if not self._sorted:
                self._sorted = sorted(starmap(self._entry, self._columns.items()))
            yield [entry for entry in self._sorted if held >> entry.relation & 1]
            return
        for members in united([columns for within, columns in self._pairs if not within & ~held]):
            yield sorted(self._entry(i, own & members) for i, own in self._columns.items() if held >> i & 1 and own & members)

    def _told_by_keys(self, entries: Sequence[_Entry], turns: tuple[int, ...]) -> list[_Entry]:
        """Where rows of a relation are found by its key of several columns, the one that looks for them comes first, so that all
        factors of the key are the relation's; where either may be, it is the last in turn. Copies are left out."""
        keyed, copies = {}, set()
        members = union(entry.columns for entry in entries)
        for both, found in self._found:
            if not both & ~members:
                i, by, on_key = max(found, key=lambda each: turns.index(each[0]) if each[0] in turns else len(turns))
                if on_key:
                    keyed[i, by] = on_key
                else:
                    copies.add(1 << i | 1 << by)
        copies -= {1 << i | 1 << by for i, by in keyed}
        kept: list[_Entry] = []
        for entry in entries:
            if not any(1 << entry.relation | 1 << other.relation in copies for other in kept):
                kept.append(entry)
        looking = next((each for each in kept if keyed.get((kept[0].relation, each.relation), 0) > 1), None)
        if looking is not None:
            kept.remove(looking)
            kept.insert(0, looking)
        return kept

    def _matched(self, looking: _Entry, key: _Entry) -> float:
        """Share of the values of a column that are among the fewer of a key's column, where the key is not filtered to these.
        Counts that differ by little are taken for those of a foreign key, all of whose values are there."""
        leaf = self._leaves[key.relation]
        filtered = min(1.0, leaf.rows / leaf.base_rows) if leaf.base_rows else 1.0
        share = max(1.0, key.fewest) / max(1.0, looking.fewest) / filtered if filtered else 1.0
        return share if share < SURE else 1.0

    def _entry(self, i: int, columns: ColumnSet) -> _Entry:
        """What equated columns of relation `i` say, whichever other relations a set holds."""
        known = self._entries.get(columns)
        if known is None:
            leaf = self._leaves[i]
            fewest, factor, within, alone, silent, once = leaf.equated.get(columns) or _equated(leaf, columns)
            member = -1 if silent else self._members.get(columns.bit_length() - 1, -1)
            single = not self._several >> i & 1
            known = _Entry(fewest, -leaf.base_rows, single, self._looks[i], columns, i, factor, within, alone, member, once)
            self._entries[columns] = known
        return known

    def _correction(self, entries: Sequence[_Entry]) -> float:
        """What common values and histograms make of the factors."""
        members = [entry.member for entry in entries]
        if len(members) < 2 or -1 in members:
            return 1.0
        if self._overlap is None:
            self._overlap = overlap_of(tuple(self._figures))
        return self._overlap.correction(members)


def _equated(leaf: RelationStats, columns: ColumnSet) -> tuple[float, float, float, float, bool, bool]:
    """What equated columns of a relation say in any region: some fields of `_Entry`, whether common values and histograms say
    nothing of them, and whether they hold a key. Kept with the relation."""
    figures = [leaf.columns[c] for c in column_ids(columns)]
    fewest, *others = sorted(f.ndv for f in figures)
    within = 1.0 - max(f.null_fraction for f in figures)
    for ndv in others:
        within /= max(1.0, ndv)
    factor = 1.0 / max(1.0, fewest)
    alone = combined_leaf(leaf, [(factor, columns)], columns, back_off)
    # of two columns nobody knows which values they have in common, and a key of more columns has its own say
    silent = bool(others) or any(key & columns and key & ~columns for key in leaf.keys)
    once = any(key and not key & ~columns for key in leaf.keys)
    leaf.equated[columns] = known = fewest, factor, within, alone, silent, once
    return known


def combined_leaf(leaf: RelationStats, factors: Sequence[tuple[float, ColumnSet]], equated: ColumnSet, combine: Combine) -> float:
    """The factors (1/ndv, equated columns) that fall on one leaf, combined; `equated`: all its equated columns."""
    key = next((k for k in leaf.keys if k and not k & ~equated), 0)
    on_key = [factor for factor, columns in factors if columns & key]
    if not on_key:
        return combine(_counted_together(leaf, factors) if len(factors) > 1 and leaf.distinct else (f for f, _ in factors))
    one_row = 1.0 / max(1.0, leaf.base_rows)
    share = max(one_row, on_key[0]) if len(on_key) == 1 else one_row
    for factor, columns in factors:
        if not columns & key:
            share *= factor
    return share


def _counted_together(leaf: RelationStats, factors: Sequence[tuple[float, ColumnSet]]) -> list[float]:
    """The factors, those of columns whose combinations were counted as one."""
    left = dict(enumerate(factors))
    result = []
    for together in sorted(leaf.distinct, key=lambda each: (-each.bit_count(), each)):
        within = [n for n, (_, columns) in left.items() if not columns & ~together]
        if len(within) > 1 and column_set(c for n in within for c in column_ids(left[n][1])) == together:
            result.append(1.0 / max(1.0, leaf.distinct[together]))
            for n in within:
                del left[n]
    return [*result, *(factor for factor, _ in left.values())]
