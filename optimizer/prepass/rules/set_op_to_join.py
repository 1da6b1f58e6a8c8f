"""Rows that are, or are not, in another input are found by a join.

    A ∩ B  ≡  δ(A ⋉ B)        A ∖ B  ≡  δ(A ▷ B)        on a ≐ b for each column, where NULL equals NULL

So B is asked like any input of a join: its duplicates do not matter, the join stands in the order of joins, and no bindings of
an Apply above are multiplied by a B that reads none of them.

Kinds   INTERSECT and EXCEPT without ALL
NULLs   ≐ takes NULL for a value, as set operations do; it is = where one of the columns is never NULL
Rows    each row of A that is kept comes out once
Guards  a key of A makes δ needless, or the operation reads the rows of an Apply; else one hash table for all of it costs no
        more than a join and a removal of duplicates
Source  Pirahesh, Hellerstein and Hasan, Extensible/Rule Based Query Rewrite Optimization in Starburst, SIGMOD 1992
"""

from optimizer.algebra.building import passed_as, reference
from optimizer.algebra.columns import column_set
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import Aggregate, Project, SetOp
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import compare, conjunction
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, RuleContext, node, rewrite

_KIND = {SetOpKind.INTERSECT: JoinKind.SEMI, SetOpKind.EXCEPT: JoinKind.ANTI}


@rewrite(node(SetOp, ANY, ANY))
def set_op_to_join(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(SetOp(SetOpKind.INTERSECT | SetOpKind.EXCEPT as kind, False, columns, (own, others)), (left, right)):
            unique = left.props.unique_on(column_set(own))
            if not unique and not bound.outer:
                return None
            known = left.props.not_null | right.props.not_null
            pairs = [(reference(a, context.columns), reference(b, context.columns)) for a, b in zip(own, others, strict=True)]
            on = [compare("=" if known & (a.columns | b.columns) else "is_not_distinct_from", a, b) for a, b in pairs]
            kept = Tree(Join(_KIND[kind], conjunction(on)), (left, right))
            distinct = kept if unique else Tree(Aggregate(tuple(dict.fromkeys(own)), ()), (kept,))
            return Tree(Project(passed_as(columns, own, context.columns)), (distinct,))
    return None
