"""What equals one relation's column equals all that it is equated with: joins between relations that the text does not name.

    (A ⋈(a = b) B) ⋈(a = c) C  ≡  (A ⋈(a = b) B) ⋈(a = c ∧ b = c) C

So which relations can be joined first does not depend on which equalities of a class a query spells out, nor on the order of its
FROM. Of each relation one column of a class is taken.

Kinds   inner joins; the relations are what joins below have for inputs, of an outer, semi or anti join on the side that it keeps
NULLs   the given equality is TRUE only of values that are not NULL, and of those a column that equals one has the same value
Rows    same: the new equalities hold of every row that the given ones leave
Guards  bare columns of one type, equated by =. Not where rows are injected: files of true cardinalities have the sets of
        relations that the text connects
"""

from optimizer.algebra.building import reference
from optimizer.algebra.columns import Columns, ColumnSet
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import compare, conjunction
from optimizer.algebra.props import merge_equivalences
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.known import equalities
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Join, ANY, ANY))
def join_infer_equality(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Join(JoinKind.INNER, predicate), (left, right)):
            here = equalities(predicate)
            if here and context.settings.estimator != "injected":
                on_left, on_right = _Side(left), _Side(right)
                if len(on_left.relations) + len(on_right.relations) > 2:
                    new = _missing(here, on_left, on_right, context.columns)
                    if new:
                        return Tree(Join(JoinKind.INNER, conjunction((*predicate, *new))), (left, right))
    return None


class _Side:
    """What joins at `root` join, as far as its rows pass through unchanged, by columns; and columns that these say are equal."""

    __slots__ = ("columns", "equalities", "relations")

    def __init__(self, root: Node) -> None:
        self.columns = root.columns
        self.relations: list[ColumnSet] = []
        self.equalities: list[ColumnSet] = []
        stack = [root]
        while stack:
            node = stack.pop()
            op = node.op
            if not isinstance(op, Join) or op.kind is JoinKind.FULL:
                self.relations.append(node.columns)
                self.equalities += node.props.equivalences
            elif op.kind is JoinKind.INNER:
                self.equalities += equalities(op.predicate)
                stack += node.inputs
            else:
                kept, other = node.inputs[::-1] if op.kind is JoinKind.RIGHT else node.inputs
                self.relations.append(other.columns & node.columns)
                stack.append(kept)


def _missing(here: list[ColumnSet], left: _Side, right: _Side, columns: Columns) -> list[Scalar]:
    """Equalities between relations of both sides that follow from those at the join, `here`, and those below."""
    below = [*left.equalities, *right.equalities]
    if len(here) == 1 and not any(here[0] & equal for equal in below):
        return []
    new = []
    for members in merge_equivalences([*here, *below]):
        if not (members & left.columns and members & right.columns):
            continue
        for a in [members & relation for relation in left.relations if members & relation]:
            for b in [members & relation for relation in right.relations if members & relation]:
                if not any(pair & a and pair & b for pair in here):
                    one, other = (reference((part & -part).bit_length() - 1, columns) for part in (a, b))
                    if one.type == other.type:
                        new.append(compare("=", one, other))
    return new
