"""The base of rewrites of expressions, which stand in operators of every kind.

Such a rule is one function from a scalar to an equal scalar of the same type: the same value in every row, NULL included, so
that it may stand anywhere. What is only right where UNKNOWN and FALSE are one (in a filter) is in `predicate_weaken`.

An expression that passes through many operators on its way down is looked at once: the function is cached by the (interned)
scalar, and asked only of scalars that have an opening for it, so a rule that has nothing to do costs a look-up.

What the rules may leave out. A part is `plain` when it neither raises nor is volatile. Parts that are not plain are evaluated
after a rewrite whenever they were before it, and never where they were not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.rebuild import map_scalars
from optimizer.algebra.scalar_trees import rewrite
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Tree
from optimizer.prepass.openings import openings
from optimizer.rules.interface import RewriteRule, RuleContext, node

Simplify = Callable[[Scalar], Scalar]
Step = Callable[[Scalar], Scalar | None]


class ScalarRewrite(RewriteRule):
    """A rule that applies `simplify` to every scalar of an operator that has one of the `openings`; made by `scalar_rewrite`.
    `unless`: operators that it leaves alone."""

    pattern = node(LogicalOperator)
    simplify: Simplify
    unless: tuple[type[LogicalOperator], ...]

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        if isinstance(bound.op, self.unless):
            return None
        wanted, simplify = self.openings, self.simplify
        for scalar in bound.op.scalars():
            if openings(scalar) & wanted and simplify(scalar) is not scalar:
                return changed(bound, simplify)
        return None


def scalar_rewrite(openings: int, unless: tuple[type[LogicalOperator], ...] = ()) -> Callable[[Step], ScalarRewrite]:
    """Makes a function a rule that is named after it, the function being what is done `everywhere` in a scalar."""

    def rule_of(step: Step) -> ScalarRewrite:
        parts = {"name": step.__name__, "simplify": staticmethod(everywhere(step)), "openings": openings, "unless": unless}
        rule: ScalarRewrite = type(step.__name__, (ScalarRewrite,), parts | {"__module__": step.__module__})()
        return rule

    return rule_of


def changed(bound: Tree, simplify: Simplify) -> Tree | None:
    """The tree with `simplify` made to the scalars of its operator; None where that gives the same operator."""
    op = map_scalars(bound.op, simplify)
    return None if op == bound.op else Tree(op, bound.inputs)


def everywhere(change: Step) -> Simplify:
    """`change` (one step, None: no change; it sees a node whose operands are done) made to all parts of a scalar, again and
    again until nothing changes; cached."""

    @lru_cache(maxsize=8192)
    def simplified(scalar: Scalar) -> Scalar:
        if not scalar.children:
            return scalar
        while True:
            after = rewrite(scalar, change)
            if after is scalar:
                return after
            scalar = after

    return simplified


def plain(scalar: Scalar) -> bool:
    """Whether leaving the scalar out, or evaluating it once more, goes unnoticed."""
    return not scalar.raises and not scalar.volatile
