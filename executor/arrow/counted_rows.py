"""Joins of whose rows only the number is read: by count(*) of all of them. No row is made then, and a hash join adds up how many
matches each row has."""

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import HashAggregate, HashJoin, NestedLoopJoin, StreamingAggregate
from optimizer.algebra.plan import PlanNode


def counted_rows(plan: PlanNode) -> frozenset[int]:
    """Such joins, by id()."""
    return frozenset(id(node.inputs[0]) for node in plan.walk() if _counts(node) and _makes_pairs(node.inputs[0]))


def _counts(node: PlanNode) -> bool:
    op = node.op
    if not (type(op) is HashAggregate or type(op) is StreamingAggregate) or op.keys:
        return False
    return all(each.call.function == "count" and not each.call.args and each.call.filter is None for each in op.aggregates)


def _makes_pairs(node: PlanNode) -> bool:
    """Semi and anti joins choose rows of an input, and mark joins add to them."""
    op = node.op
    return (type(op) is HashJoin or type(op) is NestedLoopJoin) and op.kind is not JoinKind.MARK and not op.kind.left_only
