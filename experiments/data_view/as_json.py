"""A catalog as JSON, by the format of `planscope data show --format json`."""

import json
import math
from decimal import Decimal
from typing import Any

from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import Catalog, ColumnStats, Table


def catalog_json(catalog: Catalog) -> dict[str, Any]:
    """All figures of a catalog; unknown ones are null.

    Dates are ISO text, bytes hexadecimal digits; a decimal is a number where that is exact, else text.
    """
    return {"tables": {name: _table(table) for name, table in catalog.tables.items()}}


def json_text(catalog: Catalog) -> str:
    return json.dumps(catalog_json(catalog), indent=1, allow_nan=False)


def _table(table: Table) -> dict[str, Any]:
    return {
        "rows": table.stats.rows,
        "bytes": table.stats.bytes,
        "keys": [list(key) for key in table.keys],
        "distinct": [{"columns": list(names), "ndv": ndv} for names, ndv in table.stats.distinct.items()],
        "analyzed": table.stats.analyzed or None,
        "columns": {c.name: _column(str(c.type), table.stats.columns.get(c.name, ColumnStats())) for c in table.columns},
    }


def _column(type: str, stats: ColumnStats) -> dict[str, Any]:
    return {
        "type": type,
        "nulls": stats.nulls,
        "min": _value(stats.min),
        "max": _value(stats.max),
        "ndv": stats.ndv,
        "avg_width": stats.avg_width,
        "mcv": [[_value(value), share] for value, share in stats.mcv] if stats.mcv else None,
        "histogram": None if stats.histogram is None else _histogram(stats.histogram),
    }


def _histogram(histogram: Histogram) -> dict[str, Any]:
    return {"bounds": [_value(v) for v in histogram.bounds], "rows": list(histogram.rows), "ndv": list(histogram.ndv)}


def _value(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return float(value) if Decimal(repr(float(value))) == value else format(value, "f")
    return value.hex() if isinstance(value, bytes) else str(value)
