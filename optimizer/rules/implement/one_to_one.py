"""Rules by which an operator becomes one physical operator, mostly of fields under the same names."""

from collections.abc import Callable, Sequence
from typing import Any

from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import (
    Aggregate,
    Filter,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    Scan,
    SetOp,
    Values,
    Window,
)
from optimizer.algebra.logical_joins import Apply, IndependentJoin
from optimizer.algebra.physical import (
    ConstantRows,
    FillSpool,
    FilterRows,
    HashAggregate,
    HashGroupingSets,
    HashSetOp,
    LimitRows,
    MergeUnion,
    NestedApply,
    NestedLoopJoin,
    PhysicalOperator,
    ProjectRows,
    ReadSpool,
    Recurse,
    StreamingAggregate,
    TableScan,
    TopK,
    UnionAll,
    WindowRows,
    WithSpools,
)
from optimizer.algebra.spools import CteReference, Recursion, Spool, With
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


def _rule(
    name: str, op: type[LogicalOperator], to: type[PhysicalOperator], doc: str, when: Callable[[Any], bool] | None = None,
    apply: Callable[[Any, Any, RuleContext], Sequence[PhysicalOperator]] | None = None,
) -> ImplementationRule:  # fmt: skip
    """`when`: which operators of the type it is for. `apply`: where `to` has other fields, the rule's method."""
    inputs = (ANY,) * (op.arity or 0)
    parts: dict[str, Any] = {"name": name, "pattern": node(op, *inputs, where=when), "to": to}
    parts |= {"__doc__": doc, "__module__": __name__}
    if apply is not None:
        parts["apply"] = apply
    rule: ImplementationRule = type(name, (ImplementationRule,), parts)()
    return rule


def _is_union_all(op: SetOp) -> bool:
    return op.kind is SetOpKind.UNION and op.all


def _merged(self: ImplementationRule, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
    union: Any = bound.op
    return (MergeUnion(union.columns, union.sources, "union_to_union_all" in context.settings.disable),)


def _applied(self: ImplementationRule, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
    op: Any = bound.op
    left, right = bound.inputs
    return (NestedApply(op.kind, op.predicate, op.mark, right.outer & left.columns, cached=False),)


JOIN_TO_NESTED_LOOP_JOIN = _rule(
    "join_to_nested_loop_join", IndependentJoin, NestedLoopJoin,
    "Any join can run as nested loops over blocks of its inputs, testing every pair of rows; the only way without an equality.",
)  # fmt: skip

ONE_TO_ONE = (
    JOIN_TO_NESTED_LOOP_JOIN,
    _rule("scan_to_table_scan", Scan, TableScan,
        "A scan becomes a table scan: reads the needed columns in stored order, filters, stops at a pushed limit.",
        apply=lambda self, bound, context: (TableScan(bound.op),)),
    _rule("values_to_constant_rows", Values, ConstantRows, "A VALUES list becomes constant rows."),
    _rule("filter_to_filter_rows", Filter, FilterRows, "A filter becomes a vectorized filter that keeps its input's order."),
    _rule("project_to_project_rows", Project, ProjectRows,
        "A projection becomes a vectorized projection that keeps its input's order."),
    _rule("aggregate_to_hash_aggregate", Aggregate, HashAggregate,
        "An aggregate becomes a hash aggregate; it needs no order and delivers none."),
    _rule("aggregate_to_streaming_aggregate", Aggregate, StreamingAggregate,
        "An aggregate with keys becomes a streaming aggregate over an input sorted on the keys, in any permutation.",
        lambda op: bool(op.keys)),
    _rule("grouping_sets_to_hash_grouping_sets", GroupingSets, HashGroupingSets,
        "Grouping sets become one operator that hashes; it needs no order and delivers none."),
    _rule("limit_to_top_k", Limit, TopK,
        "A limit with an order and a count becomes a top-k: sorts while holding only the rows it will return.",
        lambda op: bool(op.order) and op.count is not None),
    _rule("limit_to_limit_rows", Limit, LimitRows,
        "A limit passes the first rows of an input that comes in its order, then stops it."),
    _rule("union_to_union_all", SetOp, UnionAll, "UNION ALL passes its inputs' rows one input after the other.", _is_union_all),
    _rule("union_to_merge_union", SetOp, MergeUnion,
        "UNION ALL merges inputs that all come in one order, and keeps that order.", _is_union_all,
        _merged),
    _rule("setop_to_hash_set_op", SetOp, HashSetOp, "INTERSECT and EXCEPT count whole rows in a hash table (NULL equals NULL).",
        lambda op: op.kind is not SetOpKind.UNION),
    _rule("window_to_window_rows", Window, WindowRows,
        "Windows become window rows over an input sorted by partition, in any permutation, and order."),
    _rule("apply_to_nested_apply", Apply, NestedApply,
        "An Apply runs its right input for each left row; further-out columns that this reads have values by then.",
        apply=_applied),
    _rule("cte_reference_to_read_spool", CteReference, ReadSpool, "A reference to a common table expression reads its spool."),
    _rule("spool_to_fill_spool", Spool, FillSpool, "A spool keeps its rows in memory."),
    _rule("recursion_to_recurse", Recursion, Recurse, "A recursive common table expression is a loop."),
    _rule("with_to_with_spools", With, WithSpools, "A With fills its spools when they are first read.",
        apply=lambda self, bound, context: (WithSpools(tuple(spool.columns for spool in bound.inputs[:-1])),)),
)  # fmt: skip
