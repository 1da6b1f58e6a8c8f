"""An aggregate over a constant, or over no row at all, is computed once: its column becomes a constant of a projection.

    γK;min(5),f(A) ≡ π K,5,f (γK;f(A))        with K: every group has a row
    γK;sum(NULL),count(NULL),f(A) ≡ π K,NULL,0,f (γK;f(A))        also without K

    min(c), max(c), avg(c) = c        sum(0) = 0        and with FILTER (WHERE FALSE): NULL, or 0 for a count

NULLs   of NULL every aggregate is NULL but count, which is 0
Rows    one row a group on both sides; without K and without aggregates that one row is a VALUES list
Guards  over no input an aggregate without keys is NULL, not its constant. avg of a float stays: its sum may round. Sums of other
        constants need the number of rows. The input is left out only if it neither raises nor is volatile
"""

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS
from optimizer.algebra.building import passed
from optimizer.algebra.evaluate_casts import cast
from optimizer.algebra.flags import RAISES
from optimizer.algebra.logical import Aggregate, Project, ProjectItem, Values
from optimizer.algebra.scalars import TRUE, AggregateCall, ColumnRef, Literal
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import is_float
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Aggregate, ANY))
def aggregate_remove_constants(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Aggregate(keys, items), (below,)):
            constants = {item.id: value for item in items if (value := _constant(item.call, bool(keys))) is not None}
            if not constants:
                return None
            rest = tuple(item for item in items if item.id not in constants)
            if not keys and not rest:
                if below.flags & RAISES or (isinstance(below, Tree) and below.volatile):
                    return None
                ids = tuple(constants)
                return Tree(Values(ids, tuple(v.type for v in constants.values()), (tuple(constants.values()),)))
            shown = list(passed(keys, context.columns))
            shown += [ProjectItem(item.id, constants.get(item.id) or ColumnRef(item.id, item.call.type)) for item in items]
            return Tree(Project(tuple(shown)), (Tree(Aggregate(keys, rest), (below,)),))
    return None


def _constant(call: AggregateCall, with_keys: bool) -> Literal | None:
    """The value of the aggregate in every group, where it does not depend on the rows."""
    arg = call.args[0] if call.args else None
    no_value = isinstance(arg, Literal) and arg.value is None
    if isinstance(call.filter, Literal) and call.filter is not TRUE and not call.volatile:
        no_value = not any(each.raises for each in call.args)
    if no_value:
        return Literal(AGGREGATE_FUNCTIONS[call.function].empty_value, call.type)
    if not with_keys or call.filter is not None or not isinstance(arg, Literal):
        return None
    if call.function in ("min", "max"):
        return arg
    if not is_float(arg.type) and (call.function == "avg" or (call.function == "sum" and not arg.value)):
        return Literal(cast(arg.value, arg.type, call.type), call.type)
    return None
