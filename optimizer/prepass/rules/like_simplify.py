"""LIKE of a constant pattern becomes an equality or a prefix test where that is all it asks.

    x LIKE 'abc' ≡ x = 'abc'        x LIKE 'abc%' ≡ starts_with(x, 'abc')        x LIKE 'a%%b' ≡ x LIKE 'a%b'
    x LIKE 'a!%%' ESCAPE '!' ≡ starts_with(x, 'a%')

NULLs   exact: both sides are NULL where x is, and only there. x LIKE '%' is a test for NULL in a filter only (predicate_weaken),
        and TRUE of an x that is never NULL (not_null_simplify)
Guards  the pattern is a constant; a pattern that ends with its escape character raises on some values, and stays, as does one
        whose escape character is % or _. ILIKE stays: it compares letters that LIKE tells apart
"""

from __future__ import annotations

from optimizer.algebra.scalars import BOOL, Call, Literal, Scalar
from optimizer.prepass.openings import LIKE
from optimizer.prepass.scalar_rewrite import ScalarRewrite, everywhere

ANY_RUN, ANY_ONE = object(), object()


def _one(scalar: Scalar) -> Scalar | None:
    if not isinstance(scalar, Call) or scalar.function != "like":
        return None
    text, *rest = scalar.args
    if not all(isinstance(part, Literal) and isinstance(part.value, str) for part in rest) or text.type != rest[0].type:
        return None
    pattern, escape = rest[0], rest[1].value if len(rest) == 2 else ""  # type: ignore[attr-defined]
    assert isinstance(pattern, Literal)
    parts = parsed(pattern.value, escape)
    if parts is None:
        return None
    fixed = [part for part in parts if isinstance(part, str)]
    if len(fixed) == len(parts):
        return Call("=", (text, Literal("".join(fixed), pattern.type)), BOOL)
    if parts[-1] is ANY_RUN and len(fixed) == len(parts) - 1 and fixed:
        return Call("starts_with", (text, Literal("".join(fixed), pattern.type)), BOOL)
    if any(part in ("%", "_") for part in fixed):
        return None  # it cannot be written without an escape
    written = "".join(part if isinstance(part, str) else "%" if part is ANY_RUN else "_" for part in parts)
    return None if written == pattern.value and not escape else Call("like", (text, Literal(written, pattern.type)), BOOL)


def parsed(pattern: str, escape: str) -> list[object] | None:
    """The pattern as characters, ANY_ONE and ANY_RUN, never two of the latter in a row; None: one that has to stay."""
    if len(escape) > 1 or escape in ("%", "_"):
        return None
    parts: list[object] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            taken = next(characters, None)
            if taken is None:
                return None
            parts.append(taken)
        elif character == "%":
            if not parts or parts[-1] is not ANY_RUN:
                parts.append(ANY_RUN)
        else:
            parts.append(ANY_ONE if character == "_" else character)
    return parts


class LikeSimplify(ScalarRewrite):
    name = "like_simplify"
    simplify = everywhere(_one)
    openings = LIKE
