"""What every method of decorrelation asks of a correlated tree and says of its columns."""

from optimizer.algebra.building import passed_all, reference
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids, column_set
from optimizer.algebra.congruence import has_one_form, is_congruent
from optimizer.algebra.logical import Project, ProjectItem
from optimizer.algebra.predicates import compare
from optimizer.algebra.scalar_trees import bound_to
from optimizer.algebra.scalars import BOOL, Call, Case, Cast, Literal
from optimizer.algebra.trees import Tree, postorder
from optimizer.algebra.types import DOUBLE, is_float
from optimizer.decorrelate.stays import Stays


def named(columns: Columns, ids: ColumnSet) -> str:
    """A set of columns in words."""
    return ", ".join(columns.label(id) for id in column_ids(ids)) or "none"


def ambiguous(root: Tree, free: ColumnSet, columns: Columns) -> ColumnSet:
    """Those of `free` of which equal bindings may differ, if something in the tree tells them apart or shows them."""
    several = column_set(column for column in column_ids(free) if not has_one_form(columns[column].type))
    if not several:
        return 0
    reading = [s for node in postorder(root) if isinstance(node, Tree) for s in node.op.scalars() if s.outer & several]
    safe = all(has_one_form(scalar.type) and is_congruent(bound_to(scalar, several)) for scalar in reading)
    return 0 if safe else several


def zeros_told_apart(tree: Tree, ids: ColumnSet, told: dict[ColumnId, ColumnId], columns: Columns) -> Tree:
    """The tree with a column more for each of `ids`, which tells 0.0 from -0.0; `told` has or is given the new ids. Raises Stays
    for what is no number."""
    items = []
    for id in column_ids(ids):
        if not is_float(columns[id].type):
            raise Stays("equal bindings may differ (a month and 30 days) or are not compared (lists), and it can tell them apart")
        value = Call("/", (Literal(1.0, DOUBLE), Cast(reference(id, columns), DOUBLE, False)), DOUBLE)
        below = compare("<", value, Literal(0.0, DOUBLE))
        items.append(ProjectItem(told.setdefault(id, columns.new("negative", BOOL, True).id), below))
    return Tree(Project((*passed_all(tree, columns), *items)), (tree,))


def with_zeros(tree: Tree, held: dict[ColumnId, ColumnId], told: dict[ColumnId, ColumnId], columns: Columns) -> Tree:
    """A domain whose columns `held` have -0.0 again where `told` says so: in groups 0.0 stands for both. Changes `held`."""
    items = []
    for id, negative in told.items():
        if id in held and negative in held:
            value = reference(held[id], columns)
            is_zero = compare("=", value, Literal(0.0, value.type))
            below = Call("and", (reference(held[negative], columns), is_zero), BOOL)
            held[id] = columns.like(held[id])
            items.append(ProjectItem(held[id], Case(((below, Literal(-0.0, value.type)),), value, value.type)))
    return Tree(Project((*passed_all(tree, columns), *items)), (tree,)) if items else tree
