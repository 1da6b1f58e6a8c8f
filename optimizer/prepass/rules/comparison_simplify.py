"""Comparisons, tests for NULL and IN lists say the same with less.

    5 < x ≡ x > 5        b = TRUE ≡ b        b <> TRUE ≡ ¬b        x IN (1) ≡ x = 1        x IN (1, 2, 1) ≡ x IN (1, 2)
    x IS NOT DISTINCT FROM NULL ≡ x IS NULL        x IS DISTINCT FROM x ≡ FALSE        (x = 5) IS NULL ≡ x IS NULL

NULLs   exact: where the left side is UNKNOWN so is the right. A strict function that does not raise is NULL exactly where one of
        its arguments is (// and % give NULL also by a zero, and are left alone)
Guards  what is left out is plain; x is not evaluated more often than before
"""

import pyarrow as pa

from optimizer.algebra.evaluate_order import order_key
from optimizer.algebra.functions import COMPARISONS
from optimizer.algebra.nulls import NULL_OF_VALUES, is_not_null
from optimizer.algebra.predicates import compare, junction
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS
from optimizer.algebra.scalars import BOOL, FALSE, TRUE, Call, Cast, InList, Literal, Scalar
from optimizer.prepass.openings import TEST
from optimizer.prepass.scalar_rewrite import plain, scalar_rewrite

# what a comparison of a boolean with a constant says: the boolean itself (True), its negation (False)
_OF_BOOLEAN = {
    ("=", True): True, ("=", False): False, ("<>", True): False, ("<>", False): True,
    (">", False): True, (">=", True): True, ("<", True): False, ("<=", False): False,
}  # fmt: skip


@scalar_rewrite(TEST)
def comparison_simplify(scalar: Scalar) -> Scalar | None:
    if isinstance(scalar, InList):
        return _in_list(scalar)
    if not isinstance(scalar, Call):
        return None
    if scalar.function in COMPARISONS:
        return _comparison(scalar)
    if scalar.function in ("is_distinct_from", "is_not_distinct_from"):
        return _distinct(scalar)
    if scalar.function in ("is_null", "is_not_null"):
        return _null_test(scalar)
    return None


def _comparison(call: Call) -> Scalar | None:
    a, b = call.args
    if isinstance(a, Literal) and not isinstance(b, Literal):
        return compare(call.function, a, b)
    if isinstance(b, Literal) and pa.types.is_boolean(a.type):
        itself = _OF_BOOLEAN.get((call.function, b.value))
        if itself is not None:
            return a if itself else Call("not", (a,), BOOL)
    return None


def _distinct(call: Call) -> Scalar | None:
    a, b = call.args
    if isinstance(a, Literal) and not isinstance(b, Literal):
        return Call(call.function, (b, a), BOOL)
    if isinstance(b, Literal) and b.value is None:
        return Call("is_not_null" if call.function == "is_distinct_from" else "is_null", (a,), BOOL)
    if a is b and plain(a):
        return FALSE if call.function == "is_distinct_from" else TRUE
    return None


def _null_test(call: Call) -> Scalar | None:
    """NULL-ness of an expression is that of the arguments that can be NULL."""
    arg = call.args[0]
    if not plain(arg):
        return None
    if is_not_null(arg, 0):
        return FALSE if call.function == "is_null" else TRUE
    if isinstance(arg, Cast):
        return None if arg.lenient else Call(call.function, (arg.arg,), BOOL)
    if not isinstance(arg, Call) or arg.function in NULL_OF_VALUES or not SCALAR_FUNCTIONS[arg.function].strict:
        return None
    tests = dict.fromkeys(Call(call.function, (part,), BOOL) for part in arg.args if not is_not_null(part, 0))
    return junction("or" if call.function == "is_null" else "and", tuple(tests)) if tests else None


def _in_list(scalar: InList) -> Scalar | None:
    seen: set[object] = set()
    kept = []
    for item in scalar.items:
        value = order_key(item.value) if isinstance(item, Literal) and item.value is not None else item
        if value not in seen or not plain(item):
            kept.append(item)
        seen.add(value)
    if len(kept) == 1:
        return compare("=", scalar.arg, kept[0])
    return InList(scalar.arg, tuple(kept)) if len(kept) < len(scalar.items) else None
