"""A mark that a filter asks for is a semi join, one that it asks not to be TRUE nor UNKNOWN an anti join.

    σ(m ∧ r)(A ⋈m,p B)   ≡  σr(π A, m:=TRUE (A ⋉p B))
    σ(¬m ∧ r)(A ⋈m,p B)  ≡  σr(π A, m:=FALSE (A ▷p' B))        p': each conjunct of p IS NOT FALSE, or itself if never NULL

Kinds   MARK, of a join and of an Apply
NULLs   a filter lets m pass where it is TRUE: where p is TRUE for some row of B. It lets ¬m pass where p is FALSE for every row:
        where for none p is TRUE or UNKNOWN, and a conjunction is that where every conjunct is
Rows    rows of A come once or not at all in both; the projection gives the mark, which is the same in all that are left
Guards  m or ¬m is a conjunct of its own. An equality that can be NULL is no hash key any more as p' says it, though it is one of
        the mark join: where p has such equalities, another one has to be left as it is
Source  Neumann, Leis and Kemper, The Complete Story of Joins (in HyPer), BTW 2017
"""

from __future__ import annotations

from optimizer.algebra.building import filtered, passed_all
from optimizer.algebra.flags import MARK
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, LogicalOperator, Project, ProjectItem
from optimizer.algebra.logical_joins import AnyJoin, Apply, Join
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.predicates import compare, conjunction, equality_sides
from optimizer.algebra.scalars import BOOL, FALSE, TRUE, Call, ColumnRef, Predicate, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, node(LogicalOperator, ANY, ANY)), openings=MARK)
def mark_join_to_semi(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Filter(predicate), (Tree(AnyJoin(predicate=on, mark=int() as mark), (left, right)) as marked,)):
            asked = ColumnRef(mark, BOOL)
            denied = Call("not", (asked,), BOOL)
            if asked in predicate:
                join, value = _of_kind(marked.op, JoinKind.SEMI, on), TRUE
            elif denied in predicate:
                without = _never_true_nor_null(on, left, right, isinstance(marked.op, Apply))
                if without is None:
                    return None
                join, value = _of_kind(marked.op, JoinKind.ANTI, without), FALSE
            else:
                return None
            rest = conjunction(s for s in predicate if s is not asked and (s is not denied or value is TRUE))
            items = passed_all(left, context.columns)
            shown = Tree(Project((*items, ProjectItem(mark, value))), (Tree(join, (left, right)),))
            return filtered(rest, shown)
    return None


def _of_kind(marked: LogicalOperator, kind: JoinKind, predicate: Predicate) -> LogicalOperator:
    return Apply(kind, predicate) if isinstance(marked, Apply) else Join(kind, predicate)


def _never_true_nor_null(predicate: Predicate, left: Node, right: Node, dependent: bool) -> Predicate | None:
    """A predicate that is TRUE where `predicate` is not FALSE; None where this takes away the hash keys of a join."""
    known = left.props.not_null | right.props.not_null
    kept = [s for s in predicate if is_not_null(s, known)]
    wrapped = [s for s in predicate if s not in kept]
    if not dependent:

        def hashed(part: list[Scalar]) -> bool:
            return any(equality_sides(s, left.columns, right.columns) is not None for s in part)

        if hashed(wrapped) and not hashed(kept):
            return None
    return conjunction((*kept, *(compare("is_distinct_from", s, FALSE) for s in wrapped)))
