"""GROUP BY and aggregates: expressions over input rows become expressions over groups.

Everything is first bound over the input rows, aggregate calls included. Then each group key that occurs in an
expression is replaced by its column, each aggregate call by the column that holds it, and whatever input column is left
is an error: it has no single value in a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.logical import Aggregate, AggregateItem, Project, ProjectItem
from optimizer.algebra.scalars import AggregateCall, ColumnRef, Scalar, walk
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT64
from optimizer.sql.context import Context


def aggregate_calls(scalars: Iterable[Scalar]) -> list[AggregateCall]:
    """The distinct aggregate calls in `scalars`, in order."""
    found = {s: None for scalar in scalars for s in walk(scalar) if isinstance(s, AggregateCall)}
    return list(found)


class Grouping:
    """The Aggregate over `tree` for `keys` and the aggregate calls in `scalars`; `names` words the columns it makes."""

    __slots__ = ("_columns", "_context", "tree")

    def __init__(
        self, context: Context, tree: Tree, keys: list[Scalar], scalars: Iterable[Scalar], names: Mapping[Scalar, str]
    ) -> None:
        self._context = context
        self._columns: dict[Scalar, ColumnId] = {}
        calls = aggregate_calls(scalars)
        tree = self._with_keys(tree, keys, calls, names)
        items = []
        for call in calls:
            id = context.columns.new(names.get(call, call.function), call.type, call.function != "count").id
            self._columns[call] = id
            items.append(AggregateItem(id, call))
        unique = tuple(dict.fromkeys(self._columns[key] for key in keys))
        if not unique and not items:  # HAVING alone: one row over any input, and a row has to have a column
            call = AggregateCall("count", (), False, None, INT64)
            items.append(AggregateItem(context.columns.new("count", INT64, False).id, call))
        self.tree = Tree(Aggregate(unique, tuple(items)), (tree,))

    def _with_keys(self, tree: Tree, keys: list[Scalar], calls: list[AggregateCall], names: Mapping[Scalar, str]) -> Tree:
        """The input with a column for each key; computed keys need a Project, which keeps what the aggregates read."""
        computed = []
        needed = 0
        for key in dict.fromkeys(keys):
            if isinstance(key, ColumnRef):
                self._columns[key] = key.id
                needed |= key.columns
            else:
                id = self._context.compute(names.get(key, "key"), key, tree.props.not_null)
                self._columns[key] = id
                computed.append(ProjectItem(id, key))
        if not computed:
            return tree
        for call in calls:
            needed |= call.columns
        columns = self._context.columns
        passed = [ProjectItem(id, ColumnRef(id, columns[id].type)) for id in column_ids(needed)]
        return Tree(Project((*passed, *computed)), (tree,))

    def over_groups(self, scalar: Scalar, refs: Mapping[ColumnId, Any]) -> Scalar:
        """`scalar` over the columns of the Aggregate; `refs` says where a column was written, for the error."""
        id = self._columns.get(scalar)
        if id is not None and not (scalar.volatile and not isinstance(scalar, AggregateCall)):
            return ColumnRef(id, scalar.type)
        if isinstance(scalar, ColumnRef):
            name = self._context.columns[scalar.id].name
            raise self._context.source.error(
                f'column "{name}" must appear in GROUP BY or inside an aggregate',
                refs.get(scalar.id),
                f"add it to GROUP BY, or write min({name}) or max({name})",
            )
        children = scalar.children
        if not children:
            return scalar
        return scalar.with_children(tuple(self.over_groups(child, refs) for child in children))


def unique_columns(ids: Iterable[ColumnId]) -> tuple[ColumnId, ...]:
    return tuple(dict.fromkeys(ids))
