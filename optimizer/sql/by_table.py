"""Calls of functions by what the table of scalar functions says of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.functions import PARAMETERS, Function, WindowFunction
from optimizer.algebra.scalars import Call, Literal, Scalar
from optimizer.algebra.types import DATE, STRING, TIMESTAMP
from optimizer.errors import ExecutionError, many
from optimizer.sql import dates
from optimizer.sql.arithmetic import double_argument, integer_argument, integer_operand, numeric_argument
from optimizer.sql.coerce import as_text, convert, text_of
from optimizer.sql.literals import unit_name

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder
    from optimizer.sql.source import Source

_WRITTEN = {"bit_and_of": "&", "bit_or_of": "|", "bit_not": "~", "shift_left": "<<", "shift_right": ">>"}
_EMPTY, _DAY = Literal("", STRING), Literal(date(2000, 1, 1), DATE)
_REGEX = ("regexp_matches", "regexp_full_match", "regexp_replace", "regexp_extract")
_TRIED_ON = {
    **dict.fromkeys(_REGEX, _EMPTY),
    "strftime": _DAY,
    "strptime": _EMPTY,
    "try_strptime": _EMPTY,
}  # whether their constants are right is known before any row


def text_argument(binder: ExpressionBinder, node: Any, what: str) -> Scalar:
    """An argument that must be a string; NULL counts as one."""
    return text_of(binder.source, binder.operand(node), what)


def by_table(binder: ExpressionBinder, known: Function, nodes: Sequence[Any], node: Any) -> Scalar:
    """A call of a function by what the table says of its arguments."""
    assert known.parameters is not None and known.gives is not None
    kinds = [p.removesuffix("?") for p in known.parameters]
    if "texts" in kinds:
        kinds += ["texts"] * (len(nodes) - len(kinds))
    check_number(binder.source, known, len(nodes), len(kinds), node)
    if "integers" in kinds:
        name = _WRITTEN.get(known.name, known.name)
        args, _ = binder.meet([integer_operand(binder, each, f"{name} needs integers") for each in nodes], f"{name} cannot mix")
    else:
        args = [_table_argument(binder, known.name, kind, each) for kind, each in zip(kinds, nodes, strict=False)]
    if known.name in _TRIED_ON and all(isinstance(arg, Literal) for arg in args[1:]):
        try:
            name = "try_strptime" if known.name == "strptime" else known.name  # no text is the right one
            evaluate(Call(name, (_TRIED_ON[known.name], *args[1:]), STRING), {})
        except ExecutionError as error:
            raise binder.source.error(str(error), nodes[1]) from None
    type = known.result(args[0].type) if args else known.result(STRING)
    assert type is not None
    return Call(known.name, tuple(args), type)


def check_number(source: Source, known: Function | WindowFunction, number: int, most: int, node: Any) -> None:
    """Raise SqlError where a call has too few or too many arguments."""
    assert known.parameters is not None
    least = sum(not p.endswith("?") for p in known.parameters)
    if not least <= number <= most:
        wanted = many(least, "argument") if least == most else f"{least} to {most} arguments"
        raise source.error(f"{known.name.removesuffix('_of')} takes {wanted}, not {number}", node)


def arguments(binder: ExpressionBinder, node: Any, name: str, count: int) -> list[Any]:
    found = node.expressions
    if len(found) != count:
        raise binder.source.error(f"{name} takes {many(count, 'argument')}, not {len(found)}", node)
    return list(found)


def _table_argument(binder: ExpressionBinder, name: str, kind: str, node: Any) -> Scalar:
    match kind:
        case "text" | "regex":
            return text_argument(binder, node, name)
        case "texts":
            return as_text(binder.source, binder.operand(node))
        case "options" | "unit" | "format":
            scalar = text_argument(binder, node, name)
            unit = unit_name(scalar.value) if kind == "unit" and isinstance(scalar, Literal) and scalar.value else None
            if not isinstance(scalar, Literal) or scalar.value is None or (kind == "unit" and unit is None):
                hint = f"write {PARAMETERS[kind]}"
                raise binder.source.unsupported(f"{name} with other {kind}s than constant ones that it knows", node, hint)
            return scalar if unit is None else Literal(unit, STRING)
        case "integer":
            return integer_argument(binder, node, name)
        case "double":
            return double_argument(binder, node, name)
        case "number":
            return numeric_argument(binder, node, name).scalar
        case "moment":
            return dates.moment_argument(binder, node, name).scalar
    assert kind == "timestamp", f"{kind} is no kind of parameter"
    operand = binder.operand(node)
    operand = operand if operand.string_literal else dates.moment_argument(binder, operand, name)
    return convert(binder.source, operand, TIMESTAMP)
