"""Window functions: `f(...) OVER (...)` is first a scalar over the rows at hand, then a column of a Window below.

A `WindowExpression` carries its partition and order as scalars, so that GROUP BY turns what stands in it into expressions over
groups like anything else. When a block has been grouped, `Windows` makes one Window operator of all that share partition and
order; partition and order expressions that are no columns come from a Project below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.aggregate_functions import AGGREGATE_FUNCTIONS, NEVER_NULL, WINDOW_FUNCTIONS
from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.flags import WINDOW
from optimizer.algebra.functions import WindowFunction
from optimizer.algebra.logical import Window, WindowItem
from optimizer.algebra.scalar_trees import parts_of, rewrite, walk
from optimizer.algebra.scalars import ColumnRef, Literal, Ordered, Scalar, WindowCall, is_null_literal
from optimizer.algebra.subqueries import has_subquery
from optimizer.algebra.traits import Collation, SortKey
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT32, INT64
from optimizer.sql.aggregates import bound_call, named_aggregate
from optimizer.sql.arithmetic import integer_argument
from optimizer.sql.by_table import check_number
from optimizer.sql.coerce import settle_nulls
from optimizer.sql.context import Context
from optimizer.sql.instead import FUNCTIONS_PAGE, INSTEAD
from optimizer.sql.ordering import sort_terms
from optimizer.sql.shelf import Shelf
from optimizer.sql.source import Source
from optimizer.sql.window_frames import bind_frame, has_range_offset
from optimizer.sql.window_names import named_windows, window_text

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

CLAUSES = ("SELECT", "ORDER BY", "QUALIFY")  # where a window function may stand
_PICKED = {"first": "first_value", "last": "last_value"}
_OF_PEERS = ("rank", "dense_rank", "percent_rank", "cume_dist")


class WindowExpression(Scalar):
    """A window call with the scalars it partitions and orders by. Lives until `Windows` has found it a column."""

    __slots__ = ("call", "order", "partition")
    flag = WINDOW

    def __init__(self, call: WindowCall, partition: tuple[Scalar, ...], order: tuple[Ordered, ...]) -> None:
        self._set(call.type, (call, *partition, *order))
        self.call, self.partition, self.order = call, partition, order

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        parts: tuple[Any, ...] = children  # a window call stays one, and so do the terms
        end = 1 + len(self.partition)
        return WindowExpression(parts[0], parts[1:end], parts[end:])

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        over = ", ".join(part._render(label, typed) for part in (*self.partition, *self.order))
        return f"{self.call._render(label, typed)} OVER ({over})"


def window_expressions(scalars: Iterable[Scalar]) -> list[WindowExpression]:
    """The distinct window expressions in `scalars`, in order."""
    return parts_of(WindowExpression, scalars)


def refuse_windows(source: Source, scalars: Iterable[Scalar], clause: str, node: Any) -> None:
    """An alias may have brought a window function to where none may stand."""
    if window_expressions(scalars):
        raise _misplaced(source, clause, node)


def _misplaced(source: Source, clause: str, node: Any) -> Exception:
    hint = "use QUALIFY to filter by it" if clause in ("WHERE", "HAVING") else "compute it in a derived table"
    return source.error(f"a window function cannot stand in {clause}", node, hint)


# -- binding --------------------------------------------------------------------------------------------------------------


def _window(binder: ExpressionBinder, node: Any) -> Scalar:
    source = binder.source
    source.only(node, "this", "partition_by", "order", "spec", "alias", "over")
    if binder.inside_aggregate:
        raise source.error("a window function cannot stand inside an aggregate", node, "compute it in a derived table")
    if binder.clause not in CLAUSES:
        raise _misplaced(source, binder.clause, node)
    select = node.find_ancestor(exp.Select)
    text = window_text(source, node, named_windows(select))
    partition = tuple(binder.bind(part) for part in text.partition)
    order = []
    for key, descending, nulls_first in sort_terms(source, text.order) if text.order is not None else ():
        scalar = binder.bind(key)
        order.append(Ordered(Literal(None, INT32) if pa.types.is_null(scalar.type) else scalar, descending, nulls_first))
    frame = bind_frame(binder, text.frame, tuple(term.key for term in order), node)
    call = _call(binder, node.this, node)
    if call.function in AGGREGATE_FUNCTIONS or WINDOW_FUNCTIONS[call.function].framed:
        call = WindowCall(call.function, call.args, call.distinct, call.filter, call.ignore_nulls, frame, call.type)
    if window_expressions((call, *partition, *order)):
        raise source.error("window functions cannot be nested", node, "compute the inner one in a derived table")
    return WindowExpression(call, partition, tuple(order))


def _call(binder: ExpressionBinder, node: Any, window: Any) -> WindowCall:
    """The function and its arguments, its frame still to be put in."""
    source = binder.source
    inner, condition = (node.this, node.expression.this) if isinstance(node, exp.Filter) else (node, None)
    name, args = (inner.name.lower(), list(inner.expressions)) if isinstance(inner, exp.Anonymous) else ("", [])
    nulls = args[-1] if args and isinstance(args[-1], exp.IgnoreNulls | exp.RespectNulls) else None
    if nulls is not None:
        args[-1] = nulls.this
    known = WINDOW_FUNCTIONS.get(_PICKED.get(name, name) if condition is None and _is_plain(args) else name)
    if known is not None:
        if condition is not None:
            raise source.error(f"FILTER belongs to an aggregate, which {name} is not", window)
        if nulls is not None and "any" not in known.parameters:
            raise source.error(f"{name} looks at no values, so there are no NULLs to ignore", window)
        return _ranked_or_picked(binder, known, args, isinstance(nulls, exp.IgnoreNulls), node)
    if named_aggregate(inner.this if isinstance(inner, exp.WithinGroup) else inner) is None:
        raise _unknown(binder, inner)
    if nulls is not None:
        raise source.error("IGNORE NULLS and RESPECT NULLS are not for aggregates", window, "aggregates pass over NULL anyway")
    call = bound_call(binder, inner, condition)
    return WindowCall(call.function, call.args, call.distinct, call.filter, False, None, call.type)


def _counts_rows(call: WindowCall) -> bool:
    """Whether the rows' places matter where a window has no ORDER BY, so that they are as they come; peers they all are."""
    function, frame = call.function, call.frame
    if frame is not None:
        return frame.unit == "rows" and frame.exclude == "none"
    return function not in _OF_PEERS if function in WINDOW_FUNCTIONS else AGGREGATE_FUNCTIONS[function].ordered


