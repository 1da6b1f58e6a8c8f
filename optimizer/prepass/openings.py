"""What in an operator gives a rule something to try: found once for all rules, so that one without costs nothing.

Each bit says that some part of a scalar is of a certain form; a rule names the bits it can do anything with, and leaves what has
none of them alone without looking. The bits are those of the part's form alone, so a part keeps them wherever it stands. Those
of `algebra.flags` say what stands in the tree.
"""

from functools import lru_cache

from optimizer.algebra.functions import COMPARISONS
from optimizer.algebra.scalars import Call, Case, Cast, ColumnRef, InList, Literal, SafeCall, SafeCast, Scalar
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import is_exact
from optimizer.algebra.value_ranges import OVERFLOWING

CONSTANT = 1 << 15  # operands that are all constants, or one that is NULL, TRUE or FALSE
JUNCTION = 1 << 16  # AND, OR, NOT
TEST = 1 << 17  # IS NULL, DISTINCT FROM, IN; a comparison with a constant on the left, with TRUE or FALSE, of a term with itself
CHOICE = 1 << 18  # CASE, COALESCE, GREATEST, LEAST
LIKE = 1 << 19  # LIKE, ILIKE, starts_with
ARITHMETIC = 1 << 20  # an operation on a constant or on the result of the same operation, a cast of a cast
COMPUTED = 1 << 21  # an expression compared with a constant
OVERFLOW = 1 << 22  # an operation or a cast that raises beyond some bounds of its operands
SUM = 1 << 23  # a sum, a difference or the time between two moments, compared

_BY_FUNCTION = {
    **dict.fromkeys(("and", "or", "not"), JUNCTION),
    **dict.fromkeys(("is_null", "is_not_null", "is_distinct_from", "is_not_distinct_from"), TEST),
    **dict.fromkeys(("coalesce", "greatest", "least"), CHOICE),
    **dict.fromkeys(("like", "ilike", "starts_with"), LIKE),
}
_COMPARISONS = frozenset(COMPARISONS)
_SUMS = frozenset(("+", "-", "neg", "abs", "date_diff_days", "microseconds_between"))


@lru_cache(maxsize=32768)
def openings(scalar: Scalar) -> int:
    """The bits of the scalar and all its parts."""
    children = scalar.children
    if not children:
        return CONSTANT if isinstance(scalar, Literal) and scalar.value is None else 0
    constants = sum(isinstance(child, Literal) for child in children)
    bits = CONSTANT if constants == len(children) else 0
    if constants and any(isinstance(c, Literal) and (c.value is None or isinstance(c.value, bool)) for c in children):
        bits |= CONSTANT
    if isinstance(scalar, Call):
        bits |= _of_call(scalar, constants)
    elif isinstance(scalar, Cast):
        if isinstance(scalar.arg, Cast) or scalar.arg.type == scalar.type:
            bits |= ARITHMETIC
        if scalar.raises and is_exact(scalar.type) and is_exact(scalar.arg.type) and not isinstance(scalar, SafeCast):
            bits |= OVERFLOW
    elif isinstance(scalar, Case):
        bits |= CHOICE
    elif isinstance(scalar, InList):
        bits |= TEST if isinstance(scalar.arg, ColumnRef) else TEST | COMPUTED
    for child in children:
        if child.children:
            bits |= openings(child)
    return bits


def all_openings(tree: Tree) -> int:
    """The bits of all scalars of the operator, and the flags of the tree."""
    bits = tree.flags
    for scalar in tree.op.scalars():
        bits |= openings(scalar)
    return bits


def _of_call(call: Call, constants: int) -> int:
    function, args = call.function, call.args
    if function in _COMPARISONS:
        a, b = args
        bits = SUM if any(isinstance(arg, Call) and arg.function in _SUMS for arg in args) else 0
        if a is b or isinstance(a, Literal):
            return bits | TEST
        if isinstance(b, Literal):
            bits |= (TEST if isinstance(b.value, bool) else 0) | (0 if isinstance(a, ColumnRef) else COMPUTED)
        return bits
    if function in _BY_FUNCTION:
        return _BY_FUNCTION[function]
    bits = OVERFLOW if call.raises and function in OVERFLOWING and not isinstance(call, SafeCall) else 0
    if constants or any(isinstance(arg, Call) and arg.function == function for arg in args) or function in ("floor", "ceil"):
        bits |= ARITHMETIC
    return bits
