"""Equi-depth histograms of stored columns."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Histogram:
    """How the values of a column are spread, NULLs and the most common values (`ColumnStats.mcv`) left out.

    `bounds`: B + 1 ascending values of the column's type. Bucket i holds the values v with bounds[i] < v ≤ bounds[i + 1]; the
    first one also bounds[0]. `rows[i]` rows have them, about the same number in each bucket, and `ndv[i]` of them differ. NaN
    is in no bucket.
    """

    bounds: tuple[Any, ...]
    rows: tuple[float, ...]
    ndv: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.bounds) == len(self.rows) + 1 == len(self.ndv) + 1:
            raise ValueError(f"{len(self.bounds)} bounds for {len(self.rows)} rows and {len(self.ndv)} distinct counts")
