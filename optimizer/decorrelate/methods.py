"""The methods of decorrelation by name, and what is left to the search to choose between."""

from __future__ import annotations

from collections.abc import Callable

from optimizer.algebra.logical import Choice
from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.rebuild import map_tree
from optimizer.algebra.trees import Tree
from optimizer.decorrelate.alternatives import MOST_CHOICES, alternatives, in_a_row
from optimizer.decorrelate.general import General
from optimizer.decorrelate.quick import quick
from optimizer.decorrelate.rules.apply_to_join import ApplyToJoin
from optimizer.decorrelate.value_generator import ValueGenerator
from optimizer.prepass.report import Firing, Rewritten
from optimizer.rules.interface import RuleContext


def _none(root: Tree, context: RuleContext) -> Rewritten:
    """Every correlated subquery is evaluated for each binding; one that reads nothing of the row runs once, as a join."""
    rule, steps = ApplyToJoin(), list[Firing]()

    def one(tree: Tree) -> Tree:
        joined = rule.apply(tree, context) if isinstance(tree.op, Apply) else None
        if joined is not None:
            steps.append(Firing(rule.name, tree, joined, "independent"))
        return joined or tree

    return Rewritten(map_tree(root, one), steps)


def _unnested(unnesting: General | ValueGenerator, root: Tree) -> Rewritten:
    return Rewritten(unnesting.decorrelate(root), unnesting.steps)


def _cost(root: Tree, context: RuleContext) -> Rewritten:
    """All joins, as `general` makes them, or a choice at each Apply: for the search to decide. Below `MOST_CHOICES` of them all
    are joins, for each choice multiplies what is below."""
    whole = _unnested(General(context.columns), root)
    chosen = alternatives(root, context.columns, MOST_CHOICES)
    if not chosen.has_choice:
        return whole
    many = in_a_row(root)
    lost = f"of {many} subqueries, one over the other, the search chose about {MOST_CHOICES}" if many > MOST_CHOICES else ""
    return whole._replace(tree=Tree(Choice(root.columns), (whole.tree, chosen)), lost=lost)


METHODS: dict[str, Callable[[Tree, RuleContext], Rewritten]] = {
    "none": _none,
    "quick": quick,
    "value_generator": lambda root, context: _unnested(ValueGenerator(context.columns), root),
    "general": lambda root, context: _unnested(General(context.columns), root),
    "cost": _cost,
}


def decorrelate(root: Tree, method: str, context: RuleContext) -> Rewritten:
    """The tree with those Applies removed that the method can remove, and what it did; the tree itself without any Apply."""
    if not root.has_apply:
        return Rewritten(root, ())
    return METHODS[method](root, context)
