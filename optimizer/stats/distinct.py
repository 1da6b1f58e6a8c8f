"""How many distinct combinations of values rows have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optimizer.algebra.columns import ColumnId, column_ids, column_set
from optimizer.algebra.derive_props import filtered_props
from optimizer.stats.relation import RelationStats


def distinct_rows(ndvs: Sequence[float], rows: float) -> float:
    """Distinct combinations among `rows` rows of columns with the given distinct counts: d(1 - (1 - 1/d)^rows).

    d is the product of the counts, assuming independence (Cardenas, CACM 1975); never above `rows`.
    """
    if rows <= 0:
        return 0.0
    d = 1.0
    for ndv in ndvs:
        d *= max(1.0, ndv)
    if d >= 1e12:
        return rows
    return min(rows, d * (1.0 - (1.0 - 1.0 / d) ** rows)) if d > 1 else min(rows, 1.0)


def distinct_counts(below: RelationStats, keys: Iterable[ColumnId]) -> list[float]:
    """Distinct counts whose product is how many combinations of `keys` there may be: of columns that no others of them determine,
    each by its equal with the fewest values."""
    if below.props is None:
        return below.ndvs(keys)
    figures, classes = below.columns, below.props.equivalences
    if below.hides:  # a column that is not given may have fewer values than its equals
        figures = {c: f for leaf in below.leaves for c, f in leaf.columns.items()}
        classes = filtered_props(below.props, below.predicate).equivalences
    named, hidden = list[ColumnId](), list[float]()
    for key in column_ids(below.props.without_determined(column_set(keys))):
        equal = next((each for each in classes if each >> key & 1), 1 << key)
        fewest = min((c for c in column_ids(equal) if c in figures), key=lambda c: (figures[c].ndv, c))
        if fewest in below.columns:
            named.append(fewest)
        else:
            hidden.append(figures[fewest].ndv)
    return [*below.ndvs(named), *hidden]
