"""The join order of a physical plan: as text, as a shape, and how deep the plan is."""

from __future__ import annotations

from typing import NamedTuple

from optimizer.algebra.physical.leaves import TableScan
from optimizer.algebra.plan import PlanNode


class PlanShape(NamedTuple):
    """`join_order`: base tables by alias, every join in parentheses, left input first: `((a b) c)`; other operators with several
    inputs in brackets. `shape`: of the joins: none, single, left_deep, right_deep, zigzag (an input of each is a base table) or
    bushy. `relations`: base tables read, a table twice counted twice. `depth`: operators on the longest way down."""

    join_order: str
    joins: int
    relations: int
    depth: int
    shape: str = ""


def plan_shape(plan: PlanNode) -> PlanShape:
    """Iterative, so any depth will do. A join or apply is an operator with two inputs that is not a set operation."""
    made: dict[int, PlanShape] = {}  # of parts, whose own shape does not matter
    left = right = bushy = joins = 0
    for node in reversed(list(plan.walk())):
        parts = [made.pop(id(child)) for child in node.inputs]
        depth = 1 + max((part.depth for part in parts), default=0)
        found = sum(part.joins for part in parts)
        relations = sum(part.relations for part in parts)
        if not parts:
            alias = node.op.scan.alias if isinstance(node.op, TableScan) else None
            made[id(node)] = PlanShape(alias or node.op.name, 0, int(alias is not None), depth)
        elif len(parts) == 1:
            made[id(node)] = PlanShape(parts[0].join_order, found, relations, depth)
        elif len(parts) == 2 and is_join(node):
            first, second = parts
            joins += 1
            left += first.joins > 0
            right += second.joins > 0
            bushy += first.joins > 0 < second.joins
            made[id(node)] = PlanShape(f"({first.join_order} {second.join_order})", found + 1, relations, depth)
        else:
            made[id(node)] = PlanShape(f"[{' '.join(part.join_order for part in parts)}]", found, relations, depth)
    return made[id(plan)]._replace(joins=joins, shape=_shape(joins, left, right, bushy))


def is_join(node: PlanNode) -> bool:
    return node.op.name.endswith("_join") or node.op.name.endswith("_apply")


def _shape(joins: int, left: int, right: int, bushy: int) -> str:
    if joins <= 1:
        return ("none", "single")[joins]
    if bushy:
        return "bushy"
    if not right:
        return "left_deep"
    return "zigzag" if left else "right_deep"
