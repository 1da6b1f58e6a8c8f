"""Tables to bind against: TPC-H's by schema only, and two small ones with a column of every type."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from optimizer.algebra.query import BoundQuery
from optimizer.catalog.table import Catalog, Table, TableColumn
from optimizer.sql.bind import bind
from tests.unit.sql.world import World, make_world

COLUMNS = {
    "i1": pa.int8(), "i2": pa.int16(), "i4": pa.int32(), "i8": pa.int64(), "f4": pa.float32(), "f8": pa.float64(),
    "n5": pa.decimal128(5, 2), "n": pa.decimal128(15, 2), "n38": pa.decimal128(38, 10), "s": pa.string(), "d": pa.date32(),
    "ts": pa.timestamp("us"), "bo": pa.bool_(),
}  # fmt: skip
# name, key, columns with their types
_TPCH = """
region | r_regionkey | r_regionkey i8, r_name s, r_comment s
nation | n_nationkey | n_nationkey i8, n_name s, n_regionkey i8, n_comment s
supplier | s_suppkey | s_suppkey i8, s_name s, s_address s, s_nationkey i8, s_phone s, s_acctbal n, s_comment s
customer | c_custkey | c_custkey i8, c_name s, c_address s, c_nationkey i8, c_phone s, c_acctbal n, c_mktsegment s, c_comment s
part | p_partkey | p_partkey i8, p_name s, p_mfgr s, p_brand s, p_type s, p_size i4, p_container s, p_retailprice n, p_comment s
partsupp | ps_partkey ps_suppkey | ps_partkey i8, ps_suppkey i8, ps_availqty i8, ps_supplycost n, ps_comment s
orders | o_orderkey | o_orderkey i8, o_custkey i8, o_orderstatus s, o_totalprice n, o_orderdate d, o_orderpriority s, \
o_clerk s, o_shippriority i4, o_comment s
lineitem | l_orderkey l_linenumber | l_orderkey i8, l_partkey i8, l_suppkey i8, l_linenumber i4, l_quantity n, \
l_extendedprice n, l_discount n, l_tax n, l_returnflag s, l_linestatus s, l_shipdate d, l_commitdate d, l_receiptdate d, \
l_shipinstruct s, l_shipmode s, l_comment s
"""
_T = "a i4, b i4, s s, d d, n n5, f f8, ts ts, bo bo"
_U = "a i8, c i4"
EVERY_TYPE = ", ".join(f"{name} {name}" for name in COLUMNS)

Bind = Callable[[str], BoundQuery]


def _columns(text: str, nullable: bool) -> tuple[TableColumn, ...]:
    pairs = (part.split() for part in text.split(", "))
    return tuple(TableColumn(name, COLUMNS[type], nullable) for name, type in pairs)


def make_catalog() -> Catalog:
    tables = []
    for line in _TPCH.strip().splitlines():
        name, key, columns = line.split(" | ")
        order = ("o_orderkey",) if name == "orders" else ()
        tables.append(Table(name, _columns(columns, False), (tuple(key.split()),), order=order))
    tables.append(Table("t", _columns(_T, True)))
    tables.append(Table("u", _columns(_U, True)))
    tables.append(Table("tagged", (*_columns(_U, True), TableColumn("tags", pa.list_(pa.string())))))
    tables.append(Table("every_type", _columns(EVERY_TYPE, True)))
    return Catalog("fake", tables)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return make_catalog()


@pytest.fixture(scope="session")
def bound(catalog: Catalog) -> Bind:
    """bound(sql): the query bound against `catalog`."""
    return lambda sql: bind(sql, catalog)


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    made = make_world()
    yield made
    made.duck.close()
