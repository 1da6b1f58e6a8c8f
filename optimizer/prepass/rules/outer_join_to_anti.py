"""A left join of which only the rows without a match are kept is an anti join.

    σ(b IS NULL ∧ r)(A ⟕p B)  ≡  σr(π_A,NULLs(A ▷p B))        b of B is never NULL in a row of A ⟕p B that has a match

Kinds   left, and right as its mirror image; a full join has unmatched rows of both sides
NULLs   b is NOT NULL in B, or p is never TRUE where b is NULL; so b is NULL exactly in the NULL-extended rows
Rows    each row of A without a match comes once in both; the projection gives the columns of B, which are all NULL
Guards  b IS NULL is a conjunct of its own; p is not volatile (it is tested for the same pairs in both)
"""

from optimizer.algebra.building import filtered, passed_all
from optimizer.algebra.columns import ColumnSet, column_ids
from optimizer.algebra.flags import OUTER_JOIN
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, Project, ProjectItem
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.nulls import null_rejected
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalars import Call, ColumnRef, Literal, Scalar
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(Filter, node(Join, ANY, ANY)), openings=OUTER_JOIN)
def outer_join_to_anti(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(
            Filter(predicate), (Tree(Join(JoinKind.LEFT, on), (kept, other)) | Tree(Join(JoinKind.RIGHT, on), (other, kept)),)
        ) if not any(s.volatile for s in on):
            telling = other.columns & (other.props.not_null | null_rejected(on))
            rest = [s for s in predicate if not says_null(s, telling)]
            if len(rest) == len(predicate):
                return None
            columns = context.columns
            items = list(passed_all(kept, columns))
            items += [ProjectItem(id, Literal(None, columns[id].type)) for id in column_ids(other.columns)]
            unmatched = Tree(Project(tuple(items)), (Tree(Join(JoinKind.ANTI, on), (kept, other)),))
            return filtered(conjunction(rest), unmatched)
    return None


def says_null(scalar: Scalar, columns: ColumnSet) -> bool:
    """Whether the conjunct is `c IS NULL` for one of the columns."""
    match scalar:
        case Call(function="is_null", args=(ColumnRef(id=id),)):
            return bool(columns >> id & 1)
    return False
