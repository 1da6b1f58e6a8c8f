"""The join order of a physical plan: as text, as a shape, and how deep the plan is."""

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
    shape: str


def plan_shape(plan: PlanNode) -> PlanShape:
    """Iterative, so any depth will do. A join or apply is an operator with two inputs that is not a set operation."""
    made: dict[int, tuple[str, int, bool]] = {}  # of parts: their join order, their depth, whether there are joins in them
    left = right = bushy = joins = relations = 0
    for node in reversed(list(plan.walk())):
        parts = [made.pop(id(child)) for child in node.inputs]
        texts, depths, joined = [part[0] for part in parts], [part[1] for part in parts], [part[2] for part in parts]
        is_join = len(parts) == 2 and node.op.name.endswith(("_join", "_apply"))
        if is_join:
            joins += 1
            left += joined[0]
            right += joined[1]
            bushy += all(joined)
            text = f"({' '.join(texts)})"
        elif isinstance(node.op, TableScan):
            relations += 1
            text = node.op.scan.alias
        else:
            text = texts[0] if len(parts) == 1 else f"[{' '.join(texts)}]" if parts else node.op.name
        made[id(node)] = text, 1 + max(depths, default=0), is_join or any(joined)
    join_order, depth, _ = made[id(plan)]
    return PlanShape(join_order, joins, relations, depth, _shape(joins, left, right, bushy))


def _shape(joins: int, left: int, right: int, bushy: int) -> str:
    if joins <= 1:
        return ("none", "single")[joins]
    if bushy:
        return "bushy"
    if not right:
        return "left_deep"
    return "zigzag" if left else "right_deep"
