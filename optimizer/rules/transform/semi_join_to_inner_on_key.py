"""A semi join whose right side is unique on the columns equated with the left is an inner join without the right columns.

    A ⋉p B  ≡  π_A(A ⋈p B)        p has equalities of A with columns of B, and no two rows of B agree on these

As an inner join it can be commuted and regrouped with others. An anti join has no such form.

Kinds   SEMI
NULLs   a key of B may hold NULL (unique with NULL as a value); an equality is never TRUE of it, in either form
Rows    at most one row of B matches a row of A, so no row of A comes twice; the projection restores the column set
Guards  no volatile conjunct in p. Other conjuncts of p only take matches away; no join order is asked for
Source  Galindo-Legaria and Joshi, Orthogonal Optimization of Subqueries and Aggregation, SIGMOD 2001
"""

from collections.abc import Sequence

from optimizer.algebra.building import passed_all
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Project
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import equated
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node, of_kinds
from optimizer.rules.transform.partition_region import PartitionRegion


class SemiJoinToInner(TransformationRule):
    """What both forms share. A region has the semi join over every part of A that p reads, so regrouping the inner join by pairs
    would find only what is there, but for projections that are free; not so where conjuncts of p may part, or be left out, nor
    where A has groups, which may be pulled up between its joins."""

    pattern = node(Join, ANY, ANY, where=of_kinds(JoinKind.SEMI))
    expands = "never"  # only semi joins are bound
    closes = tuple(name for name in PartitionRegion.closes if name != "join_commute")
    closes_in = ("adaptive", "partition")

    def closed(self, result: Tree, rule: str | None, context: RuleContext) -> Tree | None:
        match result.inputs:
            case (Tree(Join(_, (_,)), (a, _)) as join,) if rule == PartitionRegion.name and not context.settings.cross_products:
                return None if any(not block & ~a.relations for block in context.blocks) else join
        return None


class SemiJoinToInnerOnKey(SemiJoinToInner):
    name = "semi_join_to_inner_on_key"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(JoinKind.SEMI, p), (a, b)) if not (context.settings.join_order or any(s.volatile for s in p)):
                if b.props.unique_on(equated(p, a.columns, b.columns)):
                    return (joined(p, a, b, context),)
        return ()


def joined(predicate: Predicate, a: Node, b: Node, context: RuleContext) -> Tree:
    """The columns of `a` in its inner join with `b`."""
    return Tree(Project(passed_all(a, context.columns)), (Tree(Join(JoinKind.INNER, predicate), (a, b)),))
