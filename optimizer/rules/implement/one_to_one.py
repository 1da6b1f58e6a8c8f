"""Rules by which an operator becomes a physical one that has some of its fields, under the same names."""

from collections.abc import Callable
from typing import Any

from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Aggregate, Filter, GroupingSets, Limit, LogicalOperator, Project, SetOp, Values, Window
from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.physical import (
    ConstantRows,
    FillSpool,
    FilterRows,
    HashAggregate,
    HashGroupingSets,
    HashSetOp,
    LimitRows,
    NestedLoopJoin,
    PhysicalOperator,
    ProjectRows,
    ReadSpool,
    Recurse,
    StreamingAggregate,
    TopK,
    UnionAll,
    WindowRows,
)
from optimizer.algebra.spools import CteReference, Recursion, Spool
from optimizer.rules.interface import ANY, ImplementationRule, node


def _rule(
    name: str, op: type[LogicalOperator], to: type[PhysicalOperator], doc: str, when: Callable[[Any], bool] | None = None
) -> ImplementationRule:
    """`when`: which operators of the type it is for."""
    inputs = (ANY,) * (op.arity or 0)
    parts = {"name": name, "pattern": node(op, *inputs, where=when), "to": to, "__doc__": doc, "__module__": __name__}
    rule: ImplementationRule = type(name, (ImplementationRule,), parts)()
    return rule


ONE_TO_ONE = (
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
    _rule("union_to_union_all", SetOp, UnionAll, "UNION ALL passes its inputs' rows one input after the other.",
        lambda op: op.kind is SetOpKind.UNION and op.all),
    _rule("setop_to_hash_set_op", SetOp, HashSetOp, "INTERSECT and EXCEPT count whole rows in a hash table (NULL equals NULL).",
        lambda op: op.kind is not SetOpKind.UNION),
    _rule("window_to_window_rows", Window, WindowRows,
        "Windows become window rows over an input sorted by partition, in any permutation, and order."),
    _rule("cte_reference_to_read_spool", CteReference, ReadSpool, "A reference to a common table expression reads its spool."),
    _rule("spool_to_fill_spool", Spool, FillSpool, "A spool keeps its rows in memory."),
    _rule("recursion_to_recurse", Recursion, Recurse, "A recursive common table expression is a loop."),
)  # fmt: skip
JOIN_TO_NESTED_LOOP_JOIN = _rule("join_to_nested_loop_join", IndependentJoin, NestedLoopJoin,
    "Any join can run as nested loops over blocks of its inputs, testing every pair of rows; the only way without an equality.",
)  # fmt: skip
