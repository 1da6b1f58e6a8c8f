"""VALUES (...), (...): constant rows; also the one empty row of a SELECT without FROM."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.logical import Values
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.scalars import Literal, Scalar
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT32
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
    for cells in zip(*rows, strict=True):
        if operand and all(pa.types.is_null(c.type) for c in cells):
            columns.append(tuple(c.scalar for c in cells))
        else:
            columns.append(tuple(meet(source, cells, "VALUES cannot mix")[0]))
    ids = []
    for i, values in enumerate(columns):
        nullable = not all(is_not_null(v, 0) for v in values)
        ids.append(context.columns.new(f"col{i}", values[0].type, nullable).id)
    types = tuple(values[0].type for values in columns)
    tree = Tree(Values(tuple(ids), types, tuple(zip(*columns, strict=True))))
    return Bound(tree, tuple(OutputColumn(f"col{i}", id) for i, id in enumerate(ids)))


def one_row(context: Context) -> Tree:
    """One row with a column nobody reads: what SELECT without FROM selects from."""
    id = context.columns.new("dummy", INT32, False).id
    return Tree(Values((id,), (INT32,), ((Literal(0, INT32),),)))
