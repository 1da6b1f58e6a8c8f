"""A filter moves into every alternative of a choice.

    σp(choice(A, B))  ≡  choice(σp(A), σp(B))

NULLs, rows   the alternatives have the same rows in the columns of the choice; p reads no others, so it keeps the same ones
Guards        no volatile conjunct, which might keep other rows in each; where a conjunct stays above, none that may raise goes
              below, out of its shelter
"""

from optimizer.algebra.logical import Choice, Filter
from optimizer.algebra.trees import Tree
from optimizer.prepass.movable import filter_lowered
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(node(Filter, node(Choice)))
def filter_push_choice(bound: Tree, context: RuleContext) -> Tree | None:
    return filter_lowered(bound, lambda conjunct: None if conjunct.volatile else conjunct)
