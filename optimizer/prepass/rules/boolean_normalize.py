"""AND, OR and NOT in a normal form: flat, NOT at the leaves, nothing twice, comparisons of the same operands put together.

    ¬¬x ≡ x        ¬(x < y) ≡ x >= y        ¬(x ∧ y) ≡ ¬x ∨ ¬y        (x ∧ y) ∧ z ≡ x ∧ y ∧ z        x ∧ x ≡ x
    x ∧ (x ∨ y) ≡ x        x > 3 ∧ x > 5 ≡ x > 5        x = 1 ∨ x = 2 ≡ x IN (1, 2)        x < y ∨ x = y ≡ x <= y
    x IS NULL ∧ x IS NOT NULL ≡ FALSE

And the same with AND and OR exchanged.

NULLs   exact: these are laws of three-valued logic (a lattice with an involution), and comparisons of the same operands are NULL
        together. x ∧ ¬x is UNKNOWN for a NULL x, so it is FALSE only of an x that never is, as a test for NULL
Guards  an operand goes only if it is plain, and by absorption only if all are; two volatile operands that read the same are two.
        The others keep their order, so that what may raise is sheltered by what was written before it; so a NOT of an OR of
        several such operands stays: conjuncts of a predicate have no order
Source  Kleene's strong three-valued logic; comparison_sets.py
"""

from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.predicates import junction
from optimizer.algebra.scalars import BOOL, FALSE, TRUE, Call, Scalar
from optimizer.prepass.comparison_sets import opposite, put_together
from optimizer.prepass.openings import JUNCTION
from optimizer.prepass.scalar_rewrite import plain, scalar_rewrite

_DUAL = {"and": "or", "or": "and"}


@scalar_rewrite(JUNCTION)
def boolean_normalize(scalar: Scalar) -> Scalar | None:
    if not isinstance(scalar, Call):
        return None
    if scalar.function == "not":
        return _negation(scalar.args[0])
    if scalar.function in _DUAL:
        args = _junction(scalar.function, scalar.args)
        if args != scalar.args:
            return junction(scalar.function, args)
    return None


def _negation(inner: Scalar) -> Scalar | None:
    if isinstance(inner, Call) and inner.function in _DUAL:
        if inner.function == "or" and sum(arg.raises for arg in inner.args) > 1:
            return None
        return Call(_DUAL[inner.function], tuple(Call("not", (arg,), BOOL) for arg in inner.args), BOOL)
    return opposite(inner)


def _junction(function: str, args: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """The operands in normal form; `args` themselves when they are."""
    flat = _flat(function, args)
    once = tuple(dict.fromkeys(flat)) if not any(arg.volatile for arg in flat) else flat
    if len(once) == 1:
        return once
    if all(map(plain, once)):
        if any(opposite(arg) in once and is_not_null(arg, 0) for arg in once):  # beside its negation
            return (FALSE if function == "and" else TRUE,)
        once = _absorbed(function, once)
    sets = put_together(function, once)
    return once if sets is None else sets.operands


def _flat(function: str, args: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    if not any(isinstance(arg, Call) and arg.function == function for arg in args):
        return args
    return tuple(part for arg in args for part in (arg.args if isinstance(arg, Call) and arg.function == function else (arg,)))


def _absorbed(function: str, args: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """Without operands that another one decides: x ∨ y beside x, and x ∨ y ∨ z beside x ∨ y."""
    dual = _DUAL[function]
    if not any(isinstance(arg, Call) and arg.function == dual for arg in args):
        return args
    parts = [frozenset(arg.args) if isinstance(arg, Call) and arg.function == dual else frozenset((arg,)) for arg in args]
    if len(args) > 64:  # quadratic: of many operands only those that stand alone absorb
        alone = {arg for arg, part in zip(args, parts, strict=True) if len(part) == 1}
        return tuple(arg for arg, part in zip(args, parts, strict=True) if len(part) == 1 or not part & alone)
    return tuple(arg for arg, part in zip(args, parts, strict=True) if not any(other < part for other in parts))