def _is_plain(args: list[Any]) -> bool:
    """Of first(x) and last(x) whether they are first_value and last_value over a window: without an ORDER BY or DISTINCT of
    their own."""
    return len(args) == 1 and not isinstance(args[0], exp.Order | exp.Distinct | exp.Star)


def _unknown(binder: ExpressionBinder, node: Any) -> Exception:
    name = binder.source.function_name(node)
    return binder.source.unsupported(f"the window function {name}", node, INSTEAD.get(name, FUNCTIONS_PAGE))


def _ranked_or_picked(
    binder: ExpressionBinder, known: WindowFunction, nodes: list[Any], ignore_nulls: bool, node: Any
) -> WindowCall:
    """A function that is no aggregate. lag and lead always get their offset; a default that is NULL is left out."""
    source, name, args = binder.source, known.name, list[Scalar]()
    if nodes and isinstance(nodes[0], exp.Distinct):
        raise source.error(f"DISTINCT belongs to an aggregate, which {name} is not", node)
    if nodes and isinstance(nodes[-1], exp.Order):
        raise binder.unknown_form(nodes[-1])
    check_number(source, known, len(nodes), len(known.parameters), node)
    for kind, each in zip(known.parameters, nodes, strict=False):
        match kind:
            case "any":
                args += settle_nulls([binder.operand(each).scalar])
            case "any?":
                default = binder.convert(each, args[0].type)
                args += [] if is_null_literal(default) else [default]
            case _:
                args.append(integer_argument(binder, each, name))
    if known.parameters[1:] == ("integer?", "any?") and len(args) == 1:
        args.append(Literal(1, INT64))
    if name == "ntile" and isinstance(args[0], Literal) and args[0].value is not None and args[0].value <= 0:
        raise source.error("the number of buckets must be above 0", node)
    return WindowCall(name, tuple(args), False, None, ignore_nulls, None, known.gives or args[0].type)


