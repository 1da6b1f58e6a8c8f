"""A scalar subquery that has one row at most needs no check for a second one.

    L A^single R  ≡  L A⟕ R        R has at most one row for each row of L: by a key, a scalar aggregate, a limit

Kinds   single
NULLs   safe: a row of L without a row of R gets NULLs either way
Guards  what says that there is one row must hold for each evaluation of R, which is how properties of R are meant
"""

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class ApplySingleToLeft(RewriteRule):
    name = "apply_single_to_left"
    pattern = node(Apply, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Apply(JoinKind.SINGLE, predicate), (left, right)) if right.props.at_most_one_row:
                return Tree(Apply(JoinKind.LEFT, predicate), (left, right))
        return None
