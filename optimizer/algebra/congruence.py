"""Whether a scalar gives equal results for equal arguments, equal being what SQL calls equal.

Most values that are equal are the same. Two floats need not be: 0.0 = -0.0, yet 1 / 0.0 is inf and 1 / -0.0 is -inf, and
their texts differ. Two intervals need not be: a month equals 30 days, yet they add differently. A function of such a value
is determined by it only where it cannot tell the representations apart.
"""

import pyarrow as pa

from optimizer.algebra.columns import DataType
from optimizer.algebra.scalar_trees import walk
from optimizer.algebra.scalars import Call, Case, Cast, ColumnRef, InList, Scalar
from optimizer.algebra.types import is_opaque

# calls whose results are equal for floats that are equal; division and powers tell 0.0 from -0.0
_FLOAT_CONGRUENT = frozenset((
    "=", "<>", "<", "<=", ">", ">=", "is_distinct_from", "is_not_distinct_from", "is_null", "is_not_null", "coalesce",
    "+", "-", "*", "%", "neg", "abs", "round", "floor", "ceil", "sqrt", "exp", "greatest", "least",
))  # fmt: skip


def has_one_form(type: DataType) -> bool:
    """Whether values of a type can be compared, and equal ones are the same value."""
    return not (pa.types.is_floating(type) or pa.types.is_interval(type) or is_opaque(type))


def is_congruent(scalar: Scalar) -> bool:
    """Whether rows that agree (NULL = NULL) on the columns of `scalar` agree on its value; sound, not complete."""
    if scalar.volatile:
        return False
    if isinstance(scalar, ColumnRef):
        return True
    for part in walk(scalar):
        ambiguous = [child for child in part.children if child.columns and not has_one_form(child.type)]
        if not ambiguous:
            continue
        if any(not pa.types.is_floating(child.type) for child in ambiguous):
            return False
        match part:
            case Call():
                if part.function not in _FLOAT_CONGRUENT:
                    return False
            case Cast():
                if pa.types.is_string(part.type):
                    return False
            case Case() | InList():
                pass
            case _:
                return False
    return True
