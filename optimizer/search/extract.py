"""The chosen plan: the ways that goals ended with, followed from the root down."""

from optimizer.algebra.plan import PlanNode
from optimizer.memo.goal import Goal
from optimizer.search.context import SearchContext


def extract(search: SearchContext, root: Goal) -> PlanNode:
    """Build the plan of a goal that has one. Iterative: depth is no limit."""
    built: list[PlanNode] = []
    stack: list[tuple[Goal, bool]] = [(root, False)]
    while stack:
        goal, ready = stack.pop()
        way = goal.way
        assert way is not None, f"goal {goal.id} has no plan"
        if not ready:
            stack.append((goal, True))
            stack.extend((below, False) for below in reversed(way.inputs))
            continue
        arity = len(way.inputs)
        inputs = tuple(built[len(built) - arity :])
        del built[len(built) - arity :]
        op, alternative, _ = search.sources.of(goal).implementation(search, goal, way)
        columns, rows = search.output(goal)
        cost = way.local + sum(below.cost for below in inputs)
        built.append(PlanNode(op, inputs, columns, alternative, rows, way.local, cost, goal.group))
    return built[0]


def give_groups(search: SearchContext, root: Goal, plan: PlanNode) -> None:
    """Give the sets of relations of an extracted plan groups of the memo, for those who look statistics up there."""
    stack = [(root, plan)]
    while stack:
        goal, node = stack.pop()
        assert goal.way is not None, f"goal {goal.id} has no plan"
        node.group = search.sources.group(goal)
        stack.extend(zip(goal.way.inputs, node.inputs, strict=True))
