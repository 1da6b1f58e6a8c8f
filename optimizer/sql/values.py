"""VALUES (...), (...): constant rows; also the one empty row of a SELECT without FROM."""

import operator
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.columns import ColumnId, DataType
from optimizer.algebra.evaluate_dates import as_timestamp, date_add
from optimizer.algebra.logical import Values
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.scalars import Literal, Scalar
from optimizer.algebra.series import Series
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT32, INT64, INTERVAL, TIMESTAMP, is_integer, type_name
from optimizer.errors import ExecutionError
from optimizer.sql.coerce import Operand, constant_value, meet
from optimizer.sql.context import Bound, Context, Ctes
from optimizer.sql.dates import is_temporal
from optimizer.sql.expressions import ExpressionBinder
from optimizer.sql.instead import DATES
from optimizer.sql.scope import Scope
from optimizer.sql.source import Source


def bind_values(context: Context, node: Any, ctes: Ctes | None, joined: bool = False) -> Bound:
    """Columns col0, col1, ...; each column's values meet in one type. `joined`: its joins are seen to by the caller."""
    source = context.source
    source.only(node, "expressions", "alias", "order", "limit", "offset", "with_", *(("joins",) if joined else ()))
    binder = ExpressionBinder(context, Scope(ctes=ctes), "VALUES")
    rows: list[list[Operand]] = []
    for row in node.expressions:
        cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        if not cells or (rows and len(cells) != len(rows[0])):
            raise source.error(f"VALUES rows must all have the same length; this one has {len(cells)}", row)
        rows.append(binder.operands(cells))
    ids: list[ColumnId] = []
    columns: list[list[Scalar]] = []
    for cells in zip(*rows, strict=True):
        values = meet(source, cells, "VALUES cannot mix")[0]
        ids.append(context.columns.new(f"col{len(ids)}", values[0].type, not all(is_not_null(v, 0) for v in values)).id)
        columns.append(values)
        if all(pa.types.is_null(c.type) for c in cells):
            context.untyped.add(ids[-1])
    types = tuple(values[0].type for values in columns)
    tree = Tree(Values(tuple(ids), types, tuple(zip(*columns, strict=True))))
    return Bound(tree, tuple(OutputColumn(f"col{i}", id) for i, id in enumerate(ids)))


SERIES = ("range", "generate_series")
_MOST_NUMBERS = 100_000  # of a series: they are one batch


def is_series(node: Any) -> bool:
    """Whether an AST node is unnest(range(...)) or unnest([...]), in FROM or as an item of SELECT."""
    match node.this if isinstance(node, exp.Lateral) else node:
        case exp.Explode(this=of, expressions=None | []) | exp.Unnest(expressions=[of]):
            return isinstance(of, exp.Array) or (isinstance(of, exp.Anonymous) and of.name.lower() in SERIES)
    return False


def bind_list(context: Context, node: Any) -> Bound:
    """[1, 2]: its items, a row each."""
    inner = next((found for found in node.find_all(exp.Column, exp.Query, exp.Tuple)), None)
    if inner is not None:
        raise context.source.unsupported("unnest of what is no constant", inner, "write LATERAL (VALUES (t.a), (t.b)) AS v(x)")
    if not node.expressions:
        return _series(context, "unnest", INT32, ())
    bound = bind_values(context, exp.Values(expressions=node.expressions), None)
    return bound._replace(outputs=(bound.outputs[0]._replace(name="unnest"),))


def bind_series(context: Context, node: Any) -> Bound:
    """range(to), range(from, to, step): the integers from `from` (0) up to `to` without it; generate_series: with it.

    Of dates and timestamps: range(from, to, interval).
    """
    if isinstance(node, exp.Array):
        return bind_list(context, node)
    source, name = context.source, node.name.lower()
    source.only(node, "this", "expressions")
    if not 1 <= len(node.expressions) <= 3:
        raise source.error(f"{name} takes one to three numbers", node)
    column = next((found for part in node.expressions for found in part.find_all(exp.Column)), None)
    if column is not None:
        hint = f"write a series of constants, and a condition: FROM {name}(0, 1000) AS g(i) WHERE i < ..."
        raise source.unsupported(f"{name} of something that is no constant", column, hint)
    with context.inside(None):
        operands = ExpressionBinder(context, Scope(), name.upper()).operands(node.expressions)
    for operand in operands:
        if not (is_integer(operand.type) or pa.types.is_null(operand.type) or is_temporal(operand.type)):
            raise source.unsupported(f"{name} of {type_name(operand.type)}", operand.node, "it takes integers, or dates")
    temporal = any(is_temporal(operand.type) for operand in operands)
    hint = DATES if temporal else "write the numbers"
    numbers = [constant_value(source, operand, f"{name} of something", hint) for operand in operands]
    if temporal:
        return _series(context, name, TIMESTAMP, _moments(source, operands, name, numbers, node))
    start, end, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if step == 0:
        raise source.error(f"the step of {name} cannot be 0", node)
    series = range(0)
    if None not in (start, end, step):
        series = range(start, end if name == "range" else end + (1 if step > 0 else -1), step)
    _check_length(source, series, node)
    return _series(context, name, INT64, series)


def _moments(source: Source, operands: list[Operand], name: str, values: list[Any], node: Any) -> Sequence[datetime]:
    """The timestamps from one to another, each an interval after the one before."""
    types = [operand.type for operand in operands]
    if len(types) != 3 or types[2] != INTERVAL or any(is_integer(type) or type == INTERVAL for type in types[:2]):
        hint = f"write {name}(DATE '2020-01-01', DATE '2020-02-01', INTERVAL '1 day')"
        raise source.error(f"{name} of dates takes two of them and an INTERVAL", node, hint)
    if None in values:
        return ()
    start, end, step = as_timestamp(values[0]), as_timestamp(values[1]), values[2]
    signs = {part > 0 for part in step if part}
    if len(signs) != 1:
        raise source.error(f"the step of {name} is to go in one direction", operands[2].node, "write INTERVAL '1 day'")
    moments: list[datetime] = []
    reached = operator.gt if signs == {True} else operator.lt
    while not reached(start, end) and not (start == end and name == "range"):
        moments.append(start)
        _check_length(source, moments, node)
        try:
            start = date_add(start, step)
        except ExecutionError:  # beyond the last year
            break
    return tuple(moments)


def _check_length(source: Source, values: Sequence[Any], node: Any) -> None:
    if values[_MOST_NUMBERS:]:  # a range may have no length that fits
        raise source.unsupported(f"a series of more than {_MOST_NUMBERS} numbers", node, "put them into a table of the dataset")


def _series(context: Context, name: str, type: DataType, values: Sequence[Any]) -> Bound:
    id = context.columns.new(name, type, False).id
    tree = Tree(Values((id,), (type,), Series(values, type)))
    return Bound(tree, (OutputColumn(name, id),))


def one_row(context: Context) -> Tree:
    """One row with a column nobody reads: what SELECT without FROM selects from."""
    id = context.columns.new("dummy", INT32, False).id
    return Tree(Values((id,), (INT32,), ((Literal(0, INT32),),)))
