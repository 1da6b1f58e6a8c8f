"""One measured number."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """`figure` of `of`: a `value` in `unit`, which should be at most `target`, where there is one. A row of the result files."""

    part: str
    figure: str
    of: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""
