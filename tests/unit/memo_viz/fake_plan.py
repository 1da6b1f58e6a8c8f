"""A small physical plan made by hand: an aggregate over a join of two scans, sorted."""

import pyarrow as pa

from optimizer.algebra import AggregateItem, Columns, JoinKind, Scan, ScanColumn, column_set, compare, conjunction
from optimizer.algebra.physical import HashAggregate, HashJoin, Sort, TableScan
from optimizer.algebra.plan import PlanNode, prune_columns
from optimizer.algebra.scalars import AggregateCall, ColumnRef, Literal
from optimizer.algebra.traits import ANY, Alternative, SortKey, TraitSet


def join_plan(names: tuple[str, str, str] = ("c_custkey", "o_custkey", "c_name")) -> tuple[PlanNode, Columns]:
    """The plan and its columns; `names` name the two join keys and the grouping column."""
    columns = Columns()
    c_key = columns.new(names[0], pa.int64(), False)
    o_key = columns.new(names[1], pa.int64(), True)
    name = columns.new(names[2], pa.string(), True)
    total = columns.new("orders", pa.int64(), False)
    like = compare("=", ColumnRef(name.id, pa.string()), Literal("<script>alert('\"&\\N')</script>", pa.string()))
    customer = Scan(
        "customer", "c", (ScanColumn(c_key.id, names[0]), ScanColumn(name.id, names[2])), predicate=conjunction([like])
    )
    orders = Scan("orders", "orders", (ScanColumn(o_key.id, names[1]),))
    left = PlanNode(TableScan(customer), (), column_set([c_key.id, name.id]), Alternative(()), 1500.0, 20.0, 20.0, 1)
    right = PlanNode(TableScan(orders), (), column_set([o_key.id]), Alternative(()), 15000.0, 150.0, 150.0, 2)
    keys = ((ColumnRef(c_key.id, pa.int64()), ColumnRef(o_key.id, pa.int64())),)
    join = PlanNode(HashJoin(JoinKind.INNER, keys, ()), (left, right), 7, Alternative((ANY, ANY)), 15000.0, 300.0, 470.0, 3)
    count = AggregateCall("count", (), False, None, pa.int64())
    aggregate = HashAggregate((name.id,), (AggregateItem(total.id, count),))
    grouped = PlanNode(aggregate, (join,), 12, Alternative((ANY,)), 100.0, 60.0, 530.0, 4)
    order = (SortKey(total.id, descending=True),)
    root = PlanNode(Sort(order), (grouped,), 12, Alternative((ANY,), TraitSet(order)), 100.0, 5.0, 535.0, 4)
    prune_columns(root, 12)
    return root, columns
