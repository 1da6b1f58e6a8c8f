"""What is published about IMDB's columns, scaled."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent.parent / "job"
TYPES = "kind_type", "role_type", "link_type", "company_type", "comp_cast_type", "info_type"  # the same at every scale
_STEPS = 2000
MOST_SCALE = 50  # ids of cast_info are 32-bit integers


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one column at scale 1: NULLs and distinct values (None: more than the source counts), deciles of numbers, texts."""

    rows: int
    nulls: int
    ndv: int | None
    deciles: tuple[float, ...] | None
    values: tuple[str, ...] | None

    @property
    def filled(self) -> int:
        """Values that are not NULL."""
        return self.rows - self.nulls


@cache
def tables() -> dict[str, dict[str, Figures]]:
    """All columns of all tables, in the order of schema.sql."""
    counted, spread = _read("statistics.json")["tables"], _read("distributions.json")["tables"]
    return {
        table: {name: _figures(facts, column, spread.get(table, {}).get(name, {})) for name, column in facts["columns"].items()}
        for table, facts in counted.items()
    }


@cache
def types() -> dict[str, tuple[str, ...]]:
    """Per table of types its texts, by id from 1."""
    return {table: tuple(texts) for table, texts in _read("types.json").items()}


def rows_at_1(table: str) -> int:
    return tables()[table]["id"].rows


def rows_at(table: str, scale: float, least: int = 0) -> int:
    """Rows of a table: all of a table of types, else `scale` times IMDB's, at least `least` and one."""
    return rows_at_1(table) if table in TYPES else max(round(rows_at_1(table) * scale), least, 1)


def sampled_ndv(ndv: float, filled: float, scale: float, skew: float = 1.0) -> int:
    """Distinct values to be expected in a `scale`th of `filled` values, of which `ndv` are distinct.

    A value is missed by n draws with the probability exp(-n·p). At x between 0 and 1 on the way from the most to the least
    frequent value, p is x^(1/skew - 1) / (skew·ndv), as `ranks.chosen` draws. Beyond scale 1 there are no new values.
    """
    if scale >= 1 or not ndv:
        return round(ndv)
    x = (np.arange(_STEPS) + 0.5) / _STEPS
    p = x ** (1 / skew - 1) / (skew * ndv)
    return max(1, round(ndv * float(np.mean(-np.expm1(-filled * scale * p)))))


def _figures(facts: dict[str, Any], column: dict[str, Any], spread: dict[str, Any]) -> Figures:
    deciles, values = spread.get("deciles"), spread.get("values")
    return Figures(
        facts["rows"], column["nulls"], column.get("ndv"), tuple(deciles) if deciles else None, tuple(values) if values else None
    )


@cache
def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return found
