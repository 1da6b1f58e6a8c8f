"""A semi join on equalities is an inner join with the distinct values of the columns that it compares.

    A ⋉p B  ≡  π_A(A ⋈p δ_k(B))        k: the columns of B that p reads; p equates each of them with something of A

Worth it where B has few distinct values and the inner join can then be regrouped with others. An anti join has no such form.

Kinds   SEMI
NULLs   a NULL in k stays one row of δ and matches nothing, as before
Rows    the columns of k determine the row of δ, so a row of A has at most one match; the projection restores the column set
Guards  p reads no other column of B, and at least one; nothing volatile; B is not unique on k (semi_join_to_inner_on_key);
        no join order is asked for, which the inner join might leave; p does not tell 0.0 from -0.0, of which δ keeps one
Source  Galindo-Legaria and Joshi, Orthogonal Optimization of Subqueries and Aggregation, SIGMOD 2001
"""

from collections.abc import Sequence

from optimizer.algebra.columns import column_ids
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Aggregate
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import equated, predicate_columns
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import RuleContext
from optimizer.rules.transform.semi_join_to_inner_on_key import SemiJoinToInner, joined


class SemiJoinToInnerOnDistinct(SemiJoinToInner):
    name = "semi_join_to_inner_on_distinct"

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(Join(JoinKind.SEMI, p), (a, b)) if not (context.settings.join_order or any(s.volatile for s in p)):
                keys = equated(p, a.columns, b.columns)
                alike = keys and predicate_columns(p) & b.columns == keys and all(map(is_congruent, p))
                if alike and not b.props.unique_on(keys):
                    distinct = Tree(Aggregate(tuple(column_ids(keys)), ()), (b,))
                    return (joined(p, a, distinct, context),)
        return ()
