"""The typed relational algebra: data and checks, no search.

In: nothing of planscope. Out: what every other part speaks.
Read in this order: `columns` (a column is an id, a column set an int), `types` (Arrow types), `functions` (what a call
may name), `scalars`, `predicates`, `logical` and `physical` (operators), `trees` (operator plus inputs), `props` (what holds of
every row a tree produces), `traits` (physical properties), `plan` (the chosen physical plan), `printing`.

What a rule needs is here by name: `from optimizer.algebra import Join, JoinKind, Tree, column_set, conjunction`.
"""

from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids, column_set, is_subset
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import (
    Aggregate,
    AggregateItem,
    Filter,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    ProjectItem,
    Scan,
    ScanColumn,
    SetOp,
    Values,
    Window,
)
from optimizer.algebra.logical_joins import Apply, Join, MarkJoin, SingleJoin
from optimizer.algebra.physical import (
    ConstantRows,
    FilterRows,
    HashAggregate,
    HashGroupingSets,
    HashJoin,
    HashSetOp,
    LimitRows,
    LookupRows,
    MergeJoin,
    MergeUnion,
    NestedApply,
    NestedLoopJoin,
    PartialSort,
    PhysicalOperator,
    ProjectRows,
    RangeLookup,
    Sort,
    StreamingAggregate,
    TableScan,
    TopK,
    UnionAll,
    WindowRows,
)
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.predicates import combined, compare, conjunction, equality_sides, predicate_columns, predicate_scalar
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalar_trees import rewrite, substitute, walk
from optimizer.algebra.scalars import (
    FALSE,
    TRUE,
    AggregateCall,
    Call,
    Case,
    Cast,
    ColumnRef,
    InList,
    Literal,
    Once,
    OuterRef,
    Predicate,
    Scalar,
    Slot,
    WindowCall,
)
from optimizer.algebra.traits import Alternative, SortKey, TraitSet, ascending, satisfies
from optimizer.algebra.trees import Leaf, Node, Tree, postorder

__all__ = [
    "FALSE", "TRUE", "Aggregate", "AggregateCall", "AggregateItem", "Alternative", "Apply", "Call", "Case", "Cast",
    "ColumnId", "ColumnRef", "ColumnSet", "Columns", "ConstantRows", "Filter", "FilterRows", "GroupingSets", "HashAggregate",
    "HashGroupingSets", "HashJoin", "HashSetOp", "InList", "Join", "JoinKind", "Leaf", "Limit", "LimitRows", "Literal",
    "LogicalOperator", "LogicalProps", "LookupRows", "MarkJoin", "MergeJoin", "MergeUnion", "NestedApply", "NestedLoopJoin",
    "Node", "Once", "OuterRef", "PartialSort", "PhysicalOperator", "PlanNode", "Predicate", "Project", "ProjectItem",
    "ProjectRows", "RangeLookup", "Scalar", "Scan", "ScanColumn", "SetOp", "SetOpKind", "SingleJoin", "Slot", "Sort", "SortKey",
    "StreamingAggregate", "TableScan", "TopK", "TraitSet", "Tree", "UnionAll", "Values", "Window", "WindowCall", "WindowRows",
    "ascending", "column_ids", "column_set", "combined", "compare", "conjunction", "equality_sides", "is_subset", "postorder",
    "predicate_columns", "predicate_scalar", "rewrite", "satisfies", "substitute", "walk",
]  # fmt: skip
