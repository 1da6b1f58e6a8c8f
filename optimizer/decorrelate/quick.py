"""The method `quick`: a few rules for the commonest subqueries, run as a program of the pre-pass; other Applies stay.

They are the special rules that Calcite's RelDecorrelator tries first: scalar projections and scalar aggregates below an Apply,
with the counts put right by a null indicator, and what prepares them (filters into joins, filters past projections).
"""

from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.trees import Tree, postorder
from optimizer.decorrelate.correlation import named
from optimizer.decorrelate.rules.apply_pull_conjuncts import ApplyPullConjuncts
from optimizer.decorrelate.rules.apply_scalar_aggregate import ApplyScalarAggregate
from optimizer.decorrelate.rules.apply_to_join import ApplyToJoin
from optimizer.prepass.hep import Batch, run_program
from optimizer.prepass.instructions import Program
from optimizer.prepass.report import Firing, Rewritten
from optimizer.rules.interface import RuleContext

QUICK: Program = (Batch("quick", (ApplyToJoin(), ApplyPullConjuncts(), ApplyScalarAggregate())),)


def quick(root: Tree, context: RuleContext) -> Rewritten:
    """The tree without the Applies that the rules know, and each firing; what stays says so."""
    done = run_program(QUICK, root, context)
    firings = [firing._replace(note=_free(firing.before, context)) for firing in done.firings]
    for tree in postorder(done.tree):
        if isinstance(tree, Tree) and isinstance(tree.op, Apply):
            firings.append(Firing("quick", tree, tree, f"{_free(tree, context)}; stays: no rule knows this form"))
    return Rewritten(done.tree, firings)


def _free(tree: Tree, context: RuleContext) -> str:
    return f"free columns: {named(context.columns, tree.inputs[1].outer & tree.inputs[0].columns)}"
