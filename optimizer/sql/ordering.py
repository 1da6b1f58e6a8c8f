"""ORDER BY, LIMIT and OFFSET. NULLs come last in both directions unless the text says otherwise."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.building import numbered, reference
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.logical import Filter, Limit, Window, WindowItem
from optimizer.algebra.predicates import compare
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.scalars import Call, Cast, ColumnRef, Frame, FrameBound, Literal, Scalar, WindowCall
from optimizer.algebra.subqueries import has_subquery
from optimizer.algebra.traits import Collation, SortKey
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import DOUBLE, INT32, INT64, UINT64, is_numeric, is_string, type_name
from optimizer.errors import ExecutionError
from optimizer.sql.coerce import bare, convert
from optimizer.sql.context import Bound, Context, Ctes
from optimizer.sql.scope import Relation, Scope
from optimizer.sql.shelf import Shelf
from optimizer.sql.source import Source, listing

TWO_OF_A_NAME = "several columns of the result have that name: name them apart, or write a position"
_MOST_ROWS = 1 << 48  # no input has as many; sums of a few of these stay BIGINTs


def sort_terms(source: Source, clause: Any, *handled: str) -> list[tuple[Any, bool, bool]]:
    """Each term of an ORDER BY: expression, descending, NULLs first. `handled`: parts of the node that the caller reads."""
    source.only(clause, "expressions", *handled)
    terms = []
    for term in clause.expressions:
        source.only(term, "this", "desc", "nulls_first")
        terms.append((bare(term.this), bool(term.args.get("desc")), bool(term.args.get("nulls_first"))))
    return terms


def output_position(source: Source, node: Any, outputs: int, clause: str) -> int | None:
    """The 0-based output column that a whole number in ORDER BY or GROUP BY names; None when `node` is no constant."""
    negative = isinstance(node, exp.Neg)
    literal = bare(node.this) if negative else node
    if not isinstance(literal, exp.Literal) or literal.is_string or not literal.this.isdigit():
        if isinstance(literal, exp.Literal | exp.Null) and clause == "ORDER BY":
            raise source.error("ORDER BY a constant has no effect", node, "order by a column, an expression or a position")
        return None
    position = int(literal.this) if len(literal.this) < 10 else 1 << 31
    if negative or not 1 <= position <= outputs:
        raise source.error(
            f"{clause} position {'-' if negative else ''}{literal.this} is out of range", node, f"positions are 1 to {outputs}"
        )
    return position - 1


def is_all(node: Any) -> bool:
    """Whether an ORDER BY term is ALL."""
    return isinstance(node, exp.Var) and node.name.upper() == "ALL"


def collation(keys: Iterable[SortKey]) -> Collation:
    """The keys in order, a column that already occurred left out."""
    result: dict[int, SortKey] = {}
    for key in keys:
        result.setdefault(key.column, key)
    return tuple(result.values())


def order_by_outputs(context: Context, clause: Any, bound: Bound, ctes: Ctes | None) -> Bound:
    """ORDER BY after a set operation or VALUES: terms are positions or names of output columns, also those that later parts
    of the set operation give them, expressions as a part writes them, or others over output columns."""
    source, outputs = context.source, bound.outputs
    keys: list[SortKey] = []
    shelf = Shelf(context, bound.tree)
    shelf.keep(o.id for o in outputs)
    for node, descending, nulls_first in sort_terms(source, clause):
        if is_all(node):
            keys += [SortKey(o.id, descending, nulls_first) for o in outputs]
            continue
        position = output_position(source, node, len(outputs), "ORDER BY")
        column = isinstance(node, exp.Column) and not isinstance(node.this, exp.Star)
        if position is None and column:
            position = _output_named(source, node, bound)
        if position is None:
            position = next((place for written, place in bound.written if written == node), None)
        if position is None and column:
            raise _not_among_outputs(source, node, outputs)
        if position is None:
            id = shelf.column(_over_outputs(context, node, outputs, ctes), "key")
        else:
            id = outputs[position].id
        keys.append(SortKey(id, descending, nulls_first))
    return bound._replace(tree=shelf.tree(), order=collation(keys))


def _output_named(source: Source, node: Any, bound: Bound) -> int | None:
    name, outputs = node.name.lower(), bound.outputs
    if node.args.get("table") is not None:
        return None
    named = [i for i, o in enumerate(outputs) if o.name.lower() == name]
    if len({outputs[i].id for i in named}) > 1:
        raise source.error(f'column "{node.name}" is ambiguous', node, TWO_OF_A_NAME)
    return next(iter(named), bound.names.get(name))


def _not_among_outputs(source: Source, node: Any, outputs: Sequence[OutputColumn]) -> Exception:
    names = [o.name for o in outputs]
    hint = f"the result has {listing(names, near=node.name)}"
    return source.error(f'unknown column "{node.sql()}"', node, hint)


def _over_outputs(context: Context, node: Any, outputs: Sequence[OutputColumn], ctes: Ctes | None) -> Scalar:
    """An expression over the columns of a result."""
    from optimizer.sql.expressions import ExpressionBinder  # expressions have window functions, which have an ORDER BY
    from optimizer.sql.windows import refuse_windows

    references = [reference(o.id, context.columns) for o in outputs]
    relation = Relation("", tuple(o.name for o in outputs), references.__getitem__)
    scalar = ExpressionBinder(context, Scope((relation,), ctes=ctes), "ORDER BY").bind(node)
    refuse_windows(context.source, [scalar], "ORDER BY of a set operation", node)
    return Literal(None, INT32) if pa.types.is_null(scalar.type) else scalar


def limited(context: Context, node: Any, bound: Bound, ctes: Ctes | None) -> Bound:
    """The LIMIT and OFFSET of `node` over `bound`, whose order decides which rows remain."""
    source = context.source
    count: Scalar | None = None
    offset: Scalar = Literal(0, INT64)
    limit, skip = node.args.get("limit"), node.args.get("offset")
    if limit is not None:
        options = limit.args.get("limit_options")
        if options is not None and options.args.get("with_ties"):
            raise source.unsupported("LIMIT WITH TIES", limit, "give a number of rows")
        source.only(limit, "expression", "count", "limit_options", ignored=("direction",))
        rows = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
        if options is not None and options.args.get("percent"):
            bound, count = _share(context, rows, bound)
        else:
            count = _whole_number(context, rows, "LIMIT", ctes)
        if isinstance(limit, exp.Fetch) and rows is None:
            count = Literal(1, INT64)
    if skip is not None:
        source.only(skip, "expression")
        offset = _whole_number(context, skip.expression, "OFFSET", ctes) or offset
    if isinstance(offset, Literal) and (count is None or isinstance(count, Literal)):
        if count is None and not offset.value:
            return bound
        return bound._replace(tree=Tree(Limit(bound.order, offset.value, None if count is None else count.value), (bound.tree,)))
    return _limited_by_number(context, bound, count, offset)


def _limited_by_number(context: Context, bound: Bound, count: Scalar | None, offset: Scalar) -> Bound:
    """The rows whose number, counted from 1 in the order of the query, lies between numbers that only running the query
    tells. NULL: no limit, or nothing to skip."""
    tree, number = numbered(bound.tree, (), bound.order, context.columns)
    skipped = Call("coalesce", (offset, Literal(0, INT64)), INT64)
    past = Call("-", (number, skipped), INT64)
    conjuncts = [compare(">", past, Literal(0, INT64))]
    if count is not None:
        conjuncts.append(compare("<=", past, Call("coalesce", (count, Literal(_MOST_ROWS, INT64)), INT64)))
    return bound._replace(tree=Tree(Filter(tuple(conjuncts)), (tree,)))


def _share(context: Context, node: Any, bound: Bound) -> tuple[Bound, Scalar]:
    """LIMIT n PERCENT: `bound` with its number of rows beside each, and how many of them that share is, cut to an integer."""
    try:
        percent = float(bare(node).name) if isinstance(bare(node), exp.Literal) else math.nan
    except ValueError:
        percent = math.nan
    if not 0 <= percent <= 100:
        raise context.source.error("a LIMIT in percent takes a constant from 0 to 100", node)
    rows = context.columns.new("count", INT64, False).id
    everything = Frame("rows", FrameBound("preceding"), FrameBound("following"))
    call = WindowCall("count", (), False, None, False, everything, INT64)
    counted = Tree(Window((), (), (WindowItem(rows, call),)), (bound.tree,))
    share = Call("*", (Literal(percent / 100, DOUBLE), Cast(ColumnRef(rows, INT64), DOUBLE, False)), DOUBLE)
    return bound._replace(tree=counted), Cast(Call("floor", (share,), DOUBLE), INT64, False)


def _whole_number(context: Context, node: Any, clause: str, ctes: Ctes | None) -> Scalar | None:
    """A count of rows: a constant, or a scalar that a subquery is part of; None for ALL or NULL."""
    from optimizer.sql.expressions import ExpressionBinder

    source, node = context.source, bare(node)
    if node is None or isinstance(node, exp.Null) or is_all(node):
        return None
    if isinstance(node, exp.Literal) and not node.is_string and node.this.replace("_", "").isdigit():
        return Literal(min(int(node.this.replace("_", "")[:30]), _MOST_ROWS), INT64)
    with context.inside(None):
        operand = ExpressionBinder(context, Scope(ctes=ctes), clause).operand(node)
    scalar = operand.scalar
    if scalar.volatile:
        raise source.unsupported(f"{clause} with a volatile function", node, "write the number of rows")
    if not (is_numeric(scalar.type) or is_string(scalar.type) or pa.types.is_null(scalar.type)):
        raise source.error(f"{clause} takes a whole number, not {type_name(scalar.type)}", node)
    number = convert(source, operand, INT64)
    if has_subquery(number):
        return Cast(Cast(number, UINT64, False), INT64, False)  # a negative number is an error
    try:
        value = evaluate(number, {})
    except ExecutionError as error:
        raise source.error(f"{clause} takes a whole number: {error}", node) from None
    if value is not None and value < 0:
        raise source.error(f"{clause} cannot be negative", node)
    return None if value is None else Literal(min(int(value), _MOST_ROWS), INT64)
