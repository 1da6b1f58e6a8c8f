"""GROUP BY and aggregates: expressions over input rows become expressions over groups.

Everything is first bound over the input rows, aggregate calls included. Then each group key that occurs in an
expression is replaced by its column, each aggregate call by the column that holds it, and whatever input column is left
is an error: it has no single value in a group.

With several grouping sets the column of a key is a new one, NULL in the sets without it; aggregates read the input's.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from optimizer.algebra.columns import ColumnId, column_ids, column_set, union
from optimizer.algebra.logical import Aggregate, AggregateItem, GroupingKey, GroupingSets
from optimizer.algebra.scalar_trees import map_children, parts_of
from optimizer.algebra.scalars import AggregateCall, Case, ColumnRef, InList, Literal, Scalar
from optimizer.algebra.subqueries import Subquery
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT64
from optimizer.sql.context import Context
from optimizer.sql.grouping_call import GroupingCall
from optimizer.sql.grouping_elements import GroupBy
from optimizer.sql.shelf import Shelf
from optimizer.sql.subqueries import over_columns


def aggregate_calls(scalars: Iterable[Scalar]) -> list[AggregateCall]:
    """The distinct aggregate calls in `scalars`, in order."""
    return parts_of(AggregateCall, scalars)


def has_aggregate(scalar: Scalar, claims: Mapping[AggregateCall, ColumnId]) -> bool:
    """Whether an aggregate of this query stands in `scalar`, also in a subquery (`claims`, with the columns those read)."""
    return bool(aggregate_calls([scalar]) or scalar.columns & column_set(claims.values()))


class Grouping:
    """The Aggregate, or GroupingSets, over `tree` for the grouping `by` and the aggregate calls in `scalars`; `names` words the
    columns it makes. `claims` are further calls, which stand in subqueries, with the columns those read."""

    def __init__(
        self, context: Context, tree: Tree, by: GroupBy, scalars: Iterable[Scalar], names: Mapping[Scalar, str],
        claims: Mapping[AggregateCall, ColumnId],
    ) -> None:  # fmt: skip
        self._context, self._inputs = context, tree.columns
        self._by = by
        self._columns: dict[Scalar, ColumnId] = {}
        calls = list(dict.fromkeys((*aggregate_calls(scalars), *claims)))
        tree = self._with_keys(tree, by.keys, calls, names)
        items = []
        for call in calls:
            id = claims.get(call)
            if id is None:
                id = context.columns.new(names.get(call, call.function), call.type, call.function != "count").id
            self._columns[call] = id
            items.append(AggregateItem(id, call))
        self._number: ColumnId | None = None
        if len(by.sets) > 1:
            self._number = context.columns.new("grouping_set", INT64, False).id
            self.tree = self._grouping_sets(tree, tuple(items), self._number)
            return
        unique = tuple(dict.fromkeys(self._columns[key] for key in by.keys))
        if not unique and not items:  # HAVING alone: one row over any input, and a row has to have a column
            call = AggregateCall("count", (), False, None, INT64)
            items.append(AggregateItem(context.columns.new("count", INT64, False).id, call))
        self.tree = Tree(Aggregate(unique, tuple(items)), (tree,))

    def _grouping_sets(self, tree: Tree, items: tuple[AggregateItem, ...], number: ColumnId) -> Tree:
        """The operator for several sets; from here on a key is its output column."""
        keys = []
        for key in self._by.keys:
            source = self._context.columns[self._columns[key]]
            shown = self._context.columns.new(source.name, source.type, True, source.origin)
            self._columns[key] = shown.id
            keys.append(GroupingKey(shown.id, source.id))
        sets = tuple(column_set(self._columns[key] for key in each) for each in self._by.sets)
        return Tree(GroupingSets(tuple(keys), sets, items, number), (tree,))

    def _with_keys(self, tree: Tree, keys: Iterable[Scalar], calls: list[AggregateCall], names: Mapping[Scalar, str]) -> Tree:
        """The input with a column for each key; computed keys need a Project, which keeps what the aggregates read."""
        shelf, keys = Shelf(self._context, tree), tuple(dict.fromkeys(keys))
        read = [*(call.columns & self._inputs for call in calls), *(key.columns for key in keys if isinstance(key, ColumnRef))]
        shelf.keep(column_ids(union(read)))
        self._columns |= {key: shelf.column(key, names.get(key, "key")) for key in keys}
        return shelf.tree()

    def over_groups(self, scalar: Scalar, refs: Mapping[ColumnId, Any]) -> Scalar:
        """`scalar` over the columns of the Aggregate; `refs` says where a column was written, for the error."""
        id = self._columns.get(scalar)
        if id is not None and not (scalar.volatile and not isinstance(scalar, AggregateCall)):
            return ColumnRef(id, scalar.type)
        if isinstance(scalar, GroupingCall):
            return self._left_out(scalar, refs)
        if isinstance(scalar, ColumnRef):
            raise self._not_grouped(scalar.id, refs)
        if isinstance(scalar, Subquery):  # it reads, of the rows around it, only what a group has
            scalar = over_columns(scalar, self._columns, self._inputs)
            for id in column_ids(scalar.tree.outer & self._inputs & ~self.tree.columns):
                raise self._not_grouped(id, refs)
        if self._number is not None and any(isinstance(c, Literal) and c in self._columns for c in scalar.children):
            form = "a constant both as a key of several grouping sets and inside an expression"  # where it may be another one
            raise self._context.source.unsupported(form, self._by.node, "compute the key in a derived table")
        return map_children(scalar, lambda child: self.over_groups(child, refs))

    def _not_grouped(self, id: ColumnId, refs: Mapping[ColumnId, Any]) -> Exception:
        name = self._context.columns[id].name
        return self._context.source.error(
            f'column "{name}" must appear in GROUP BY or inside an aggregate',
            refs.get(id),
            f"add it to GROUP BY, or write min({name}) or max({name})",
        )

    def _left_out(self, call: GroupingCall, refs: Mapping[ColumnId, Any]) -> Scalar:
        """GROUPING: for each set a constant, picked by the number of the row's set."""
        for arg in call.args:
            if arg not in self._columns or isinstance(arg, AggregateCall):
                node = next((refs[id] for id in column_ids(arg.columns) if id in refs), self._by.node)
                raise self._context.source.error("GROUPING takes expressions of GROUP BY", node, "list them in GROUP BY too")
        positions: dict[int, list[int]] = {}
        for position, each in enumerate(self._by.sets):
            value = 0
            for arg in call.args:
                value = 2 * value + (arg not in each)
            positions.setdefault(value, []).append(position)
        *picked, rest = sorted(positions, key=lambda value: len(positions[value]))
        if self._number is None or not picked:
            return Literal(rest, INT64)
        number = ColumnRef(self._number, INT64)
        branches = [
            (InList(number, tuple(Literal(p, INT64) for p in positions[value])), Literal(value, INT64)) for value in picked
        ]
        return Case(tuple(branches), Literal(rest, INT64), INT64)
