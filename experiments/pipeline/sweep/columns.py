"""The columns of sweep results, in columns.csv: one row for each item, whatever became of it.

Figures of planning and of execution are NULL where the item failed before it had them. docs/pipeline.md lists the same.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from optimizer.settings import describe_settings


class Column(NamedTuple):
    """`varies`: two runs of the same item may differ here."""

    name: str
    type: pa.DataType
    doc: str
    varies: bool = False


_TYPES = {
    "text": pa.string(), "int": pa.int64(), "real": pa.float64(), "flag": pa.bool_(), "time": pa.timestamp("us", "UTC"),
    "reals": pa.list_(pa.float64()), "counts": pa.map_(pa.string(), pa.int64()),
}  # fmt: skip
_OF_SETTINGS = {bool: "flag", int: "int", float: "real", str: "text", tuple: "text"}


def _columns() -> Iterator[Column]:
    with Path(__file__).with_name("columns.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["name"] == "set_NAME":
                for doc in describe_settings():
                    yield Column(f"set_{doc.name}", _TYPES[_OF_SETTINGS[type(doc.default)]], f"setting {doc.name}")
            else:
                yield Column(row["name"], _TYPES[row["type"]], row["doc"], row["varies"] == "yes")


COLUMNS = tuple(_columns())
SAME_UNIT = ("cost_model", "coefficients", "spark_nodes", "estimator", "injected", "q_error")  # settings that costs depend on

SCHEMA = pa.schema([(column.name, column.type) for column in COLUMNS])
SETTLED = tuple(column.name for column in COLUMNS if not column.varies)


def setting_columns(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings, as the columns that show them; names of rules joined by commas."""
    return {f"set_{name}": ",".join(value) if isinstance(value, (list, tuple)) else value for name, value in settings.items()}
