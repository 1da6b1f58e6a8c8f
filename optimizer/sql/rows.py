"""Row values: `(a, b) = (c, d)`, `(a, b) IN ((c, d), ...)`, `(a, b) < (c, d)`.

As in DuckDB, where a row is a value: NULL is equal to NULL and greater than anything else, so that comparing two rows is never
UNKNOWN. (Compared with a subquery by IN, = ANY or <> ANY, a row is UNKNOWN as SQL has it: see `subqueries`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from optimizer.algebra.scalars import BOOL, FALSE, Call, Scalar, compare
from optimizer.sql.coerce import Operand, bare, comparable, negated

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

ROW_ORDERINGS = ("<", "<=", ">", ">=")


def row_items(node: Any) -> list[Any] | None:
    """The items of a row value, (a, b) or row(a, b); None for anything else."""
    node = bare(node)
    if isinstance(node, exp.Tuple) or (isinstance(node, exp.Anonymous) and node.name.lower() == "row"):
        return list(node.expressions)
    return None


def compare_rows(binder: ExpressionBinder, function: str, left: Any, right: Any) -> Scalar:
    """The comparison of two AST nodes of which at least one is a row value."""
    sides = [row_items(left), row_items(right)]
    for node, items in zip((left, right), sides, strict=True):
        if items is None:
            raise binder.source.error("a row value is compared with something that is none", node, "write (a, b) = (c, d)")
    operands = [binder.operands(items or []) for items in sides]
    return rows_compared(binder, function, operands[0], operands[1], right)


def row_in_list(binder: ExpressionBinder, items: Sequence[Any], alternatives: Sequence[Any]) -> Scalar:
    """`(a, b) IN ((c, d), ...)`."""
    left = binder.operands(items)
    if len(alternatives) > 1:
        for operand in left:
            binder.used_twice(operand, "IN")
    equal = []
    for node in alternatives:
        right = row_items(node)
        if right is None:
            raise binder.source.error("a row value is compared with something that is none", node, "write (a, b) IN ((c, d))")
        equal.append(rows_compared(binder, "=", left, binder.operands(right), node))
    return equal[0] if len(equal) == 1 else Call("or", tuple(equal), BOOL)


def rows_compared(
    binder: ExpressionBinder, function: str, left: Sequence[Operand], right: Sequence[Operand], node: Any
) -> Scalar:
    """The comparison of two rows, TRUE or FALSE. An ordering is decided by the first column in which they differ.

    Raises SqlError under `node` when the rows have not the same length, or no columns.
    """
    if len(left) != len(right) or not left:
        raise binder.source.error(f"a row of {len(left)} is compared with a row of {len(right)}", node)
    pairs = [comparable(binder.source, function, a, b) for a, b in zip(left, right, strict=True)]
    match function:
        case "=" | "is_not_distinct_from":
            return _all([compare("is_not_distinct_from", a, b) for a, b in pairs])
        case "<>" | "is_distinct_from":
            return _any([compare("is_distinct_from", a, b) for a, b in pairs])
    for operand in (*left, *right):
        binder.used_twice(operand, "a row comparison")
    if function in (">", "<="):
        pairs = [(b, a) for a, b in pairs]
    decided = []
    for i, (a, b) in enumerate(pairs):
        before = [compare("is_not_distinct_from", c, d) for c, d in pairs[:i]]
        decided.append(_all([*before, _less(a, b)]))
    less = _any(decided)
    return less if function in ("<", ">") else negated(less)


def _less(left: Scalar, right: Scalar) -> Scalar:
    """left < right with NULL as the greatest value; TRUE or FALSE."""
    known = Call("coalesce", (compare("<", left, right), FALSE), BOOL)
    null_last = Call("and", (Call("is_not_null", (left,), BOOL), Call("is_null", (right,), BOOL)), BOOL)
    return Call("or", (known, null_last), BOOL)


def _all(parts: list[Scalar]) -> Scalar:
    return parts[0] if len(parts) == 1 else Call("and", tuple(parts), BOOL)


def _any(parts: list[Scalar]) -> Scalar:
    return parts[0] if len(parts) == 1 else Call("or", tuple(parts), BOOL)
