"""A filter over a scan becomes the scan's predicate.

    σp(scan(T, q))  ≡  scan(T, q ∧ p)
    a = b ∧ b = c ∧ a = c → a = b ∧ a = c        a = 1 ∧ a = b → a = 1 ∧ b = 1

What is equal is said once, and the same way whichever joins it was inferred from: so costs do not depend on the order of FROM.

NULLs   safe: a scan keeps rows for which its predicate is TRUE, as a filter does; the columns of a TRUE equality are not NULL
Guards  the scan has no limit (a limit below a filter must not see the filter); not when conjuncts of both may raise
"""

from dataclasses import replace
from functools import lru_cache

from optimizer.algebra.columns import ColumnSet, column_ids
from optimizer.algebra.logical import Filter, Scan
from optimizer.algebra.predicates import compare, conjunction
from optimizer.algebra.props import united
from optimizer.algebra.scalars import Call, ColumnRef, Literal, Predicate, Scalar
from optimizer.algebra.trees import Tree
from optimizer.prepass.known import equal_columns, equalities
from optimizer.rules.interface import RewriteRule, RuleContext, node


class FilterPushScan(RewriteRule):
    name = "filter_push_scan"
    pattern = node(Filter, node(Scan))

    def __init__(self, spares: tuple[RewriteRule, ...] = ()) -> None:
        self.spares = spares

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        match bound:
            case Tree(Filter(predicate), (Tree(Scan() as scan),)) if scan.limit is None:
                if not (any(s.raises for s in predicate) and any(s.raises for s in scan.predicate)):
                    return Tree(replace(scan, predicate=_said_once(conjunction((*scan.predicate, *predicate)))))
        return None


@lru_cache(maxsize=4096)
def _said_once(predicate: Predicate) -> Predicate:
    """Of columns that are equal each equals the first one, or the value that one of them has."""
    equal = [s for s in predicate if equal_columns(s) is not None]
    if not equal:
        return predicate
    columns = {column.columns: column for s in equal for column in s.children}
    values: dict[ColumnSet, Literal] = {}
    for conjunct in predicate:
        match conjunct:
            case Call(function="=", args=(ColumnRef() as column, Literal() as literal)):
                values[column.columns] = literal
    kept: list[Scalar] = []
    for members in united(equalities(predicate)):
        each = [columns[1 << id] for id in column_ids(members)]
        said = [values[one.columns] for one in each if one.columns in values]
        if said and all(other.value == said[0].value for other in said):
            kept += [compare("=", one, said[0]) for one in each if one.columns not in values]
        else:
            kept += [compare("=", each[0], one) for one in each[1:]]
    return conjunction([*(s for s in predicate if s not in equal), *kept])
