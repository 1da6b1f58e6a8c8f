"""LIKE of a constant pattern becomes an equality or a prefix test where that is all it asks.

    x LIKE 'abc' ≡ x = 'abc'        x LIKE 'abc%' ≡ starts_with(x, 'abc')        x LIKE 'a%%b' ≡ x LIKE 'a%b'
    x LIKE 'a!%%' ESCAPE '!' ≡ starts_with(x, 'a%')

NULLs   exact: both sides are NULL where x is, and only there. x LIKE '%' is a test for NULL in a filter only (predicate_weaken),
        and TRUE of an x that is never NULL (not_null_simplify)
Guards  the pattern is a constant; a pattern that ends with its escape character raises on some values, and stays, as does one
        whose escape character is % or _. ILIKE stays: it compares letters that LIKE tells apart
"""

from optimizer.algebra.like_patterns import Wildcard, like_parts
from optimizer.algebra.scalars import BOOL, Call, Literal, Scalar
from optimizer.prepass.openings import LIKE
from optimizer.prepass.scalar_rewrite import scalar_rewrite


@scalar_rewrite(LIKE)
def like_simplify(scalar: Scalar) -> Scalar | None:
    if not isinstance(scalar, Call) or scalar.function != "like":
        return None
    text, *rest = scalar.args
    if not all(isinstance(part, Literal) and isinstance(part.value, str) for part in rest) or text.type != rest[0].type:
        return None
    pattern, escape = rest[0], rest[1].value if len(rest) == 2 else ""  # type: ignore[attr-defined]
    assert isinstance(pattern, Literal)
    parts = like_parts(pattern.value, escape)
    if parts is None:
        return None
    fixed = [part for part in parts if isinstance(part, str)]
    if len(fixed) == len(parts):
        return Call("=", (text, Literal("".join(fixed), pattern.type)), BOOL)
    if parts[-1] is Wildcard.ANY and len(fixed) == len(parts) - 1 and fixed:
        return Call("starts_with", (text, Literal("".join(fixed), pattern.type)), BOOL)
    if any("%" in part or "_" in part for part in fixed):
        return None  # it cannot be written without an escape
    written = "".join(part if isinstance(part, str) else part.value for part in parts)
    return None if written == pattern.value and not escape else Call("like", (text, Literal(written, pattern.type)), BOOL)
