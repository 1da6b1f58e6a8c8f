"""One SELECT block: FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT, ORDER BY, LIMIT, in the order they run.

Names follow DuckDB: a column wins over an alias, except that a term of ORDER BY that is just a name means the alias.
A Project is made only when something has to be computed; otherwise outputs are columns of the tree as they are.
The rows of one derived table or CTE stay in the order that it asks for, unless they are grouped or this block has its own.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.building import filtered, numbered, reference
from optimizer.algebra.columns import ColumnId, column_ids, column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import compare, conjunction
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.scalars import AggregateCall, Call, ColumnRef, Literal, Ordered, Scalar
from optimizer.algebra.subqueries import ScalarSubquery
from optimizer.algebra.traits import SortKey
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT32, INT64, STRING
from optimizer.errors import SqlError
from optimizer.sql.aggregates import ordered_rows
from optimizer.sql.coerce import bare, settle_nulls
from optimizer.sql.context import Bound, Context, Ctes
from optimizer.sql.expressions import ExpressionBinder
from optimizer.sql.from_clause import bind_from
from optimizer.sql.grouping import Grouping, aggregate_calls, has_aggregate
from optimizer.sql.grouping_call import has_grouping_call
from optimizer.sql.grouping_elements import GroupBy, group_by
from optimizer.sql.names import output_name, short_name
from optimizer.sql.ordering import collation, is_all, limited, output_position, sort_terms
from optimizer.sql.scope import Scope
from optimizer.sql.shelf import Shelf
from optimizer.sql.stars import expand_star, is_star
from optimizer.sql.unnest import bind_split, is_split, unnested
from optimizer.sql.values import bind_series, is_series
from optimizer.sql.window_names import check_windows
from optimizer.sql.windows import WindowExpression, Windows, refuse_windows, window_expressions

_CLAUSES = ("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_")
_WINDOW_CLAUSES = ("windows", "qualify")


class Item(NamedTuple):
    """One column of the select list; `alias` only when one was written. `label` names the column if it is computed."""

    name: str
    scalar: Scalar
    alias: str | None = None
    label: str | None = None


class SortTerm(NamedTuple):
    """One term of ORDER BY: `by` an output column, told by position, or by an expression."""

    by: int | Scalar
    descending: bool
    nulls_first: bool
    node: Any


def bind_select(context: Context, node: Any, ctes: Ctes | None) -> Bound:
    """The tree of one SELECT with its LIMIT; its order is both in `Bound.order` and, under a LIMIT, in the tree."""
    source = context.source
    source.only(node, *_CLAUSES, *_WINDOW_CLAUSES, ignored=("hint", "operation_modifiers"))
    with context.tables(all_columns=any(is_star(bare(item)) for item in node.expressions)):
        tree, scope = bind_from(context, node, ctes)
    group = node.args.get("group")
    sets = group is not None and group.find(exp.GroupingSets, exp.Cube, exp.Rollup) is not None
    scope.rows = None if sets else tree  # in a grouping set a key is NULL that may be so in no row of FROM
    block = _Block(context, scope)
    block.bind_items(node)
    if node.args.get("where") is not None:
        binder = ExpressionBinder(context, scope, "WHERE", aliases=block.aliases_before_unnest(), claims=block.claims)
        predicate = conjunction([binder.truth(node.args["where"].this)])
        refuse_windows(source, predicate, "WHERE", node.args["where"].this)
        tree = filtered(predicate, tree)
    if block.unnest is not None:
        tree = block.unnest.rows(tree)
    terms, distinct = block.bind_order(node.args.get("order")), node.args.get("distinct")
    if distinct is not None:
        source.only(distinct, "on")
    on = block.bind_distinct_on(distinct.args["on"]) if distinct is not None and distinct.args.get("on") is not None else []
    block.bind_qualify(node)
    block.refuse_beside_unnest(node, terms)
    rows, (tree, terms) = tree, block.group(tree, node, [*on, *terms])
    if tree is rows and node.args.get("order") is None and (distinct is None or on):
        terms += block.order_of_rows()
    tree, terms = block.place_windows(tree, terms, ordered_rows(context, scope) if tree is rows else ())
    if distinct is None:
        bound = block.project(tree, terms)
    elif on:
        bound = block.project_distinct_on(tree, terms[: len(on)], terms[len(on) :])
    else:
        bound = block.project_distinct(tree, terms)
    return limited(context, node, bound._replace(written=tuple(block.written)), ctes)


def _unnest_in(item: Any) -> Any:
    """The unnest in an item of SELECT, outside of subqueries."""
    inside = item.walk(prune=lambda node: isinstance(node, exp.Query))
    return next((node for node in inside if is_split(node) or is_series(node)), None)


class Unnest(NamedTuple):
    """An unnest among the items of SELECT: its value in each of the rows that `rows` makes of those of FROM and WHERE."""

    node: Any
    value: ColumnRef
    rows: Callable[[Tree], Tree]


class _Block:
    """The state of one block while its clauses are bound: items and, for messages, where their columns were written."""

    def __init__(self, context: Context, scope: Scope) -> None:
        self.context, self.scope = context, scope
        self.items: list[Item] = []
        self.written: list[tuple[Any, int]] = []  # the AST and the place of each item that is no star
        self.qualify: Scalar | None = None
        self.unnest: Unnest | None = None
        self.aliases: dict[str, Scalar] = {}
        self.refs: dict[ColumnId, Any] = {}
        self.claims: dict[AggregateCall, ColumnId] = {}  # aggregates of this block that stand in subqueries

    def bind_items(self, select: Any) -> None:
        """The select list; an item may use the aliases of those before it."""
        source, binder = self.context.source, self._binder("SELECT")
        for node in select.expressions:
            inner = bare(node)
            if is_star(inner):
                columns = expand_star(source, self.scope, inner, self.refs, binder.bind)
                self.items += [Item(name, scalar, alias, name) for name, scalar, alias in columns]
                self.aliases.update((alias.lower(), scalar) for _, scalar, alias in columns if alias is not None)
                continue
            alias = None
            if isinstance(node, exp.Alias):
                alias, inner = source.name(inner.args["alias"], label=True), bare(inner.this)
            if source.unnests and self.unnest is None and (below := _unnest_in(inner)) is not None:
                self.unnest = self._split(below) if is_split(below) else self._series(below)
                binder.unnested = (below, self.unnest.value)
            scalar = binder.bind(inner)
            self.written.append((inner, len(self.items)))
            name = alias if alias is not None else output_name(node, self.scope.spelling)
            self.items.append(Item(name, scalar, alias, name if isinstance(inner, exp.Column) else alias))
            if alias is not None:
                self.aliases[alias.lower()] = scalar  # of two items of one name the last is meant
        if not self.items:
            raise source.error("the SELECT list is empty", select, word="SELECT")

    def aliases_before_unnest(self) -> dict[str, Scalar]:
        """Those of items that do not read the value of an unnest, which rows have only after WHERE."""
        made = 0 if self.unnest is None else self.unnest.value.columns
        return {name: scalar for name, scalar in self.aliases.items() if not scalar.columns & made}

    def _split(self, node: Any) -> Unnest:
        context, part = self.context, self.context.columns.new("unnest", STRING, True).id
        split = bind_split(ExpressionBinder(context, self.scope, "unnest"), node)
        return Unnest(node, ColumnRef(part, STRING), lambda rows: unnested(context, rows, split, part))

    def _series(self, node: Any) -> Unnest:
        series = bind_series(self.context, node.this)
        value = reference(series.outputs[0].id, self.context.columns)
        return Unnest(node, value, lambda rows: Tree(Join(JoinKind.INNER, ()), (rows, series.tree)))

    def _binder(self, clause: str, aggregates: bool = True, prefer: Callable[[Scalar], bool] | None = None) -> ExpressionBinder:
        return ExpressionBinder(self.context, self.scope, clause, aggregates, self.aliases, prefer, self.claims, self.refs)

    def bind_order(self, clause: Any) -> list[SortTerm]:
        """ORDER BY terms: positions, ALL, aliases and names of the select list, or expressions over the input."""
        terms: list[SortTerm] = []
        if clause is None:
            return terms
        for node, descending, nulls_first in sort_terms(self.context.source, clause):
            if is_all(node):
                terms += [SortTerm(i, descending, nulls_first, node) for i in range(len(self.items))]
                continue
            terms.append(self._term(node, descending, nulls_first))
        return terms

    def order_of_rows(self) -> list[SortTerm]:
        """The ORDER BY of the derived table whose rows these are."""
        return [SortTerm(reference(key.column, self.context.columns), *key[1:], None) for key in self.scope.order]

    def bind_distinct_on(self, clause: Any) -> list[SortTerm]:
        """The expressions of DISTINCT ON (...), read as those of ORDER BY are."""
        nodes = clause.expressions if isinstance(clause, exp.Tuple) else [clause]
        if not nodes:
            raise self.context.source.error("DISTINCT ON of nothing", clause, "name what rows may agree on: DISTINCT ON (a, b)")
        return [self._term(bare(node), False, False) for node in nodes]

    def _term(self, node: Any, descending: bool, nulls_first: bool) -> SortTerm:
        position = output_position(self.context.source, node, len(self.items), "ORDER BY")
        if position is None:
            position = self._named_item(node)
        by = self._binder("ORDER BY").bind(node) if position is None else position
        return SortTerm(by, descending, nulls_first, node)

    def _named_item(self, node: Any) -> int | None:
        """The item a bare name means: the last alias, else the item that is a column of that name, where there is but one."""
        if not isinstance(node, exp.Column) or node.args.get("table") is not None or isinstance(node.this, exp.Star):
            return None
        named = [i for i, item in enumerate(self.items) if item.name.lower() == node.name.lower()]
        aliased = [i for i in named if self.items[i].alias is not None]
        if not aliased and len({self.items[i].scalar for i in named}) > 1:
            return None  # the input knows whether it has one such column
        return aliased[-1] if aliased else next(iter(named), None)

    def group(self, tree: Tree, node: Any, terms: list[SortTerm]) -> tuple[Tree, list[SortTerm]]:
        """GROUP BY and HAVING; afterwards items and sort terms are over groups. Nothing happens without aggregates."""
        context, source = self.context, self.context.source
        having = node.args.get("having")
        scalars = self._scalars(terms)
        refuse_windows(source, aggregate_calls(scalars), "an aggregate", node)
        if node.args.get("group") is None and having is None and not aggregate_calls(scalars) and not self.claims:
            return tree, terms
        by = self._group_by(node.args.get("group"))
        everything = _is_group_by_all(node.args.get("group"))
        if everything and not by.keys and having is None and not aggregate_calls(scalars) and not self.claims:
            return tree, terms
        refuse_windows(source, by.keys, "GROUP BY", node.args.get("group"))
        condition: Scalar | None = None
        if having is not None:
            keys = set() if everything else set(by.keys)  # that are columns are meant rather than aliases, but under ALL
            condition = self._binder("HAVING", prefer=keys.__contains__).truth(having.this)
            refuse_windows(source, [condition], "HAVING", having.this)
            scalars.append(condition)
        names = self._labels()
        for scalar in by.keys:
            names.setdefault(scalar, short_name(scalar))
        grouping = Grouping(context, tree, by, scalars, names, self.claims)
        tree = grouping.tree
        if condition is not None:
            tree = filtered(conjunction([grouping.over_groups(condition, self.refs)]), tree)
        return tree, self._changed(terms, lambda scalar: grouping.over_groups(scalar, self.refs))

    def _group_by(self, clause: Any) -> GroupBy:
        """The grouping sets; ALL is one of every item that reads a column and has no aggregates, if there is one."""
        if clause is None:
            return GroupBy()
        source = self.context.source
        for form in ("rollup", "cube"):
            if clause.args.get(form):
                raise source.error(f"WITH {form.upper()} cannot follow GROUP BY", clause, f"write {form.upper()} (a, b)")
        source.only(clause, "expressions", "all")
        if _is_group_by_all(clause):
            plain = [i.scalar for i in self.items if i.scalar.columns and not isinstance(i.scalar, WindowExpression)]
            keys = tuple(dict.fromkeys(settle_nulls(_key(s) for s in plain if not has_aggregate(s, self.claims))))
            return GroupBy(keys, (keys,)) if keys else GroupBy()
        if not clause.expressions:
            raise source.error("GROUP BY lists nothing", clause, word="GROUP")
        return group_by(source, clause.expressions, self._group_key, distinct=clause.args.get("all") is False)

    def _group_key(self, node: Any) -> Scalar:
        """A position, a column, an alias or an expression."""
        position = output_position(self.context.source, node, len(self.items), "GROUP BY")
        if position is not None:
            scalar = self.items[position].scalar
        else:
            scalar = self._binder("GROUP BY", aggregates=False).bind(node)
        if has_aggregate(scalar, self.claims) or has_grouping_call(scalar):
            raise self.context.source.error("an aggregate cannot stand in GROUP BY", node)
        return _key(scalar) if not pa.types.is_null(scalar.type) else Literal(None, INT32)

    def bind_qualify(self, node: Any) -> None:
        """QUALIFY: a condition on window functions."""
        check_windows(self.context.source, node)  # those that nothing uses have to make sense too
        clause = node.args.get("qualify")
        if clause is None:
            return
        self.qualify = self._binder("QUALIFY").truth(clause.this)
        if not window_expressions([*(i.scalar for i in self.items), self.qualify]):
            hint = "use WHERE, or HAVING for groups"
            raise self.context.source.error("QUALIFY needs a window function in it or in SELECT", clause.this, hint)

    def refuse_beside_unnest(self, node: Any, terms: list[SortTerm]) -> None:
        """Groups and windows would be made of the rows before an unnest in SELECT."""
        scalars, clauses = self._scalars(terms), (node.args.get("group"), node.args.get("having"), self.claims)
        if self.unnest is not None and (any(clauses) or aggregate_calls(scalars) or window_expressions(scalars)):
            hint = "unnest what a derived table has grouped: SELECT unnest(...), n FROM (SELECT x, count(*) n FROM t GROUP BY x)"
            raise self.context.source.unsupported("unnest in SELECT beside groups or window functions", self.unnest.node, hint)

    def _scalars(self, terms: list[SortTerm]) -> list[Scalar]:
        """All scalars over the rows after grouping: items, sort terms, QUALIFY."""
        found = [i.scalar for i in self.items] + [t.by for t in terms if isinstance(t.by, Scalar)]
        return found if self.qualify is None else [*found, self.qualify]

    def _changed(self, terms: list[SortTerm], change: Callable[[Scalar], Scalar]) -> list[SortTerm]:
        """The sort terms with `change` made to all those scalars, in their order."""
        self.items = [i._replace(scalar=change(i.scalar)) for i in self.items]
        terms = [t._replace(by=change(t.by)) if isinstance(t.by, Scalar) else t for t in terms]
        self.qualify = None if self.qualify is None else change(self.qualify)
        return terms

    def _labels(self) -> dict[Scalar, str]:
        """Names of computed columns; of two items with one value the first is meant."""
        return {i.scalar: i.label for i in reversed(self.items) if i.label is not None}

    def place_windows(self, tree: Tree, terms: list[SortTerm], rows: Sequence[Ordered]) -> tuple[Tree, list[SortTerm]]:
        """Windows, which see groups if there are any, then QUALIFY; afterwards items and sort terms are over their columns.
        `rows`: the order in which the rows of the tree come, if any."""
        scalars = self._scalars(terms)
        if not window_expressions(scalars):
            return tree, terms
        windows = Windows(self.context, tree, scalars, self._labels(), rows)
        terms = self._changed(terms, windows.over_windows)
        return filtered(conjunction([self.qualify]) if self.qualify is not None else (), windows.tree), terms

    def project(self, tree: Tree, terms: list[SortTerm]) -> Bound:
        """The outputs, and the columns sorted by that are not among them, over `tree`."""
        bound, keys = self._projected(tree, terms)
        return bound._replace(order=collation(keys))

    def _projected(self, tree: Tree, terms: list[SortTerm]) -> tuple[Bound, list[SortKey]]:
        """The outputs over `tree`, in no order, and a column for each of the terms."""
        shelf = Shelf(self.context, tree)
        outputs = []
        for item in self.items:
            scalar = self._bare_null(item.scalar)
            untyped = isinstance(scalar, Literal) and pa.types.is_null(scalar.type)
            id = shelf.column(Literal(None, INT32) if untyped else scalar, item.label)
            outputs.append(OutputColumn(item.name, id))
            if untyped:
                self.context.untyped.add(id)
        keys = []
        for term in terms:
            id = outputs[term.by].id if isinstance(term.by, int) else shelf.column(term.by, None)
            keys.append(SortKey(id, term.descending, term.nulls_first))
        return Bound(shelf.tree(), tuple(outputs)), keys

    def _bare_null(self, scalar: Scalar) -> Scalar:
        return self.context.bare_null(scalar) if isinstance(scalar, ScalarSubquery) else scalar

    def project_distinct_on(self, tree: Tree, on: list[SortTerm], terms: list[SortTerm]) -> Bound:
        """SELECT DISTINCT ON (a, b): the first row, in the order of the query, of those that agree on a and b."""
        bound, keys = self._projected(tree, [*on, *terms])
        partition = tuple(sorted({key.column for key in keys[: len(on)]}))
        order = collation(keys[len(on) :])
        within = tuple(key for key in order if key.column not in partition)
        tree, number = numbered(bound.tree, partition, within, self.context.columns)
        return Bound(Tree(Filter((compare("=", number, Literal(1, INT64)),)), (tree,)), bound.outputs, order)

    def project_distinct(self, tree: Tree, terms: list[SortTerm]) -> Bound:
        """SELECT DISTINCT: sort terms may use the outputs only, as other values are not the same in all duplicates; any values
        where there are none."""
        items = self.items
        selected = column_set(i.scalar.id for i in items if isinstance(i.scalar, ColumnRef))
        if any(isinstance(term.by, Scalar) for term in terms) and tree.props.unique_on(selected):
            return self.project(tree, terms)
        items = [i._replace(scalar=self._bare_null(i.scalar)) for i in items]
        shelf = Shelf(self.context, tree)
        shelf.keep(column_ids(tree.columns))
        values: dict[Scalar, Scalar] = {}
        for place, item in enumerate(items):
            if item.scalar.volatile:  # computed below the groups, each anew
                values[item.scalar] = reference(shelf.column(item.scalar, item.label), self.context.columns)
                items[place] = item._replace(scalar=values[item.scalar])
        terms = [t._replace(by=values.get(t.by, t.by)) if isinstance(t.by, Scalar) else t for t in terms]
        keys = tuple(dict.fromkeys(settle_nulls(_key(i.scalar) for i in items)))
        grouping = Grouping(self.context, shelf.tree(), GroupBy(keys, (keys,)), (), self._labels(), {})
        self.items = [i._replace(scalar=grouping.over_groups(i.scalar, {})) for i in items]
        return self.project(grouping.tree, [self._over_groups(term, grouping) for term in terms])

    def _over_groups(self, term: SortTerm, grouping: Grouping) -> SortTerm:
        if isinstance(term.by, int):
            return term
        try:
            return term._replace(by=grouping.over_groups(term.by, {}))
        except SqlError:
            raise self.context.source.error(
                "ORDER BY of SELECT DISTINCT takes expressions of the select list only",
                term.node,
                "add the expression to the select list, or say whose it is: GROUP BY the list, ORDER BY max(...)",
            ) from None


def _key(scalar: Scalar) -> Scalar:
    """What rows are grouped by: of a difference of timestamps, which nothing compares, its microseconds."""
    match scalar:
        case Call(function="to_interval", args=(microseconds,)):
            return microseconds
    return scalar


def _is_group_by_all(clause: Any) -> bool:
    return clause is not None and bool(clause.args.get("all")) and not clause.expressions
