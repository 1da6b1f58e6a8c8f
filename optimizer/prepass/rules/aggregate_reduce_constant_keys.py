"""A grouping column that holds one known constant need not be grouped by.

    γa,K;f(A)  ≡  π a:=5 (γK;f(A))        a is 5 in every row of A, K has a column

NULLs   a constant that is NULL is one value, as grouping takes it
Rows    the same groups; K keeps a column, as an aggregate without keys has a row even over no input
Guards  the constant is that of a projection or of an equality in a filter or scan right below; of an equality only for types
        whose equal values are one value: not floats (-0.0 and 0.0) nor intervals
"""

from optimizer.algebra.building import reference
from optimizer.algebra.columns import ColumnId
from optimizer.algebra.congruence import has_one_form
from optimizer.algebra.logical import Aggregate, Filter, Project, ProjectItem, Scan
from optimizer.algebra.scalars import Call, ColumnRef, Literal
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Aggregate, ANY))
def aggregate_reduce_constant_keys(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Aggregate(keys, items), (below,)) if len(keys) > 1:
            known = known_constants(below)
            constant = [key for key in keys if key in known]
            if len(constant) == len(keys):
                constant = constant[1:]
            if not constant:
                return None
            rest = tuple(key for key in keys if key not in constant)
            shown = [ProjectItem(key, known[key] if key in constant else reference(key, context.columns)) for key in keys]
            shown += [ProjectItem(item.id, ColumnRef(item.id, item.call.type)) for item in items]
            return Tree(Project(tuple(shown)), (Tree(Aggregate(rest, items), (below,)),))
    return None


def known_constants(node: Node) -> dict[ColumnId, Literal]:
    """Columns whose value in every row can be read off the operator."""
    match node:
        case Tree(Project(items), _):
            return {item.id: item.value for item in items if isinstance(item.value, Literal)}
        case Tree(Filter(predicate) | Scan(predicate=predicate)):
            found: dict[ColumnId, Literal] = {}
            for conjunct in predicate:
                match conjunct:
                    case Call(function="=", args=(ColumnRef(id=id, type=type), Literal(value=value) as literal)):
                        if value is not None and has_one_form(type):
                            found[id] = literal
            return found
    return {}
