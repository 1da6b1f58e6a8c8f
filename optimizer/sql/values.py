"""VALUES (...), (...): constant rows; also the one empty row of a SELECT without FROM."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.logical import Values
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.scalars import Literal, Scalar
from optimizer.algebra.subqueries import has_subquery
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT32, INT64, is_integer, type_name
from optimizer.errors import ExecutionError
from optimizer.sql.coerce import Operand, meet
from optimizer.sql.context import Bound, Context, Ctes
from optimizer.sql.expressions import ExpressionBinder
from optimizer.sql.scope import Scope


def bind_values(context: Context, node: Any, ctes: Ctes | None, operand: bool = False) -> Bound:
    """Columns col0, col1, ...; each column's values meet in one type. As `operand` all-NULL columns keep the NULL type."""
    source = context.source
    source.only(node, "expressions", "alias", "order", "limit", "offset", "with_")
    binder = ExpressionBinder(context, Scope(ctes=ctes), "VALUES")
    rows: list[list[Operand]] = []
    for row in node.expressions:
        if isinstance(row, exp.Tuple):
            source.only(row, "expressions")
            cells = row.expressions
        else:
            cells = [row]
        if not cells or (rows and len(cells) != len(rows[0])):
            raise source.error(f"VALUES rows must all have the same length; this one has {len(cells)}", row)
        rows.append(binder.operands(cells))
    columns: list[tuple[Scalar, ...]] = []
    bare: list[int] = []
    for cells in zip(*rows, strict=True):
        untyped = all(pa.types.is_null(c.type) for c in cells)
        if untyped and not operand:
            bare.append(len(columns))
        if untyped and operand:
            columns.append(tuple(c.scalar for c in cells))
        else:
            columns.append(tuple(meet(source, cells, "VALUES cannot mix")[0]))
    ids = []
    for i, values in enumerate(columns):
        nullable = not all(is_not_null(v, 0) for v in values)
        ids.append(context.columns.new(f"col{i}", values[0].type, nullable).id)
    context.untyped.update(ids[i] for i in bare)
    types = tuple(values[0].type for values in columns)
    tree = Tree(Values(tuple(ids), types, tuple(zip(*columns, strict=True))))
    return Bound(tree, tuple(OutputColumn(f"col{i}", id) for i, id in enumerate(ids)))


SERIES = ("range", "generate_series")
_MOST_NUMBERS = 100_000  # of a series: they are written into the plan


def bind_series(context: Context, node: Any) -> Bound:
    """range(to), range(from, to, step): the integers from `from` (0) up to `to` without it; generate_series: with it."""
    source, name = context.source, node.name.lower()
    source.only(node, "this", "expressions")
    if not 1 <= len(node.expressions) <= 3:
        raise source.error(f"{name} takes one to three numbers", node)
    with context.inside(None):
        operands = ExpressionBinder(context, Scope(), name.upper()).operands(node.expressions)
    for operand in operands:
        if operand.scalar.volatile or has_subquery(operand.scalar):
            raise source.unsupported(f"{name} of something that is no constant", operand.node, "write the numbers")
        if not (is_integer(operand.type) or pa.types.is_null(operand.type)):
            raise source.unsupported(f"{name} of {type_name(operand.type)}", operand.node, "it takes integers")
    try:
        numbers = [evaluate(operand.scalar, {}) for operand in operands]
    except ExecutionError as error:
        raise source.error(str(error), node) from None
    start, end, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if step == 0:
        raise source.error(f"the step of {name} cannot be 0", node)
    series = range(0)
    if None not in (start, end, step):
        series = range(start, end if name == "range" else end + (1 if step > 0 else -1), step)
    if len(series) > _MOST_NUMBERS:
        raise source.unsupported(f"a series of more than {_MOST_NUMBERS} numbers", node, "put them into a table of the dataset")
    id = context.columns.new(name, INT64, False).id
    tree = Tree(Values((id,), (INT64,), tuple((Literal(number, INT64),) for number in series)))
    return Bound(tree, (OutputColumn(name, id),))


def one_row(context: Context) -> Tree:
    """One row with a column nobody reads: what SELECT without FROM selects from."""
    id = context.columns.new("dummy", INT32, False).id
    return Tree(Values((id,), (INT32,), ((Literal(0, INT32),),)))
