"""How many distinct combinations of values rows have."""

from collections.abc import Iterable, Sequence
from math import prod

from optimizer.algebra.columns import ColumnId, column_ids, column_set
from optimizer.algebra.derive_props import filtered_props
from optimizer.stats.relation import RelationStats


def distinct_rows(ndvs: Sequence[float], rows: float, stored: float | None = None) -> float:
    """Distinct combinations among `rows` rows of columns with the given distinct counts: d(1 - (1 - 1/d)^rows).

    d is the product of the counts, assuming independence (Cardenas, CACM 1975); never above `rows`. Of rows that are some of so
    many `stored` ones, none is drawn twice: d(1 - (1 - rows/stored)^(stored/d)), which is d for all of them (after Yao, CACM
    1977, where each combination is as often).
    """
    if rows <= 0:
        return 0.0
    d = 1.0
    for ndv in ndvs:
        d *= max(1.0, ndv)
    if d >= 1e12:
        return rows
    if stored is not None and d <= stored:
        missed: float = (1.0 - min(1.0, rows / stored)) ** (stored / d)
        return min(rows, d * (1.0 - missed))
    return min(rows, d * (1.0 - (1.0 - 1.0 / d) ** rows)) if d > 1 else min(rows, 1.0)


def distinct_of(below: RelationStats, keys: Iterable[ColumnId]) -> float:
    """Distinct combinations of `keys` among the rows of a relation."""
    return distinct_rows(distinct_counts(below, keys), below.rows, below.base_rows if below.joined is None else None)


def distinct_counts(below: RelationStats, keys: Iterable[ColumnId]) -> list[float]:
    """Distinct counts whose product is how many combinations of `keys` there may be: of columns that no others of them determine,
    each by its equal with the fewest values. Those of one relation of an inner join are no more than that has rows: equal columns
    stand for each other, so that the relation that tells most about its columns comes first."""
    if below.props is None:
        return below.ndvs(keys)
    home = {c: leaf for leaf in below.leaves for c in leaf.columns}
    classes = below.props.equivalences
    if below.hides:  # a column that is not given may have fewer values than its equals
        classes = filtered_props(below.props, below.predicate).equivalences
    fewest: list[dict[RelationStats, ColumnId]] = []  # of each key: where equals of it have the fewest values
    for key in column_ids(below.props.without_determined(column_set(keys))):
        equal = next((each for each in classes if each >> key & 1), 1 << key)
        ndvs = {c: home[c].columns[c].ndv for c in column_ids(equal) if c in home}
        least = min((min(ndv, home[c].rows), ndv) for c, ndv in ndvs.items())
        fewest.append({home[c]: c for c in reversed(ndvs) if (min(ndvs[c], home[c].rows), ndvs[c]) == least})
    if below.joined is None:
        return below.ndvs(c for each in fewest for c in each.values())
    counts = []
    while fewest:
        there = {leaf: [each[leaf] for each in fewest if leaf in each] for each in fewest for leaf in each}
        leaf = max(there, key=lambda leaf: _told(leaf, there[leaf]))
        counts.append(min(prod(leaf.ndvs(there[leaf])), leaf.rows))
        fewest = [each for each in fewest if leaf not in each]
    return counts


def _told(leaf: RelationStats, columns: Sequence[ColumnId]) -> tuple[float, int, float, int]:
    """How many times fewer combinations of columns a relation has than there could be, of how many columns, in how many rows."""
    free = prod(max(1.0, leaf.columns[c].ndv) for c in columns)
    return free / max(1.0, min(prod(leaf.ndvs(columns)), leaf.rows)), len(columns), leaf.base_rows, -min(columns)
