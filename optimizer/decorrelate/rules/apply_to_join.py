"""An Apply whose right input reads nothing of the left one is a join.

    L A⊗p E  ≡  L ⊗p E        E reads no column of L

Kinds   all
NULLs   safe: the same rows meet under the same predicate
Guards  a volatile E is evaluated once then, as SQL has it for a subquery that does not depend on the row
"""

from optimizer.algebra.logical_joins import Apply, join_of_kind
from optimizer.algebra.scalar_trees import bound_to
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class ApplyToJoin(RewriteRule):
    name = "apply_to_join"
    pattern = node(Apply, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Apply(kind, predicate, mark), (left, right)) if not right.outer & left.columns:
                return Tree(join_of_kind(kind, tuple(bound_to(s, left.columns) for s in predicate), mark), (left, right))
        return None
