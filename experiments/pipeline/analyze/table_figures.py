"""The figures of a table from the sketches of its pieces."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from experiments.pipeline.analyze.pieces import Piece, Sketches, contents, sketch_in
from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.figures import column_stats, distinct_values, is_unique
from experiments.pipeline.sketches.hyperloglog import STANDARD_ERROR, HyperLogLog
from experiments.pipeline.sketches.order import ranked
from optimizer.catalog.table import ColumnStats, Table


def with_figures(table: Table, sketches: Sketches, cut: Sequence[Piece]) -> Table:
    """`table` with the figures of its sketches. Where these saw a sample of the rows, footers know NULLs and bounds better. Of
    a sample of parts that have values of their own each, as those of sorted data have, so do the others: distinct values grow
    with the rows."""
    columns = of_columns(sketches)
    seen = max((sketch.rows for sketch in columns.values()), default=0)
    sampled = 0 < seen < table.stats.rows
    scale = table.stats.rows / seen if sampled else 1.0
    stats: dict[str, ColumnStats] = {}
    for name, sketch in columns.items():
        stats[name] = column_stats(sketch, scale)
        if (name,) in table.keys and seen:
            stats[name] = replace(stats[name], ndv=float(table.stats.rows), degrees=((table.stats.rows, 1),))
        if sampled:  # what is least in a sample bounds nothing
            footer = table.stats.columns[name]
            nulls = stats[name].nulls if footer.nulls is None else footer.nulls
            stats[name] = replace(stats[name], nulls=nulls, min=footer.min, max=footer.max)
    if sampled:
        for name in _apart(cut):
            present = float(table.stats.rows - (stats[name].nulls or 0))
            stats[name] = replace(stats[name], ndv=min(distinct_values(columns[name], 1.0) * scale, present))
    distinct = {}
    for names, found in sketches.items():
        if isinstance(found, HyperLogLog):
            combinations = math.prod((stats[name].ndv or 0.0) + 1.0 for name in names)
            distinct[names] = min(found.estimate() * scale, float(table.stats.rows), combinations)
    how = f"a sample of {seen:,} of {table.stats.rows:,} rows" if sampled else f"all {seen:,} rows"
    analyzed = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {how}"
    return replace(table, stats=replace(table.stats, columns=stats, distinct=distinct, analyzed=analyzed))


def _apart(cut: Sequence[Piece]) -> set[str]:
    """Columns of which no two of several whole pieces have values in one range."""
    if len(cut) < 2 or any(piece.share < 1.0 for piece in cut):
        return set()
    bounds: dict[str, list[pa.Array]] = {}
    for piece in cut:
        for (name,), content in contents(next(iter(piece.sketches))).items():
            found = sketch_in((name,), content).bounds
            if len(found):
                bounds.setdefault(name, []).append(found)
    apart = set()
    for name, ranges in bounds.items():
        ends = ranked(pa.concat_arrays(ranges))[0].reshape(-1, 2)
        ends = ends[np.argsort(ends[:, 0])]
        if len(ends) > 1 and (ends[:-1, 1] < ends[1:, 0]).all():
            apart.add(name)
    return apart


def of_columns(sketches: Sketches) -> dict[str, ColumnSketch]:
    """The sketches of single columns, by name."""
    return {names[0]: sketch for names, sketch in sketches.items() if isinstance(sketch, ColumnSketch)}


def unique_columns(table: Table, sketches: Sketches) -> tuple[list[str], list[str]]:
    """Columns without NULL whose values all differ, though no key says so: for certain, and as far as sketches can tell."""
    surely, probably = [], []
    for name, sketch in of_columns(sketches).items():
        if (name,) in table.keys or sketch.nulls or not sketch.rows or sketch.rows < table.stats.rows:
            continue
        unique = is_unique(sketch)
        if unique:
            surely.append(name)
        elif unique is None and abs(sketch.distinct.estimate() / sketch.rows - 1.0) < 3 * STANDARD_ERROR:
            probably.append(name)
    return surely, probably
