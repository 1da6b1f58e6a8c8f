"""An outer join whose NULL-extended rows cannot reach the result becomes the join without them.

    σp(A ⟕q B)  ≡  σp(A ⋈q B)        C ⋈p (A ⟕q B)  ≡  C ⋈p (A ⋈q B)        p is never TRUE when all columns of B are NULL

p may stand far above: it is carried down, from filters and join predicates, through everything that lets a row with NULLs in B
become nothing but rows with the same NULLs: filters, joins that do not NULL-extend, projections, grouping by the columns of p,
windows partitioned by them, an order of all rows, the left input of a mark or single join or of an Apply.

Kinds   left and right become inner; full becomes left, right or inner, depending on the side whose NULLs p rejects; left of
        an Apply becomes inner. A single join stays: with an inner one its error would be lost. The predicate of a join rejects
        rows of an input that the join does not keep: both inputs of inner and semi joins, the right one of left, single and
        anti joins, the left one of right joins, none of full joins, nor of mark joins, where it may also be UNKNOWN
NULLs   p is evaluated with every column of B NULL and the others unknown (`rejects_nulls`)
Rows    only rows go that would have gone anyway, and no other row depends on them
Guards  volatile conjuncts reject nothing; nothing is carried into a choice: its trees would no longer have the same rows
Source  Galindo-Legaria and Rosenthal, Outerjoin Simplification and Reordering, TODS 1997
"""

from __future__ import annotations

from optimizer.algebra.columns import column_set
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.flags import OUTER_JOIN
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate, Filter, Limit, LogicalOperator, Project, Window
from optimizer.algebra.logical_joins import AnyJoin, Apply, Join, MarkJoin, SingleJoin
from optimizer.algebra.nulls import rejects_nulls
from optimizer.algebra.rebuild import map_down
from optimizer.algebra.scalars import Predicate, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.movable import over_items
from optimizer.rules.interface import RuleContext, node, rewrite

_KIND = {(True, True): JoinKind.FULL, (True, False): JoinKind.LEFT, (False, True): JoinKind.RIGHT, (False, False): JoinKind.INNER}


@rewrite(node((Filter, AnyJoin)), openings=OUTER_JOIN)
def outer_join_simplify(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(predicate), (below,)):
            inputs: tuple[Node, ...] = (simplified(below, predicate),)
        case Tree(AnyJoin(kind=kind, predicate=on), (left, right)):
            inputs = simplified(left, on) if kind.drops_left else left, simplified(right, on) if kind.drops_right else right
        case _:
            return None
    changed = bound.with_inputs(inputs)
    return None if changed is bound else changed


def simplified(root: Node, predicate: Predicate) -> Node:
    """`root` where only rows matter for which the predicate may be TRUE; the same object when nothing changes.

    The predicate may also read columns that `root` does not have.
    """

    def visit(tree: Node, known: Predicate) -> Node | tuple[Tree, list[Predicate]]:
        known = tuple(s for s in known if s.columns & tree.columns and not s.volatile)
        if not known or not isinstance(tree, Tree):
            return tree
        op, below = _carried(tree, known)
        return (tree if op is tree.op else Tree(op, tree.inputs)), below

    return map_down(root, predicate, visit)


def _carried(tree: Tree, known: Predicate) -> tuple[LogicalOperator, list[Predicate]]:
    """The operator, simplified, and what is known of the rows that matter of each input."""
    op = tree.op
    match op:
        case Filter():
            return op, [known]
        case Project(items):
            values: dict[int, Scalar] = {item.id: item.value for item in items}
            return op, [tuple(said for s in known if (said := over_items(s, values)) is not None)]
        case Aggregate(keys) if keys:
            return op, [known]
        case Join(kind, on):
            left, right = tree.inputs
            if kind.keeps_left or kind.keeps_right:
                keeps_left = kind.keeps_left and not rejects_nulls(known, right.columns)
                keeps_right = kind.keeps_right and not rejects_nulls(known, left.columns)
                if (keeps_left, keeps_right) != (kind.keeps_left, kind.keeps_right):
                    kind = _KIND[keeps_left, keeps_right]
                    op = Join(kind, on)
            to_left = () if kind.keeps_right else known
            to_right = () if kind.keeps_left or kind.left_only else known
            return op, [to_left, to_right]
        case Apply(kind, on):
            if kind is JoinKind.LEFT and rejects_nulls(known, tree.inputs[1].columns):
                kind = JoinKind.INNER
                op = Apply(kind, on)
            return op, [known, known if kind is JoinKind.INNER else ()]
        case MarkJoin() | SingleJoin():
            return op, [known, ()]
        case Window(partition):
            whole = column_set(partition)
            return op, [tuple(s for s in known if not s.columns & tree.columns & ~whole and is_congruent(s))]
        case Limit(_, 0, None):
            return op, [known]
    return op, [() for _ in tree.inputs]
