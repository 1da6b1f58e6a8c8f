"""What a trace is told of a query outside its search: each rewrite of a stage before it, and the plan at the end.

Trees are flat, so that any depth can be written: a list of operators, parents first, each [depth, op, detail].
"""

from collections.abc import Sequence

from optimizer.algebra.columns import Columns
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.printing import operators
from optimizer.algebra.trees import Tree
from optimizer.memo.goal import Goal, Implementation
from optimizer.prepass.report import Firing
from optimizer.search.context import SearchContext
from optimizer.trace.recorder import Trace
from optimizer.trace.tree import position, replaced

UNSEEN = "what it changed is not in the text of the tree"


def emit_stage(
    trace: Trace, name: str, given: Tree | None, tree: Tree, firings: Sequence[Firing], converged: bool, columns: Columns
) -> None:
    """A stage made `tree` of the tree `given`, by `firings`.

    A firing knows what it replaced and not where. It is looked for in the tree as it is by then; where parts are equal, the
    first of them is taken. At the end there is always the whole tree.
    """
    whole = [] if given is None else operators(given, columns)
    for firing in firings:
        before, after = operators(firing.before, columns), operators(firing.after, columns)
        at = position(whole, before)
        if at is not None:
            whole = replaced(whole, at, before, after)
        note = firing.note or (UNSEEN if before == after else None)
        trace.emit("rewrite", stage=name, rule=firing.rule, note=note, at=at, before=before, after=after)
    trace.emit("stage", name=name, tree=operators(tree, columns), converged=converged)


def emit_plan(trace: Trace, search: SearchContext, root: Goal, plan: PlanNode) -> None:
    """The plan that was extracted for the root: each operator with its goal, and the rule that made it."""
    label = search.context.columns.label
    nodes, stack = [], [(0, root, plan)]
    while stack:
        depth, goal, node = stack.pop()
        assert goal.way is not None, f"goal {goal.id} has no plan"
        chosen = goal.way.what.mexpr if isinstance(goal.way.what, Implementation) else None
        nodes.append({
            "depth": depth, "op": node.op.name, "detail": node.op.describe(label), "goal": goal.id,
            "mexpr": None if chosen is None else chosen.id, "rule": None if chosen is None else chosen.rule,
            "rows": node.rows, "local": node.local_cost, "cost": node.cost, "delivered": node.alternative.delivered.show(label),
        })  # fmt: skip
        below = zip(goal.way.inputs, node.inputs, strict=True)
        stack += reversed([(depth + 1, input_goal, input_node) for input_goal, input_node in below])
    trace.emit("plan", nodes=nodes, rows=plan.rows, cost=plan.cost)
