"""What becomes of left rows that look for matches: shares for semi, anti, mark and single joins, and for Apply."""

from collections.abc import Mapping
from math import expm1, log1p

from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.nulls import strict_columns
from optimizer.algebra.scalars import Call, ColumnRef, Literal, Predicate
from optimizer.stats.distinct import distinct_rows
from optimizer.stats.relation import ColumnFigures, RelationStats
from optimizer.stats.selectivity import Combine, back_off, selectivity

LEAST_SHARE = 1e-3  # nobody is so sure of an estimate as to say never


def some_row_share(mean: float, most: float) -> float:
    """Probability that a left row has a match when it has `mean` of them on average, out of `most` rows that might be: of n
    rows each matches with probability p = mean / n, independently, so 1 - (1 - p)^n."""
    n = max(1.0, most, mean)
    return bounded(-expm1(n * log1p(-mean / n)) if mean < n else 1.0)


def bounded(share: float) -> float:
    """A share that leaves some rows on both sides, but for a sure match."""
    return 1.0 if share >= 1.0 else max(LEAST_SHARE, share)


def mark_figures(share: float, predicate: Predicate, left: RelationStats, right: RelationStats) -> ColumnFigures:
    """Figures of a mark that is TRUE for a `share` of the rows.

    It is NULL for rows without a match whose side of the predicate is NULL; and, where the predicate is a single conjunct, for
    all rows without a match once the right input has a NULL in it, as in NOT IN.
    """
    unknown = 0.0
    for conjunct in predicate:
        for column in column_ids(strict_columns(conjunct)):
            if column in left.columns:
                unknown = max(unknown, left.columns[column].null_fraction)
            elif len(predicate) == 1 and column in right.columns:
                present = 1.0 - right.columns[column].null_fraction
                unknown = max(unknown, 1.0 - present ** max(right.rows, 0.0))
    nulls = min(1.0, max(0.0, 1.0 - share)) * min(1.0, unknown)
    true = share / (1.0 - nulls) if nulls < 1.0 else 0.0
    frequent = {True: min(1.0, true), False: max(0.0, 1.0 - true)}
    return ColumnFigures(2.0, nulls, 0.0, 1.0, 1.0, frequent)


def per_row_figures(columns: Mapping[ColumnId, ColumnFigures], runs: float, rows: float) -> dict[ColumnId, ColumnFigures]:
    """Figures of the columns of an Apply's right input over all its runs. A column that has one value in a run (an aggregate,
    say) may have another in each; others keep the values of their domain, of which a run sees some."""
    return {
        id: f if f.ndv > 1.0 or f.low is not None or f.frequent
        else ColumnFigures(max(1.0, min(runs, rows)), f.null_fraction, None, None, f.width)
        for id, f in columns.items()
    }  # fmt: skip


def semi_share(predicate: Predicate, left: RelationStats, right: RelationStats, combine: Combine = back_off) -> float:
    """Share of left rows with a match: per equality min(1, present distinct right / distinct left), by containment."""
    shares = []
    for conjunct in predicate:
        match conjunct:
            case Call(function="=" | "is_not_distinct_from", args=(ColumnRef() as a, ColumnRef() as b)):
                if a.id not in left.columns:
                    a, b = b, a
                if a.id in left.columns and b.id in right.columns:
                    stored = right.base_rows if right.joined is None else None
                    present = distinct_rows([right.columns[b.id].ndv], right.rows, stored)
                    shares.append(min(1.0, present / left.columns[a.id].ndv))
                    continue
        columns = {**left.columns, **right.columns}
        shares.append(1.0 if isinstance(conjunct, Literal) else selectivity(conjunct, columns, combine))
    if not predicate:
        return 1.0 if right.rows >= 1 else right.rows
    return combine(shares)
