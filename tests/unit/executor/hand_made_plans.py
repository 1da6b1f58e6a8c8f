"""Hand-made physical plans over random small tables, and rows as Python sees them."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from executor.arrow.context import Tuning
from executor.arrow.counters import Counters
from executor.arrow.run import execute
from optimizer.algebra import HashJoin, JoinKind, LogicalProps, PhysicalOperator, PlanNode, Scan, ScanColumn, TableScan
from optimizer.algebra.columns import Columns, ColumnSet, column_ids, column_set
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, Literal, Predicate, Scalar
from optimizer.algebra.traits import ANY, Alternative, Collation, TraitSet
from optimizer.rules.join_keys import split_keys

I32, I64, F64, STR, DATE = pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.date32()
DEC = pa.decimal128(9, 2)
SMALL = Tuning(batch=5, pairs=7, window=4, merge=6, part=3, inline=0, workers=2)
TUNINGS = (SMALL, Tuning())
Row = dict[int, Any]


@dataclass(frozen=True)
class Source:
    """A table as the executor wants it described."""

    name: str
    files: tuple[Path, ...]
    format: str
    schema: pa.Schema

    @property
    def read_schema(self) -> pa.Schema:
        return self.schema


class Plans:
    """Makes columns, stored tables and plan nodes of one query, and runs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.columns = Columns()
        self.sources: dict[str, Source] = {}
        self.rows_of: dict[int, list[Row]] = {}  # by id() of the scan node

    def table(self, types: Sequence[pa.DataType], rows: Sequence[Sequence[Any]], row_group: int = 7) -> PlanNode:
        """A scan of a new Parquet table; its columns are new."""
        name = f"t{len(self.sources)}"
        data = pa.table(
            [pa.array([row[i] for row in rows], type) for i, type in enumerate(types)], names=[f"x{i}" for i in range(len(types))]
        )
        path = self.folder / f"{name}.parquet"
        pq.write_table(data, path, row_group_size=row_group)
        self.sources[name] = Source(name, (path,), "parquet", data.schema)
        ids = [self.columns.new(f"x{i}", type, True).id for i, type in enumerate(types)]
        scan = Scan(name, name, tuple(ScanColumn(id, f"x{i}") for i, id in enumerate(ids)))
        result = node(TableScan(scan), columns=column_set(ids))
        self.rows_of[id(result)] = [dict(zip(ids, row, strict=True)) for row in rows]
        return result

    def rows(self, scan: PlanNode) -> list[Row]:
        return self.rows_of[id(scan)]

    def ref(self, id: int) -> ColumnRef:
        return ColumnRef(id, self.columns[id].type)

    def new(self, type: pa.DataType) -> int:
        return self.columns.new("new", type, True).id

    def run(self, plan: PlanNode, tuning: Tuning = SMALL, counters: Counters | None = None) -> list[tuple[Any, ...]]:
        """Rows with the values of the plan's columns, ascending by id."""
        table = execute(plan, self.columns, self.sources, counters, tuning).read_all()
        assert table.column_names == [f"c{id}" for id in column_ids(plan.columns)]
        assert table.schema.types == [self.columns[id].type for id in column_ids(plan.columns)]
        table.validate(full=True)
        lists = [column.to_pylist() for column in table.columns]
        return list(zip(*lists, strict=True))


def node(
    op: PhysicalOperator,
    *inputs: PlanNode,
    columns: ColumnSet,
    needs: Sequence[Collation] | None = None,
    delivers: Collation = (),
) -> PlanNode:
    traits = tuple(TraitSet(tuple(order)) for order in needs) if needs is not None else (ANY,) * len(inputs)
    return PlanNode(op, inputs, columns, Alternative(traits, TraitSet(tuple(delivers))), 1.0, 1.0, 1.0)


def values(rows: Iterable[Row], columns: ColumnSet) -> list[tuple[Any, ...]]:
    ids = list(column_ids(columns))
    return [tuple(row[id] for id in ids) for row in rows]


