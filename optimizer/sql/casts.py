"""CAST, TRY_CAST, `::` and typed literals such as DATE '1994-01-01' (which the parser gives as a cast of a string)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.columns import DataType
from optimizer.algebra.scalars import Cast, Literal, Scalar
from optimizer.algebra.types import INTERVAL, STRING, TIMESTAMP, type_name
from optimizer.sql.cast_hints import SECONDS, castable
from optimizer.sql.coerce import convert
from optimizer.sql.instead import DAYS
from optimizer.sql.schema import COMMON_TYPES

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

_KNOWN = (
    "the types are BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT, FLOAT, DOUBLE, DECIMAL(p,s), VARCHAR, DATE, TIMESTAMP"
)
_TYPES = {**COMMON_TYPES, "INTERVAL": INTERVAL}


def sql_type(binder: ExpressionBinder, node: Any) -> DataType:
    """The Arrow type a type name means; DECIMAL alone is DECIMAL(18,3), lengths of strings mean nothing (as in DuckDB)."""
    source = binder.source
    kind = node.this
    if kind is exp.DType.DECIMAL:
        source.only(node, "this", "expressions", ignored=("nested",))
        sizes = []
        for parameter in node.expressions:
            text = parameter.this.name if isinstance(parameter, exp.DataTypeParam) and parameter.expression is None else ""
            if not text.isdigit() or len(text) > 3:
                raise source.error("the size of a DECIMAL must be a whole number", parameter, "write DECIMAL(15,2)")
            sizes.append(int(text))
        if len(sizes) > 2:
            raise source.error("a DECIMAL has a precision and a scale", node.expressions[2], "write DECIMAL(15,2)")
        precision, scale = (*sizes, 0) if len(sizes) == 1 else sizes or (18, 3)
        if not 1 <= precision <= 38 or scale > precision:
            raise source.error(
                f"DECIMAL({precision},{scale}) is out of range", node, "the precision is 1 to 38, the scale at most that"
            )
        return pa.decimal128(precision, scale)
    type = _TYPES.get(kind.name) if isinstance(kind, exp.DType) else None
    given = [size.name for size in node.expressions]
    if type is None or (given and type != STRING and (type, given) != (TIMESTAMP, ["6"])):  # INT(11)
        raise source.unsupported(f"the type {node.sql(dialect='duckdb')}", node, _KNOWN)
    source.only(node, "this", "expressions", ignored=("nested",))
    return type


def _cast(binder: ExpressionBinder, node: Any) -> Scalar:
    lenient = isinstance(node, exp.TryCast)
    binder.source.only(node, "this", "to", ignored=("safe",))
    type = sql_type(binder, node.args["to"])
    operand = binder.operand(node.this)
    if not castable(operand.type, type) or (type == INTERVAL and not isinstance(operand.scalar, Literal)):
        hint = DAYS if type == INTERVAL else SECONDS if operand.type == INTERVAL else None
        raise binder.source.error(f"cannot cast {type_name(operand.type)} to {type_name(type)}", node, hint)
    if operand.scalar.type == type and isinstance(operand.scalar, Cast):
        return operand.scalar
    return convert(binder.source, operand, type, lenient)


HANDLERS = {exp.Cast: _cast, exp.TryCast: _cast}
