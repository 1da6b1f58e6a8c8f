"""= <> < <= > >=, IS [NOT] DISTINCT FROM, BETWEEN, IN, LIKE, IS NULL, IS TRUE.

A DATE compared with a TIMESTAMP constant at midnight is compared as dates, which says the same and lets file statistics
and histograms of the date column be used.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from optimizer.algebra.predicates import compare
from optimizer.algebra.scalars import BOOL, FALSE, TRUE, Call, Case, InList, Literal, Scalar
from optimizer.algebra.types import DATE, is_date, is_timestamp
from optimizer.sql.coerce import Operand, bare, comparable, negated, text_of, truth
from optimizer.sql.parse import LISTED
from optimizer.sql.rows import compare_rows, row_between, row_in_list, row_items
from optimizer.sql.subqueries import compared_with_any, quantified

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

COMPARISONS = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "is_not_distinct_from",
    exp.NullSafeNEQ: "is_distinct_from",
}  # fmt: skip
_ORDERED = {exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE}


def _comparison(binder: ExpressionBinder, node: Any) -> Scalar:
    if type(node) in _ORDERED and _ORDERED & {type(node.this), type(node.expression)}:
        raise binder.source.error("a comparison is compared without parentheses", node, "write a < b AND b < c, or (a < b) = c")
    function, left, right = COMPARISONS[type(node)], node.this, bare(node.expression)
    if isinstance(right, exp.Any | exp.All):
        return quantified(binder, function, left, right)
    if row_items(left) is not None or row_items(right) is not None:
        return compare_rows(binder, function, left, right)
    return comparison(binder, function, binder.operand(left), binder.operand(right))


def comparison(binder: ExpressionBinder, function: str, left: Operand, right: Operand) -> Scalar:
    """`left function right` with both sides of one type; raises SqlError when there is none."""
    left, right = _midnight_as_date(left, right), _midnight_as_date(right, left)
    return compare(function, *comparable(binder.source, function, left, right))


def _midnight_as_date(operand: Operand, other: Operand) -> Operand:
    """A timestamp constant at midnight as a date, when the other side is a date."""
    scalar = operand.scalar
    if is_date(other.type) and isinstance(scalar, Literal) and is_timestamp(scalar.type) and scalar.value is not None:
        if scalar.value.time() == datetime.time():
            return Operand(Literal(scalar.value.date(), DATE), operand.node)
    return operand


def _between(binder: ExpressionBinder, node: Any) -> Scalar:
    binder.source.only(node, "this", "low", "high")
    if (row := row_items(node.this)) is not None:
        return row_between(binder, row, node.args["low"], node.args["high"])
    value, low, high = binder.operands((node.this, node.args["low"], node.args["high"]))

    def made(values: Sequence[Operand]) -> Scalar:
        operands = [*values, low, high]
        if not is_date(values[0].type):
            met = binder.meet(operands, "cannot compare", comparing=True)[0]
            operands = [Operand(s, o.node) for s, o in zip(met, operands, strict=True)]
        value, first, last = operands
        return Call("and", (comparison(binder, ">=", value, first), comparison(binder, "<=", value, last)), BOOL)

    return binder.once([value], made)


def _in(binder: ExpressionBinder, node: Any) -> Scalar:
    query = node.args.get("query")
    if query is None and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
        query = node.expressions[0]
    listed, row = node.meta.get(LISTED, False), row_items(node.this)
    if listed and (query is not None or row is not None):
        raise binder.source.unsupported("a list of rows, or of a query,", node, "write IN (...)")
    if query is not None:
        binder.source.only(node, "this", "query", "expressions")
        return compared_with_any(binder, "=", node.this, query, node)
    if node.args.get("field") is not None:
        raise binder.source.unsupported("IN without parentheses", node.args["field"], "write IN (...)")
    binder.source.only(node, "this", "expressions")
    if not node.expressions and not listed:
        raise binder.source.error("the IN list is empty", node)
    if row is not None:
        return row_in_list(binder, row, node.expressions)
    value = binder.operand(node.this)
    operands = [value, *(_midnight_as_date(item, value) for item in binder.operands(node.expressions))]
    scalars, _ = binder.meet(operands, "cannot compare", comparing=True, strings_yield=True)
    items = tuple(dict.fromkeys(scalars[1:]))
    if listed and not (items and all(isinstance(item, Literal) and item.value is not None for item in items)):
        return binder.once([Operand(scalars[0], value.node)], lambda values: _in_list_value(values[0].scalar, items))
    return compare("=", scalars[0], items[0]) if len(items) == 1 else InList(scalars[0], items)


def _in_list_value(scalar: Scalar, items: tuple[Scalar, ...]) -> Scalar:
    """Whether a list holds a value: unknown of NULL alone; NULLs in the list are equal to nothing."""
    found = Call("coalesce", (InList(scalar, items), FALSE), BOOL) if items else FALSE
    return Case(((Call("is_null", (scalar,), BOOL), Literal(None, BOOL)),), found, BOOL)


def _like(binder: ExpressionBinder, node: Any) -> Scalar:
    """[NOT] LIKE or ILIKE, with ESCAPE when the node is an Escape around one."""
    escape: tuple[Scalar, ...] = ()
    if isinstance(node, exp.Escape):
        operand = binder.operand(node.expression)
        scalar = text_of(binder.source, operand, "ESCAPE")
        if not isinstance(scalar, Literal):
            raise binder.source.unsupported("an ESCAPE that is not a constant", operand.node, "write ESCAPE '!'")
        if scalar.value is not None and len(scalar.value) > 1:
            raise binder.source.error("ESCAPE takes one character", operand.node)
        if scalar.value != "":  # no escape character at all
            escape = (scalar,)
        node = node.this
        if not isinstance(node, exp.Like | exp.ILike):
            raise binder.source.error("ESCAPE belongs to LIKE", node)
    word = "like" if isinstance(node, exp.Like) else "ilike"
    args = [text_of(binder.source, binder.operand(part), word.upper()) for part in (node.this, node.expression)]
    call = Call(word, (*args, *escape), BOOL)
    return negated(call) if node.args.get("negate") else call


def _is(binder: ExpressionBinder, node: Any) -> Scalar:
    binder.source.only(node, "this", "expression")
    operand = binder.operand(node.this)
    match node.expression:
        case exp.Null():
            if isinstance(operand.scalar, Literal):
                return TRUE if operand.scalar.value is None else FALSE
            return Call("is_null", (operand.scalar,), BOOL)
        case exp.Boolean(this=value):
            return compare("is_not_distinct_from", truth(binder.source, operand), TRUE if value else FALSE)
    raise binder.unknown_form(node)


HANDLERS = {
    **dict.fromkeys(COMPARISONS, _comparison), exp.Between: _between, exp.In: _in, exp.Like: _like, exp.ILike: _like,
    exp.Escape: _like, exp.Is: _is,
}  # fmt: skip
