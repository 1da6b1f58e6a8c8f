"""GROUPING(a, b): which of its arguments the row's grouping set leaves out, as a number with one bit an argument.

The first argument has the highest bit. The call lives until `Grouping` makes it an expression over the set's number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.flags import GROUPING
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.types import INT64

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

_BITS = 63


class GroupingCall(Scalar):
    """GROUPING of expressions over the rows before grouping; each has to be a key of GROUP BY."""

    __slots__ = ("args",)
    flag = GROUPING

    def __init__(self, args: tuple[Scalar, ...]) -> None:
        self._set(INT64, args)
        self.args = args

    def with_children(self, children: tuple[Scalar, ...]) -> Scalar:
        return GroupingCall(children)

    def _render(self, label: Callable[[ColumnId], str], typed: bool) -> str:
        return f"grouping({', '.join(a._render(label, typed) for a in self.args)})"


def has_grouping_call(scalar: Scalar) -> bool:
    return bool(scalar.flags & GroupingCall.flag)


def _grouping(binder: ExpressionBinder, node: Any) -> Scalar:
    source = binder.source
    if not binder.aggregates or binder.inside_aggregate:
        where = "inside an aggregate" if binder.inside_aggregate else f"in {binder.clause}"
        raise source.error(f"GROUPING cannot stand {where}", node, "it belongs into SELECT, HAVING or ORDER BY")
    block = node.find_ancestor(exp.Select)
    group = block.args.get("group") if block is not None else None
    if group is None or not group.expressions:
        around = block and block.find_ancestor(exp.Select)
        grouped = around is not None and around.args.get("group")
        hint = "the query around this one has a GROUP BY: write GROUPING there" if grouped else None
        raise source.error("GROUPING needs a GROUP BY that lists its arguments", node, hint)
    if not 1 <= len(node.expressions) <= _BITS:
        raise source.error(f"GROUPING takes 1 to {_BITS} expressions of GROUP BY", node)
    return GroupingCall(tuple(binder.bind(each) for each in node.expressions))


HANDLERS = {exp.Grouping: _grouping, exp.GroupingId: _grouping}