HANDLERS: dict[Any, Callable[[ExpressionBinder, Any], Scalar]] = {exp.Window: _window}


# -- placing --------------------------------------------------------------------------------------------------------------


class Windows:
    """The Window operators over `tree` for all window expressions in `scalars`; `names` words the columns they make.

    Windows with one partition stand together, those with the longer order below, so that one sort can serve them.
    """

    def __init__(
        self, context: Context, tree: Tree, scalars: Iterable[Scalar], names: dict[Scalar, str], rows: Sequence[Ordered] = ()
    ) -> None:
        """`rows`: the order in which the rows of `tree` come, if any."""
        self._context, self._rows = context, rows
        self._shelf = Shelf(context, tree)
        self._shelf.keep(column_ids(tree.columns))
        self._columns: dict[WindowExpression, ColumnId] = {}
        self._each_use: dict[WindowExpression, list[ColumnId]] = {}  # a volatile one is computed anew for each use
        groups: dict[tuple[tuple[ColumnId, ...], Collation], list[WindowItem]] = {}
        for use in (s for scalar in scalars for s in walk(scalar) if isinstance(s, WindowExpression)):
            if use in self._columns and not use.volatile:
                continue
            partition = tuple(sorted({self._key(s) for s in use.partition if not _constant(s)}))
            order = self._order(use, partition)
            call = use.call
            id = context.columns.new(names.get(use, call.function), call.type, call.function not in NEVER_NULL).id
            self._columns[use] = id
            if use.volatile:
                self._each_use.setdefault(use, []).append(id)
            groups.setdefault((partition, order), []).append(WindowItem(id, call))
        tree = self._shelf.tree()
        for (partition, order), items in _stacked(groups):
            tree = Tree(Window(partition, order, tuple(items)), (tree,))
        self.tree = tree

    def _key(self, scalar: Scalar) -> ColumnId:
        """The column of the input, or of the Project over it, that holds what is partitioned or ordered by."""
        return self._shelf.column(scalar, "key")

    def _order(self, use: WindowExpression, partition: tuple[ColumnId, ...]) -> Collation:
        """The keys that tell rows of a partition apart; none where the function does not care."""
        frame = use.call.frame
        if frame is None and use.call.function in AGGREGATE_FUNCTIONS:
            return ()
        ranged = has_range_offset(frame)  # the bounds are computed from the key, whatever is known of it
        order: dict[ColumnId, SortKey] = {}
        for term in use.order or (self._rows if _counts_rows(use.call) else ()):
            if ranged or not _constant(term.key):
                id = self._key(term.key)
                if ranged or id not in partition:
                    order.setdefault(id, SortKey(id, term.descending, term.nulls_first))
        return tuple(order.values())

    def over_windows(self, scalar: Scalar) -> Scalar:
        """`scalar` with each window expression replaced by the column that holds it. To be called once for each of the scalars,
        in the order in which they were given."""

        def change(part: Scalar) -> Scalar | None:
            if not isinstance(part, WindowExpression):
                return None
            id = self._each_use[part].pop(0) if part.volatile else self._columns[part]
            return ColumnRef(id, part.type)

        return rewrite(scalar, change)


def _constant(scalar: Scalar) -> bool:
    """Whether all rows have the same value, so that it neither divides nor orders them."""
    return not scalar.columns and not scalar.volatile and not scalar.raises and not has_subquery(scalar)


def _stacked(
    groups: dict[tuple[tuple[ColumnId, ...], Collation], list[WindowItem]],
) -> list[tuple[tuple[tuple[ColumnId, ...], Collation], list[WindowItem]]]:
    """The windows from the bottom up: partitions as they first come, in each the longest order first."""
    first: dict[tuple[ColumnId, ...], int] = {}
    for partition, _ in groups:
        first.setdefault(partition, len(first))
    return sorted(groups.items(), key=lambda group: (first[group[0][0]], -len(group[0][1])))
