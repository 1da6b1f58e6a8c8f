"""Row values: `(a, b) = (c, d)`, `(a, b) IN ((c, d), ...)`, `(a, b) < (c, d)`; `rows_compared` says what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from optimizer.algebra.predicates import rows_compared
from optimizer.algebra.scalars import BOOL, Call, Scalar
from optimizer.sql.coerce import Operand, bare, comparable

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
            if isinstance(bare(node), exp.Subquery):
                hint = "write (a, b) IN (SELECT c, d ...), or EXISTS (SELECT ... WHERE c = a AND d = b)"
                raise binder.source.unsupported("comparing a row value with a subquery of several columns", node, hint)
            raise binder.source.error("a row value is compared with something that is none", node, "write (a, b) = (c, d)")
    operands = [binder.operands(items or []) for items in sides]
    return compare_operands(binder, function, operands[0], operands[1], right)


def row_in_list(binder: ExpressionBinder, items: Sequence[Any], alternatives: Sequence[Any]) -> Scalar:
    """`(a, b) IN ((c, d), ...)`: each column has one type in all rows."""
    operands = binder.operands(items)  # first: of two faults the first is told
    rows = [_row(binder, node, "write (a, b) IN ((c, d))") for node in alternatives]

    def made(left: Sequence[Operand]) -> Scalar:
        for row, node in zip(rows, alternatives, strict=True):
            _check_lengths(binder, left, row, node)
        columns = [
            binder.meet(each, "cannot compare", comparing=True, strings_yield=True)[0] for each in zip(left, *rows, strict=True)
        ]
        first, *others = zip(*columns, strict=True)
        equal = [rows_compared("=", first, other) for other in others]
        return equal[0] if len(equal) == 1 else Call("or", tuple(equal), BOOL)

    return binder.once(operands, made)


def row_between(binder: ExpressionBinder, items: Sequence[Any], low: Any, high: Any) -> Scalar:
    """`(a, b) BETWEEN (c, d) AND (e, f)`."""
    hint = "write (a, b) BETWEEN (c, d) AND (e, f)"
    operands = binder.operands(items)
    ends = [(function, _row(binder, node, hint), node) for function, node in ((">=", low), ("<=", high))]

    def made(left: Sequence[Operand]) -> Scalar:
        return Call("and", tuple(compare_operands(binder, function, left, row, node) for function, row, node in ends), BOOL)

    return binder.once(operands, made)


def row_equal(binder: ExpressionBinder, left: Sequence[Operand], node: Any, hint: str) -> Scalar:
    """Whether a row equals an AST node that is a row value too."""
    return compare_operands(binder, "=", left, _row(binder, node, hint), node)


def _row(binder: ExpressionBinder, node: Any, hint: str) -> list[Operand]:
    items = row_items(node)
    if items is None:
        raise binder.source.error("a row value is compared with something that is none", node, hint)
    return binder.operands(items)


def _check_lengths(binder: ExpressionBinder, left: Sequence[Operand], right: Sequence[Operand], node: Any) -> None:
    if len(left) != len(right) or not left:
        raise binder.source.error(f"a row of {len(left)} is compared with a row of {len(right)}", node)


def compare_operands(
    binder: ExpressionBinder, function: str, left: Sequence[Operand], right: Sequence[Operand], node: Any
) -> Scalar:
    """The comparison of two rows, three-valued.

    Raises SqlError under `node` when the rows have not the same length, or no columns.
    """
    _check_lengths(binder, left, right, node)

    def made(operands: Sequence[Operand]) -> Scalar:
        sides = zip(operands[: len(left)], operands[len(left) :], strict=True)
        return rows_compared(function, *zip(*(comparable(binder.source, function, a, b) for a, b in sides), strict=True))

    operands = [*left, *right]
    return binder.once(operands, made) if function in ROW_ORDERINGS else made(operands)
