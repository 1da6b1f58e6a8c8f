"""What planning knows of stored tables: columns, keys, statistics, and the files with the rows.

A catalog may describe tables without rows at hand (`files` empty): statistics are enough to plan.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from optimizer.algebra.columns import DataType
from optimizer.catalog.histogram import Histogram
from optimizer.errors import CatalogError


@dataclass(frozen=True, slots=True)
class TableColumn:
    """`type` is canonical (`catalog/types.py`); `nullable` is False only where a declaration or the file format forbids NULL;
    `as_texts`: the files are read as texts, and these as `type` (`algebra/field_texts.py`)."""

    name: str
    type: DataType
    nullable: bool = True
    as_texts: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Every row's `columns`, if none is NULL, occur as `referenced` in `table`. Declared and trusted, not checked."""

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Figures of one stored column; None: unknown.

    `nulls`: number of NULLs. `min`, `max`: bounds of the other values as Python objects of the column's type (Parquet
    writers may cut long strings: no value lies outside, but the bound itself need not occur; NaN is not counted, and a date
    beyond years 1 to 9999 counts as the nearest within).
    `ndv`: distinct values other than NULL. `avg_width`: bytes a value takes in memory, NULLs not counted.
    `mcv`: the most common values, each with its share of all rows (0 to 1, NULLs counted among the rows); () unknown.
    `histogram`: the spread of the other values. `degrees`: how often values occur, as (values, rows of each at most) from the
    most common down, so that the k most common values together have no more rows than this says; () unknown.
    """

    nulls: int | None = None
    min: Any = None
    max: Any = None
    ndv: float | None = None
    avg_width: float | None = None
    mcv: tuple[tuple[Any, float], ...] = ()
    histogram: Histogram | None = None
    degrees: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TableStats:
    """`rows` exactly; `bytes` as stored, all columns together (0 without files); `columns` by name, absent: nothing known.

    `distinct`: distinct combinations of several columns (names as stored, in table order), a NULL being a value.
    `analyzed`: when and how the rows were read for this, for people; "" when only footers and declarations were.
    """

    rows: int
    bytes: int = 0
    columns: dict[str, ColumnStats] = field(default_factory=dict)
    distinct: dict[tuple[str, ...], float] = field(default_factory=dict)
    analyzed: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """`keys`: column sets without NULL whose values no two rows share. `unique`: others, declared so, which may have NULLs;
    nothing relies on these. `order`: the stored rows are sorted ascending by these columns, NULLs last. `files`: in order, read
    with `format` ("parquet", "csv" or "arrow"; "" without files) as `schema`, whose fields are `columns`. `folder`: a temporary
    one of the files, which goes with the table."""

    name: str
    columns: tuple[TableColumn, ...]
    keys: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    order: tuple[str, ...] = ()
    stats: TableStats = TableStats(0)
    files: tuple[Path, ...] = ()
    format: str = ""
    unique: tuple[tuple[str, ...], ...] = ()
    folder: object = field(default=None, compare=False, repr=False)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(c.name, c.type, c.nullable) for c in self.columns])

    @property
    def read_schema(self) -> pa.Schema:
        """As what the files are read."""
        return pa.schema([pa.field(c.name, pa.string() if c.as_texts else c.type, c.nullable) for c in self.columns])

    def column(self, name: str) -> TableColumn | None:
        """The column of that name, whatever its letter case."""
        wanted = name.lower()
        return next((c for c in self.columns if c.name.lower() == wanted), None)


class Catalog:
    """The tables of one dataset by name, in name order.

    `digest` is the same for the same tables, declarations and data, wherever they lie and whenever they were written.
    `unread`: by lower-case name, why there is no such table although there are files for it; `passed_over`: names of other files
    beside those of the tables. `figures`: what estimators made of stored columns, by table and column, and `scans`: what the
    binder made of tables; kept for the queries that follow.
    """

    def __init__(
        self, name: str, tables: Iterable[Table], fingerprints: Iterable[str] = (),
        unread: Mapping[str, str] = MappingProxyType({}), passed_over: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """`fingerprints` stand for the contents of the tables' files; without files there are none.

        Raises CatalogError when two names differ at most in letter case: SQL could not tell them apart.
        """
        self.name, self.unread, self.passed_over = name, unread, passed_over
        self.figures: dict[tuple[str, str], Any] = {}
        self.scans: dict[str, Any] = {}
        self.tables: dict[str, Table] = {}
        self._by_lower_name: dict[str, Table] = {}
        for table in sorted(tables, key=lambda table: table.name):
            other = self._by_lower_name.setdefault(table.name.lower(), table)
            if other is not table:
                raise CatalogError(f'the names of tables "{other.name}" and "{table.name}" differ at most in case; rename one')
            self.tables[table.name] = table
        self.digest = _digest(self.tables.values(), fingerprints)

    def table(self, name: str) -> Table | None:
        """The table of that name, whatever its letter case. Raises CatalogError for one whose files cannot be read."""
        if (reason := self.unread.get(name.lower())) is not None:
            raise CatalogError(reason)
        return self._by_lower_name.get(name.lower())

    def bounds(self, table: str, column: str) -> tuple[Any, Any] | None:
        """The least and the greatest value of a stored column, or values beyond them; None where they are not known."""
        known = self.tables.get(table)
        stats = None if known is None else known.stats.columns.get(column)
        return None if stats is None or stats.min is None or stats.max is None else (stats.min, stats.max)

    @property
    def statistics_only(self) -> bool:
        """Whether it has tables, and rows of none of them: queries can be planned, not run."""
        return bool(self.tables) and not any(table.files for table in self.tables.values())

    def __repr__(self) -> str:
        return f"Catalog({self.name}: {', '.join(self.tables)})"


def _digest(tables: Iterable[Table], fingerprints: Iterable[str]) -> str:
    """32 hex digits over all that planning or execution may depend on."""
    described: list[Any] = [*fingerprints]
    for table in tables:
        stats = [(name, *map(repr, _figures(stats))) for name, stats in sorted(table.stats.columns.items())]
        described.append(
            [
                table.name,
                [(c.name, str(c.type), c.nullable) for c in table.columns],
                table.keys,
                [(k.columns, k.table, k.referenced) for k in table.foreign_keys],
                table.order,
                [table.stats.rows, table.stats.bytes, stats, sorted(table.stats.distinct.items())],
            ]
        )
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:32]


def _figures(stats: ColumnStats) -> tuple[Any, ...]:
    known = (stats.nulls, stats.min, stats.max, stats.ndv, stats.avg_width)
    more = (stats.mcv, stats.histogram, stats.degrees)
    return (*known, *more) if any(more) else known