def shown(row: Iterable[Any]) -> str:
    """Equal for rows that SQL calls equal: 0.0 is -0.0, NaN is NaN."""
    return repr(tuple(0.0 if value == 0 and isinstance(value, float) else value for value in row))


def bag(rows: Iterable[Iterable[Any]]) -> list[str]:
    return sorted(map(shown, rows))


def listed(rows: Iterable[Iterable[Any]]) -> list[str]:
    return list(map(shown, rows))


def random_value(rng: random.Random, type: pa.DataType, spread: int = 5) -> Any:
    if rng.random() < 0.2:
        return None
    n = rng.randrange(-spread, spread)
    if pa.types.is_integer(type):
        return n
    if pa.types.is_decimal(type):
        return Decimal(n).scaleb(-type.scale)
    if pa.types.is_floating(type):
        return rng.choice([float(n), n / 2, 0.0, -0.0, float("nan"), float("inf")])
    if pa.types.is_string(type):
        return rng.choice(["", "a", "ab", "abcdefgh", "abcdefghi", "é" * abs(n), f"long text number {n}"])
    if pa.types.is_boolean(type):
        return n > 0
    assert pa.types.is_date32(type), type
    from datetime import date, timedelta

    return date(2020, 1, 1) + timedelta(days=n)


def random_rows(rng: random.Random, types: Sequence[pa.DataType], count: int, spread: int = 5) -> list[tuple[Any, ...]]:
    return [tuple(random_value(rng, type, spread) for type in types) for _ in range(count)]


def less(a: Scalar, b: Scalar) -> Scalar:
    return Call("<", (a, b), BOOL)


def equal(a: Scalar, b: Scalar) -> Scalar:
    return Call("=", (a, b), BOOL)


def same(a: Scalar, b: Scalar) -> Scalar:
    return Call("is_not_distinct_from", (a, b), BOOL)


def literal(value: Any, type: pa.DataType) -> Literal:
    return Literal(value, type)


# types of the keys of two tables, and how many rows these have
KEYS = [(I64,), (STR,), (I32, STR), (DEC, I64), (F64,), (DATE, pa.bool_()), (pa.decimal128(30, 2), F64, STR)]
SIZES = [(0, 9), (9, 0), (0, 0), (23, 17), (17, 40)]


class TwoTables:
    """Two random tables: key columns, `pairs` of them, and one more integer column each, `extra` compares these."""

    def __init__(self, folder: Path, rng: random.Random, keys: Sequence[pa.DataType], sizes: tuple[int, int]) -> None:
        self.plans = Plans(folder)
        types = [*keys, I64]
        spread = rng.choice([2, 5])
        self.left, self.right = (self.plans.table(types, random_rows(rng, types, size, spread)) for size in sizes)
        self.left_ids, self.right_ids = list(range(len(types))), list(range(len(types), 2 * len(types)))
        refs = [self.plans.ref(i) for i in range(2 * len(types))]
        self.pairs = list(zip(refs[: len(keys)], refs[len(types) : -1], strict=True))
        self.extra = less(refs[len(keys)], refs[-1])
        self.mark = self.plans.new(BOOL)

    def columns(self, kind: JoinKind) -> ColumnSet:
        return self.left.columns if kind.left_only else self.left.columns | self.right.columns

    def plan(self, op: PhysicalOperator, columns: ColumnSet) -> PlanNode:
        return node(op, self.left, self.right, columns=columns)


def hashed(
    kind: JoinKind, tables: TwoTables, predicate: Predicate, mark: int | None = None, build_left: bool = False
) -> HashJoin:
    keys, null_safe, residual = split_keys(predicate, LogicalProps(tables.left.columns), LogicalProps(tables.right.columns))
    return HashJoin(kind, keys, residual, build_left, null_safe, mark)
