"""What a kind of dataset has to say so that `generate` can make it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.pipeline.spark.session import Say
from optimizer.dataset import read_declarations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = 40e6  # bytes of files, as estimated, that this process writes sooner than Spark starts
PART_BYTES = 128e6  # of a file, where nobody says how many there shall be
MOST_PARTS = 99_999  # names with five digits sort like numbers
Task = dict[str, Any]  # {"folder", "scale", "table", "number", "of", "path"}: a part to be written


class Part(NamedTuple):
    """File `number` (from 0) of the `of` that make `table`, of about `bytes`; `rows`: about how many the table has."""

    table: str
    number: int
    of: int
    bytes: float
    rows: float = 0.0

    @property
    def path(self) -> str:
        """Relative to the dataset's folder."""
        return f"{self.table}.parquet" if self.of == 1 else f"{self.table}/part-{self.number:05}.parquet"


@dataclass(frozen=True)
class Recipe:
    """One dataset to be made; `kind` and `scale` name it, and all else of its contents follows from `settings`, which are JSON.

    `module` has `write_part`, which writes a part, given the task and a path, or `rows_of` (table, scale, start, end), for
    its rows; `before` is called first, with no session where the dataset is small. `orders`, by table: columns that its rows are
    sorted by, a key unless the table is in `unkeyed`. `schema`: schema.sql, given the folder and all row counts. `beside`:
    bytes needed besides the files.
    """

    kind: str
    scale: str
    module: str
    parts: Sequence[Part]
    schema: Callable[[Path, Mapping[str, int]], str]
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unkeyed: frozenset[str] = frozenset()
    before: Callable[[SparkSession | None, Path, Say], None] | None = None
    beside: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> list[str]:
        """The settings as arguments of the command line: {"graphs": [a, b], "parts": 2} is --graph a --graph b --parts 2."""
        each = [(name, one) for name, value in self.settings.items() for one in (value if isinstance(value, list) else [value])]
        return [word for name, one in each for word in (f"--{'graph' if name == 'graphs' else name}", str(one))]

    @property
    def bytes(self) -> float:
        return sum(part.bytes for part in self.parts) + self.beside

    @property
    def small(self) -> bool:
        """Whether this process makes it, without Spark, whatever the master: it is small, and nobody asked for parts."""
        return "parts" not in self.settings and sum(part.bytes for part in self.parts) <= SMALL

    @property
    def label(self) -> str:
        return f"{self.kind}:{self.scale}"


def parts_of(table: str, rows: float, size: float, wanted: int | None) -> list[Part]:
    """The parts of a table of about `rows` rows and `size` bytes: `wanted` many or as its size suggests, no more than rows."""
    count = max(1, min(wanted or math.ceil(size / PART_BYTES), MOST_PARTS, int(rows)))
    return [Part(table, number, count, size / count, rows) for number in range(count)]


def key_orders(schema: Path) -> dict[str, Sequence[str]]:
    """The primary keys that schema.sql declares, by table: generators mostly write rows in their order."""
    return {table.name: table.primary_key for table in read_declarations([schema]) if table.primary_key}
