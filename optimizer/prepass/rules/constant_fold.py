"""Expressions without columns become literals; operands that decide nothing go.

    1 + 10  ≡  11        x ∧ TRUE  ≡  x        x ∧ FALSE  ≡  FALSE        x ∨ TRUE  ≡  TRUE        x + NULL  ≡  NULL

NULLs   safe: computed by the reference semantics, three-valued; FALSE absorbs even UNKNOWN in AND, TRUE in OR. A strict
        function of a NULL constant is NULL whatever its other arguments are
Guards  volatile calls stay. An expression that raises stays as it is, so that the error comes up only if a row reaches it;
        an operand is dropped by absorption only if it cannot raise. An outer reference is no constant
"""

from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.predicates import junction
from optimizer.algebra.scalar_functions import SCALAR_FUNCTIONS
from optimizer.algebra.scalars import FALSE, TRUE, Call, Case, Cast, InList, Literal, Scalar, is_null_literal
from optimizer.errors import PlanscopeError
from optimizer.prepass.openings import CONSTANT
from optimizer.prepass.scalar_rewrite import plain, scalar_rewrite


@scalar_rewrite(CONSTANT)
def constant_fold(scalar: Scalar) -> Scalar | None:
    if not isinstance(scalar, Call | Cast | Case | InList):
        return None
    if not scalar.volatile and all(isinstance(child, Literal) for child in scalar.children):
        try:
            return Literal(evaluate(scalar, {}), scalar.type)
        except PlanscopeError:
            return None
    if isinstance(scalar, Call):
        if scalar.function in ("and", "or"):
            return _fold_junction(scalar)
        if SCALAR_FUNCTIONS[scalar.function].strict and any(map(is_null_literal, scalar.args)) and all(map(plain, scalar.args)):
            return Literal(None, scalar.type)
    if isinstance(scalar, InList) and is_null_literal(scalar.arg) and all(map(plain, scalar.items)):
        return Literal(None, scalar.type)
    return None


def _fold_junction(scalar: Call) -> Scalar | None:
    absorbing, neutral = (FALSE, TRUE) if scalar.function == "and" else (TRUE, FALSE)
    if absorbing in scalar.args and all(map(plain, scalar.args)):
        return absorbing
    kept = tuple(arg for arg in scalar.args if arg is not neutral)
    if len(kept) == len(scalar.args):
        return None
    if not kept:
        return neutral
    return junction(scalar.function, kept)
