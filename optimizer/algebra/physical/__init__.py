"""Physical operators of the Arrow engine: payloads that an executor runs, and how traits pass through them.

Two pure functions per operator link its output traits to its inputs' (no copies of expressions are made for them):

- `pass_through(required, output, inputs)`: ways to run the operator so that it delivers `required`, or as near as it gets;
- `derive(delivered, index, output, inputs)`: ways opened by an order that input `index` can deliver anyway.

The caller drops alternatives that do not satisfy the goal and repeated ones. For `ANY`, `pass_through` returns the
operator's cheapest ways to run.
"""

from optimizer.algebra.physical.aggregates import HashAggregate, HashGroupingSets, StreamingAggregate
from optimizer.algebra.physical.apply import LookupRows, NestedApply, RangeLookup
from optimizer.algebra.physical.joins import HashJoin, MergeJoin, NestedLoopJoin
from optimizer.algebra.physical.leaves import ConstantRows, TableScan
from optimizer.algebra.physical.operator import PhysicalOperator
from optimizer.algebra.physical.ordering import LimitRows, PartialSort, Sort, TopK
from optimizer.algebra.physical.rows import FilterRows, ProjectRows
from optimizer.algebra.physical.setops import HashSetOp, MergeUnion, UnionAll
from optimizer.algebra.physical.spools import FillSpool, ReadSpool, Recurse, WithSpools
from optimizer.algebra.physical.window import WindowRows

__all__ = [
    "OPERATORS", "ConstantRows", "FillSpool", "FilterRows", "HashAggregate", "HashGroupingSets", "HashJoin", "HashSetOp",
    "LimitRows", "LookupRows", "MergeJoin", "MergeUnion", "NestedApply", "NestedLoopJoin", "PartialSort", "PhysicalOperator",
    "ProjectRows", "RangeLookup", "ReadSpool", "Recurse", "Sort", "StreamingAggregate", "TableScan", "TopK", "UnionAll",
    "WindowRows", "WithSpools",
]  # fmt: skip

OPERATORS: tuple[type[PhysicalOperator], ...] = tuple(
    globals()[name] for name in __all__ if name not in ("OPERATORS", "PhysicalOperator")
)
