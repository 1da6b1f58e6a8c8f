"""A join with an equality between its inputs becomes a hash join.

The build side is the right input; join_commute supplies the other one. Semi and anti joins have no mirror image, so for
them both build sides are offered here; nor have mark and single joins, which are built on the right. Equalities become keys,
the other conjuncts the residual: a pair of rows matches when both hold, so every kind may be split this way. NULL keys of =
match nothing, those of IS NOT DISTINCT FROM match NULL, as in SQL. The mark of a mark join is three-valued over the whole
conjunction: where a key is NULL the executor matches rows on the keys that are left. Keys are computed for every row of an
input; where one raises, an executor tests whole pairs, since another conjunct may keep the key from all of them. An equality of
columns that equal those of another key within their inputs says the same once more, and is left out.
"""

from collections.abc import Sequence

from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.physical import HashJoin, PhysicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node
from optimizer.rules.join_keys import split_keys


class JoinToHashJoin(ImplementationRule):
    name = "join_to_hash_join"
    pattern = node(IndependentJoin, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound:
            case Tree(IndependentJoin() as join, (left, right)):
                keys, null_safe, residual = split_keys(join.predicate, left.props, right.props)
                if keys:
                    builds = (False, True) if join.kind.left_only else (False,)
                    return tuple(HashJoin(join.kind, keys, residual, build, null_safe, join.mark) for build in builds)
        return ()
