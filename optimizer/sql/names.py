"""Names of result columns that have no alias: the expression as DuckDB would word it, roughly.

`count_star()`, `sum(x)`, `(a + 1)`, `CAST(a AS BIGINT)`. Also the short names computed columns carry inside trees.
"""

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from optimizer.algebra.scalars import AggregateCall, Call, Case, Cast, InList, Literal, Scalar
from optimizer.sql.arithmetic import SYMBOLS
from optimizer.sql.coerce import bare
from optimizer.sql.comparisons import COMPARISONS
from optimizer.sql.parse import DIALECT, Plus, without_parents
from optimizer.sql.source import form_name
from optimizer.sql.stars import is_star

_INFIX = {
    **SYMBOLS, **COMPARISONS, exp.DPipe: "||", exp.NEQ: "!=", exp.And: "AND", exp.Or: "OR",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
_CALLS = {
    **{kind: kind.sql_name().lower() for kind in (exp.Round, exp.Floor, exp.Ceil, exp.Greatest, exp.Least)},
    exp.Pow: "pow",
    exp.Grouping: "GROUPING",
    exp.GroupingId: "GROUPING",
}  # fmt: skip


def output_name(node: Any, spelling: Callable[[str | None, str], str]) -> str:
    """The name of a SELECT item without alias; `spelling` knows how a column's own is written."""
    inner = bare(node)
    if isinstance(inner, exp.Column):
        return spelling(inner.table or None, inner.name)
    return "unnest" if isinstance(inner, exp.Explode) else _text(node)  # with its parentheses, which say what is a parameter


def _text(node: Any) -> str:
    while isinstance(node, exp.Paren):
        node = node.this
        if isinstance(node, exp.Cast) and node.this.is_int:  # as `parameters.literal` writes one
            node = node.this
    kind = type(node)
    match node:
        case exp.Column():
            return ".".join(part.name for part in node.parts)
        case exp.Literal():
            return "'" + node.this.replace("'", "''") + "'" if node.is_string else str(node.this)
        case exp.Null():
            return "NULL"
        case exp.Boolean():
            return f"CAST('{'t' if node.this else 'f'}' AS BOOLEAN)"
        case exp.Neg() if isinstance(bare(node.this), exp.Literal):
            return f"-{_text(node.this)}"
        case exp.Neg() | Plus():
            return f"{'-' if isinstance(node, exp.Neg) else '+'}({_text(node.this)})"
        case exp.Not() if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
            return f"({_text(node.this.this)} IS NOT NULL)"
        case exp.Not():
            return f"(NOT {_text(node.this)})"
        case exp.Is() if isinstance(node.expression, exp.Null):
            return f"({_text(node.this)} IS NULL)"
        case exp.Between():
            return f"({_text(node.this)} BETWEEN {_text(node.args['low'])} AND {_text(node.args['high'])})"
        case exp.In() if node.args.get("query") is not None:
            return f"({_text(node.this)} = ANY{_text(node.args['query'])})"
        case exp.In():
            return f"({_text(node.this)} IN ({', '.join(_text(e) for e in node.expressions)}))"
        case exp.TryCast() | exp.Cast():
            word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
            return f"{word}({_text(node.this)} AS {_type(node.args['to'])})"
        case exp.Case():
            subject = f" {_text(node.this)} " if node.this is not None else "  "
            whens = " ".join(f"WHEN ({_text(i.this)}) THEN ({_text(i.args['true'])})" for i in node.args["ifs"])
            default = node.args.get("default")
            return f"CASE{subject}{whens} ELSE {_text(default) if default is not None else 'NULL'} END"
        case exp.Coalesce():
            return f"COALESCE({', '.join(_text(e) for e in (node.this, *node.expressions))})"
        case exp.Nullif():
            return f'"nullif"({_text(node.this)}, {_text(node.expression)})'
        case exp.Filter():
            return f"{_text(node.this)} FILTER (WHERE {_text(node.expression.this)})"
        case exp.Window():
            return f"{_text(node.this)} OVER {_over(node)}"
        case exp.IgnoreNulls() | exp.RespectNulls():
            return f"{_text(node.this)} {form_name(node)}"
        case exp.Anonymous():
            return _call(node)
    if kind in _INFIX:
        return f"({_text(node.this)} {_INFIX[kind]} {_text(node.expression)})"
    if kind in _CALLS:
        parts = (node.this, *(node.args.get(k) for k in ("decimals", "expression")), *node.expressions)
        return f"{_CALLS[kind]}({', '.join(_text(a) for a in parts if a is not None)})"
    return _written(node, unsupported_level=ErrorLevel.IGNORE)  # it would write warnings to the terminal


def _call(node: Any) -> str:
    """A function that the parser knows by name only."""
    name, args, word, order = node.name.lower(), list(node.expressions), "", ""
    if name == "count" and (not args or is_star(args[0])):
        return "count_star()"
    if args and isinstance(args[-1], exp.Order):
        order, args[-1] = f" {_order_by(args[-1])}", args[-1].this
    if len(args) == 1 and isinstance(args[0], exp.Distinct):
        args, word = args[0].expressions, "DISTINCT "
    return f"{name}({word}{', '.join(_text(a) for a in args)}{order})"


def _order_by(order: Any) -> str:
    terms = (_text(term.this) + _written(term).removeprefix(_written(term.this)) for term in order.expressions)
    return f"ORDER BY {', '.join(terms)}"


def _over(window: Any) -> str:
    """The window's name, or what stands in its parentheses."""
    name, partition, order, frame = (window.args.get(part) for part in ("alias", "partition_by", "order", "spec"))
    parts = [name.name] if name is not None else []
    if name is not None and not (partition or order or frame):
        return str(name.name)
    parts += [f"PARTITION BY {', '.join(map(_text, partition))}"] if partition else []
    parts += [_order_by(order)] if order is not None else []
    parts += [_written(frame)] if frame is not None else []
    return f"({' '.join(parts)})"


def _written(node: Any, **options: Any) -> str:
    copy = node.copy()  # the generator rewrites some nodes
    for nulls in list(copy.find_all(exp.IgnoreNulls, exp.RespectNulls)):  # and leaves these out
        nulls.replace(exp.Var(this=f"{nulls.this.sql(DIALECT)} {form_name(nulls)}"))
    text = str(copy.sql(dialect=DIALECT, copy=False, **options))
    without_parents(copy)
    return text


def _type(node: Any) -> str:
    text = _written(node)
    return {"INT": "INTEGER", "TEXT": "VARCHAR", "DATE": '"DATE"', "DOUBLE": '"DOUBLE"'}.get(text, text)


def short_name(scalar: Scalar) -> str:
    """One word for a computed column without alias."""
    match scalar:
        case AggregateCall() | Call() if scalar.function[0].isalpha():
            return str(scalar.function)
        case Case():
            return "case"
        case Cast():
            return "cast"
        case InList():
            return "in"
        case Literal():
            return "literal"
    return "expr"
