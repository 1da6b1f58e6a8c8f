"""Statistics of a catalog's tables by counting every value: what an analysis without sketches would give."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from experiments.stored_rows import open_source
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import Catalog, ColumnStats, Table

BUCKETS = 50


def with_exact_statistics(catalog: Catalog, common: int = 50) -> Catalog:
    """The same catalog; every column of a table with rows has exact figures, and the `common` most common of its repeated
    values."""
    return Catalog(catalog.name, [_analyzed(t, common) if t.files else t for t in catalog.tables.values()])


def _analyzed(table: Table, common: int) -> Table:
    columns = {}
    data = open_source(table).to_table()
    for column in table.columns:
        values = data.column(column.name).to_pylist()
        columns[column.name] = column_stats(values, table.stats.columns[column.name], common)
    return replace(table, stats=replace(table.stats, rows=data.num_rows, columns=columns))


def column_stats(values: Sequence[Any], before: ColumnStats, common: int) -> ColumnStats:
    counts = Counter(v for v in values if v is not None and v == v)
    frequent = [(value, count) for value, count in counts.most_common(common) if count > 1]
    return ColumnStats(
        nulls=sum(v is None for v in values),
        min=min(counts, default=None),
        max=max(counts, default=None),
        ndv=float(len(counts)),
        avg_width=before.avg_width,
        mcv=tuple((value, count / len(values)) for value, count in frequent),
        histogram=_histogram(sorted(v for v in counts.elements() if v not in dict(frequent))),
        degrees=degree_sequence(sorted(counts.values(), reverse=True)),
    )


def degree_sequence(counts: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The 64 largest counts exactly; of the others each with the largest of a group that is a quarter as long as all before."""
    steps: list[tuple[int, int]] = []
    start = 0
    while start < len(counts):
        length = 1 if start < 64 else start // 4
        steps.append((len(counts[start : start + length]), counts[start]))
        start += length
    return tuple(steps)


def _histogram(values: list[Any]) -> Histogram | None:
    if not values:
        return None
    bounds, rows, ndv, start = [values[0]], [], [], 0
    for i in range(1, BUCKETS + 1):
        end = len(values) * i // BUCKETS
        while 0 < end < len(values) and values[end] == values[end - 1]:
            end += 1
        if end > start:
            bounds.append(values[end - 1])
            rows.append(float(end - start))
            ndv.append(float(len(set(values[start:end]))))
            start = end
    return Histogram(tuple(bounds), tuple(rows), tuple(ndv))
