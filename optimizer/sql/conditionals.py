"""CASE, IF, COALESCE, NULLIF, GREATEST, LEAST: all possible results have one type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from optimizer.algebra.scalars import Call, Case, Literal, Scalar
from optimizer.algebra.types import NULL
from optimizer.sql.coerce import Operand, settle_nulls
from optimizer.sql.comparisons import comparison
from optimizer.sql.rows import row_equal, row_items

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder


def _case(binder: ExpressionBinder, node: Any) -> Scalar:
    """Both forms; the one with an operand compares it with each WHEN by `=`."""
    row = row_items(node.this)
    subjects = binder.operands([node.this] if row is None else row) if node.this is not None else []

    def choice(subjects: Sequence[Operand]) -> Scalar:
        conditions, results = [], []
        for branch in node.args["ifs"]:
            binder.source.only(branch, "this", "true")
            if node.this is None:
                conditions.append(binder.truth(branch.this))
            elif row is None:
                conditions.append(comparison(binder, "=", subjects[0], binder.operand(branch.this)))
            else:
                conditions.append(row_equal(binder, subjects, branch.this, "write CASE (a, b) WHEN (c, d) THEN ..."))
            results.append(binder.operand(branch.args["true"]))
        return _choice(binder, conditions, results, node.args.get("default"), node)

    return binder.once(subjects, choice)


def _if(binder: ExpressionBinder, node: Any) -> Scalar:
    if node.args.get("false") is None:
        raise binder.source.error("if takes 3 arguments, not 2", node, "write if(x, a, NULL)")
    return _choice(binder, [binder.truth(node.this)], [binder.operand(node.args["true"])], node.args.get("false"), node)


def _choice(binder: ExpressionBinder, conditions: list[Scalar], results: list[Operand], otherwise: Any, node: Any) -> Scalar:
    results.append(binder.operand(otherwise) if otherwise is not None else Operand(Literal(None, NULL), node))
    scalars, type = binder.meet(results, "CASE cannot mix")
    return Case(tuple(zip(conditions, scalars[:-1], strict=True)), scalars[-1], type)


def _one_of(binder: ExpressionBinder, node: Any) -> Scalar:
    """COALESCE, GREATEST, LEAST."""
    word = type(node).__name__.lower()
    scalars, met = binder.meet(binder.operands((node.this, *node.expressions)), f"{word.upper()} cannot mix")
    return scalars[0] if len(scalars) == 1 else Call(word, tuple(scalars), met)


def _nullif(binder: ExpressionBinder, node: Any) -> Scalar:
    """NULL where both are equal, else the first: its type is the first one's."""
    first, second = binder.operand(node.this), binder.operand(node.expression)

    def made(operands: Sequence[Operand]) -> Scalar:
        equal = comparison(binder, "=", operands[0], second)
        (value,) = settle_nulls([operands[0].scalar])
        return Case(((equal, Literal(None, value.type)),), value, value.type)

    return binder.once([first], made)


HANDLERS = {exp.Case: _case, exp.If: _if, **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), _one_of), exp.Nullif: _nullif}
