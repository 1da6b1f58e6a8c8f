"""One measured number."""

from typing import NamedTuple


class Figure(NamedTuple):
    """A `value` in `unit`, which should be at most `target`, where there is one. A row of the results."""

    figure: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""
