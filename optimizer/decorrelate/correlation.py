"""What every method of decorrelation asks of a correlated tree and says of its columns."""

from optimizer.algebra.columns import Columns, ColumnSet, column_ids, column_set
from optimizer.algebra.congruence import has_one_form, is_congruent
from optimizer.algebra.scalar_trees import bound_to
from optimizer.algebra.trees import Tree, postorder


def named(columns: Columns, ids: ColumnSet) -> str:
    """A set of columns in words."""
    return ", ".join(columns.label(id) for id in column_ids(ids)) or "none"


def one_form(root: Tree, free: ColumnSet, columns: Columns) -> bool:
    """Whether equal bindings of `free` are the same, or nothing in the tree tells them apart or shows them."""
    ambiguous = column_set(column for column in column_ids(free) if not has_one_form(columns[column].type))
    if not ambiguous:
        return True
    return all(
        has_one_form(scalar.type) and is_congruent(bound_to(scalar, ambiguous))
        for node in postorder(root)
        if isinstance(node, Tree)
        for scalar in node.op.scalars()
        if scalar.outer & ambiguous
    )
