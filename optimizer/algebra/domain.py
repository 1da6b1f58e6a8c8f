"""The domain of an Apply: the distinct combinations of outer values that its right input is evaluated for.

    D  =  Γ_F(π_F(L))        F = the columns of the left input L that the right one reads

Any duplicate-free superset of the bindings will do, since the join back to L drops what it does not have (Neumann and Kemper, BTW
2015). So D is made of the smallest part of L that has the columns: joins that only add columns, or rows that come back at the
join anyway, are left out. Every use of D is a copy with columns of its own.
"""

from optimizer.algebra.building import filtered, passed
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, Filter, Project, Window
from optimizer.algebra.logical_joins import Apply, Join, MarkJoin, SingleJoin
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.rebuild import copy_tree, defined_columns
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Node, Tree


def domain(left: Tree, needed: ColumnSet, columns: Columns, exact: bool) -> tuple[Tree, dict[ColumnId, ColumnId]]:
    """A fresh D with `needed` columns of `left`, and which of its columns holds which. `exact`: no other combinations than
    those of `left`."""
    source = smallest_source(left, needed, exact)
    copied, new = copy_tree(source, columns)
    kept = {c: new[c] for c in column_ids(needed)}
    narrow = Tree(Project(passed(kept.values(), columns)), (copied,))
    if narrow.props.unique_on(narrow.columns):
        return narrow, kept
    return Tree(Aggregate(tuple(kept.values()), ()), (narrow,)), kept


def smallest_source(left: Tree, needed: ColumnSet, exact: bool = False) -> Tree:
    """The lowest node below `left` whose rows have every combination of the `needed` columns that `left` has, under those
    conjuncts of the filters passed on the way that it has the columns for. `exact`: and no combination that `left` does not have,
    so that only what keeps all rows of an input is passed."""
    node: Node = left
    passed: list[Scalar] = []
    while True:
        below: Node | None = None
        assert isinstance(node, Tree)
        match node.op:
            case Join(kind, predicate):
                for side, inner in enumerate(node.inputs):
                    extended = kind.keeps_left if side else kind.keeps_right  # NULLs may take the place of its columns
                    drops = exact and not (kind.keeps_right if side else kind.keeps_left)
                    if not needed & ~inner.columns and not extended and not (side and kind.left_only) and not drops:
                        below = inner
                        passed += predicate if kind is JoinKind.INNER else ()
                        break
            case MarkJoin() | SingleJoin() | Window():
                if not needed & ~node.inputs[0].columns:
                    below = node.inputs[0]
            case Apply() if not exact:
                if not needed & ~node.inputs[0].columns:
                    below = node.inputs[0]
            case Filter(predicate) if not exact:
                below = node.inputs[0]
                passed += predicate
            case Project() if not needed & defined_columns(node):
                below = node.inputs[0]
        if not isinstance(below, Tree):
            own = conjunction(s for s in passed if s.columns and not s.columns & ~node.columns and not (s.volatile or s.raises))
            return filtered(own, node)
        node = below
