"""Of grouping columns that are equal in every row, one is enough.

    γa,b,K;f(A)  ≡  π b:=a (γa,K;f(A))        a and b are equal, and equally NULL, in every row of A

NULLs   safe: a and b are NULL together
Rows    the same groups
Guards  the columns are of a type whose equal values are one value: not floats (-0.0 and 0.0) nor intervals
Source  Simmen, Shekita and Malkemus, Fundamental Techniques for Order Optimization, SIGMOD 1996 (§4.2)
"""

from optimizer.algebra.building import passed
from optimizer.algebra.columns import ColumnId
from optimizer.algebra.congruence import has_one_form
from optimizer.algebra.logical import Aggregate, Project, ProjectItem
from optimizer.algebra.scalars import ColumnRef
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Aggregate, ANY))
def aggregate_reduce_keys(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Aggregate(keys, items), (below,)):
            first: dict[ColumnId, ColumnId] = {}  # the lowest column of each class -> the key that stands for it
            stands: dict[ColumnId, ColumnId] = {}
            for key in keys:
                of_class = below.props.representative(key) if has_one_form(context.columns[key].type) else key
                stands[key] = first.setdefault(of_class, key)
            if len(first) == len(keys):
                return None
            types = {key: context.columns[key].type for key in keys}
            shown = [ProjectItem(key, ColumnRef(stands[key], types[key])) for key in keys]
            reduced = Tree(Aggregate(tuple(first.values()), items), (below,))
            return Tree(Project((*shown, *passed((item.id for item in items), context.columns))), (reduced,))
    return None
