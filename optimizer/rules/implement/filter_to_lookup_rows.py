"""A filter that compares its input with outer values for equality becomes lookups in an index, made once for all runs.

Guards  the input reads no outer column and is not volatile, so that it has the same rows in every run; a key is an equality
        of a scalar over the input and one over outer columns alone, not volatile, and neither side may raise: an index
        computes keys for all rows at once, and a lookup its values even where the input is empty
NULLs   those of = find nothing; those of IS NOT DISTINCT FROM find NULL
"""

from collections.abc import Sequence

from optimizer.algebra.logical import Filter
from optimizer.algebra.physical import LookupRows, PhysicalOperator
from optimizer.algebra.physical.apply import LookupKey
from optimizer.algebra.predicates import is_key
from optimizer.algebra.scalars import Call, Scalar
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import ANY, ImplementationRule, RuleContext, node


class FilterToLookupRows(ImplementationRule):
    name = "filter_to_lookup_rows"
    pattern = node(Filter, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        match bound:
            case Tree(Filter(predicate), (below,)) if not below.outer and not below.volatile:
                keys = [key for conjunct in predicate if (key := lookup_key(conjunct)) is not None]
                residual = tuple(conjunct for conjunct in predicate if lookup_key(conjunct) is None)
                if keys:
                    return (LookupRows(tuple(keys), residual),)
        return ()


def lookup_key(conjunct: Scalar) -> LookupKey | None:
    """The conjunct as a key, if it can be one."""
    if not isinstance(conjunct, Call) or not is_key(conjunct) or conjunct.volatile or conjunct.raises:
        return None
    for inner, outer in (conjunct.args, conjunct.args[::-1]):
        if inner.columns and not inner.outer and outer.outer and not outer.columns:
            return LookupKey(inner, outer, conjunct.function == "is_not_distinct_from")
    return None
