"""Joins of a query linked as a given join order needs it.

    a.x = b.x ∧ b.x = c.x  ≡  a.x = c.x ∧ c.x = b.x

Other systems join a and c first by the equality that the two of the query imply. Our search takes the conjuncts as they are, so
for the order `(a c) b` of such a system the class of equal columns is written anew: one equality for each join of the order
that brings columns of the class together. They are as many as it takes to connect the class, so nothing is estimated twice.
"""

from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.connect import connect
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import compare
from optimizer.algebra.props import united
from optimizer.algebra.scalars import ColumnRef, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.joins.join_order import JoinOrder, read_join_order, subtrees
from optimizer.joins.placed_order import aliases_of
from optimizer.prepass.instructions import Batch, MatchOrder
from optimizer.prepass.known import equal_columns
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


def linked_by(order: str) -> Batch:
    """The last batch of a program of the pre-pass for queries that are to be joined in this order."""
    return Batch("order", (JoinLinkByOrder(read_join_order(order)),), fixpoint=False, order=MatchOrder.TOP_DOWN, match_limit=1)


class JoinLinkByOrder(RewriteRule):
    """Kinds   a region of inner joins; other joins are leaves of it
    NULLs   safe: an inner join drops rows in which a column of the class is NULL, by whichever of its equalities
    Guards  columns of one class stand in different leaves, all in the order; no volatile conjunct, none that may raise
    """

    name = "join_link_by_order"
    pattern = node(Join, ANY, ANY)

    def __init__(self, order: JoinOrder) -> None:
        self._order = order

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        leaves, predicate = _region(bound)
        if len(leaves) < 3 or any(s.volatile or s.raises for s in predicate):
            return None
        linked = self._linked(leaves, predicate)
        return None if linked is None else connect(leaves, linked)

    def _linked(self, leaves: list[Node], predicate: list[Scalar]) -> list[Scalar] | None:
        """The conjuncts with the equalities of each class as the order needs them; None where they are so already."""
        names = {column: aliases_of([leaf]) for leaf in leaves for column in column_ids(leaf.columns)}
        columns: dict[ColumnId, ColumnRef] = {}
        pairs: dict[Scalar, tuple[ColumnId, ColumnId]] = {}
        for conjunct in predicate:
            if (pair := equal_columns(conjunct)) is not None:
                pairs[conjunct] = pair
                columns |= {each.id: each for each in conjunct.children if isinstance(each, ColumnRef)}
        found = list(predicate)
        for bits in united([1 << a | 1 << b for a, b in pairs.values()]):
            members = [column for column in columns if bits >> column & 1]
            links: list[Scalar] = []
            for left, right in subtrees(self._order):
                sides = [[member for member in members if names[member] <= side] for side in (left, right)]
                if all(sides):
                    links.append(compare("=", columns[sides[0][0]], columns[sides[1][0]]))
            own = [conjunct for conjunct, (a, _) in pairs.items() if bits >> a & 1]
            apart = len({names[member] for member in members}) == len(members) == len(links) + 1
            if apart and set(links) != set(own):
                found = [conjunct for conjunct in found if conjunct not in own] + links
        return found if found != predicate else None


def _region(root: Tree) -> tuple[list[Node], list[Scalar]]:
    """Leaves of the inner joins at `root` in the order of the text, and their conjuncts."""
    leaves: list[Node] = []
    predicate: list[Scalar] = []
    stack: list[Node] = [root]
    while stack:
        each = stack.pop()
        if isinstance(each, Tree) and isinstance(each.op, Join) and each.op.kind is JoinKind.INNER:
            predicate += each.op.predicate
            stack.extend(reversed(each.inputs))
        else:
            leaves.append(each)
    return leaves, predicate
