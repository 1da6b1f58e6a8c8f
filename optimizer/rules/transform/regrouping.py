"""Which conjuncts two or three joins have after they are regrouped, and whether they may."""

from collections.abc import Sequence

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.predicates import combined
from optimizer.algebra.scalars import Predicate, Scalar
from optimizer.algebra.trees import Node
from optimizer.rules.interface import RuleContext


def regrouped(predicates: Sequence[Predicate], within: Sequence[ColumnSet], context: RuleContext) -> list[Predicate] | None:
    """The conjuncts of inner joins, those over the columns of each of `within` apart, and last the others, for the join on top.

    None where a forced join order has no such sets, where a cross product would appear (setting cross_products allows that),
    where a conjunct is volatile, where one that may raise would go down to rows that the others had removed, and where two
    predicates have one: within one predicate only conjuncts that cannot raise are sure to be tested first.
    """
    if not all(in_order(columns, context) for columns in within):
        return None
    rest = [conjunct for predicate in predicates for conjunct in predicate]
    below: list[list[Scalar]] = []
    for columns in within:
        below.append([s for s in rest if not s.columns & ~columns])
        rest = [s for s in rest if s.columns & ~columns]
    if not context.settings.cross_products and not (rest and all(below)):
        return None
    if any(s.volatile for s in rest) or any(s.volatile or s.raises for part in below for s in part):
        return None
    if sum(any(s.raises for s in predicate) for predicate in predicates) > 1:
        return None
    return [combined(part) for part in (*below, rest)]


def may_go_down(predicate: Predicate, a: Node, c: Node, context: RuleContext) -> bool:
    """Whether a join on `predicate` may become a join of `a` and `c` alone, on rows that it did not see before."""
    within = a.columns | c.columns
    if not in_order(within, context) or any(s.columns & ~within or s.volatile or s.raises for s in predicate):
        return False
    return context.settings.cross_products or links(predicate, a, c)


def in_order(joined: ColumnSet, context: RuleContext) -> bool:
    """Whether a join of these columns is compatible with the sets of a forced join order, as far as columns tell."""
    return all(not joined & forced or not joined & ~forced or not forced & ~joined for forced in context.forced)


def links(predicate: Predicate, a: Node, c: Node) -> bool:
    """Whether a conjunct reads columns of both."""
    return any(s.columns & a.columns and s.columns & c.columns for s in predicate)
