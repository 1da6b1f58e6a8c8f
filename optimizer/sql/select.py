"""One SELECT block: FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT, ORDER BY, LIMIT, in the order they run.

Names follow DuckDB: a column wins over an alias, except that a term of ORDER BY that is just a name means the alias.
A Project is made only when something has to be computed; otherwise outputs are columns of the tree as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
from sqlglot import exp

from optimizer.algebra.columns import ColumnId, column_set
from optimizer.algebra.logical import Aggregate, Filter, Project, ProjectItem
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.scalars import ColumnRef, Literal, Scalar, conjunction
from optimizer.algebra.traits import SortKey
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT32
from optimizer.sql.coerce import bare
from optimizer.sql.context import Bound, Context, Ctes
from optimizer.sql.expressions import ExpressionBinder
from optimizer.sql.from_clause import bind_from
from optimizer.sql.grouping import Grouping, aggregate_calls, unique_columns
from optimizer.sql.names import output_name, short_name
from optimizer.sql.ordering import collation, is_all, limited, output_position, sort_terms
from optimizer.sql.scope import Scope
from optimizer.sql.source import form_name
from optimizer.sql.stars import expand_star

_CLAUSES = ("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_")


class Item(NamedTuple):
    """One column of the select list; `alias` only when one was written. `label` names the column if it is computed."""

    name: str
    scalar: Scalar
    alias: str | None = None
    label: str | None = None


class SortTerm(NamedTuple):
    """One term of ORDER BY: an output column by position, or an expression."""

    output: int | None
    scalar: Scalar | None
    descending: bool
    nulls_first: bool
    node: Any


def bind_select(context: Context, node: Any, ctes: Ctes | None, operand: bool = False) -> Bound:
    """The tree of one SELECT with its LIMIT; its order is both in `Bound.order` and, under a LIMIT, in the tree.

    As `operand` of a set operation a bare NULL keeps the NULL type.
    """
    source = context.source
    source.only(node, *_CLAUSES, ignored=("hint", "operation_modifiers"))
    tree, scope = bind_from(context, node, ctes)
    block = _Block(context, scope, operand)
    block.bind_items(node)
    if node.args.get("where") is not None:
        binder = ExpressionBinder(source, scope, "WHERE", aliases=block.aliases)
        predicate = conjunction([binder.truth(node.args["where"].this)])
        tree = Tree(Filter(predicate), (tree,)) if predicate else tree
    terms = block.bind_order(node.args.get("order"))
    tree, terms = block.group(tree, node, terms)
    distinct = node.args.get("distinct")
    if distinct is not None:
        source.only(distinct, "on")
    if distinct is not None and distinct.args.get("on") is not None:
        raise source.unsupported("DISTINCT ON", distinct.args["on"], "use GROUP BY with min or max", word="ON")
    bound = block.project(tree, terms) if distinct is None else block.project_distinct(tree, terms)
    return limited(context, node, bound)


class _Block:
    """The state of one block while its clauses are bound: items and, for messages, where their columns were written."""

    __slots__ = ("aliases", "context", "items", "operand", "refs", "scope")

    def __init__(self, context: Context, scope: Scope, operand: bool) -> None:
        self.context, self.scope, self.operand = context, scope, operand
        self.items: list[Item] = []
        self.aliases: dict[str, Scalar] = {}
        self.refs: dict[ColumnId, Any] = {}

    def bind_items(self, select: Any) -> None:
        """The select list; an item may use the aliases of those before it."""
        source = self.context.source
        for node in select.expressions:
            inner = bare(node)
            if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
                self.items += [
                    Item(name, scalar, None, name) for name, scalar in expand_star(source, self.scope, inner, self.refs)
                ]
                continue
            alias = None
            if isinstance(inner, exp.Alias):
                source.only(inner, "this", "alias")
                alias, inner = inner.alias, bare(inner.this)
            binder = self._binder("SELECT", aggregates=True)
            scalar = binder.bind(inner)
            self._remember(binder)
            if pa.types.is_null(scalar.type) and isinstance(scalar, Literal) and not self.operand:
                scalar = Literal(None, INT32)
            name = alias if alias is not None else output_name(inner)
            self.items.append(Item(name, scalar, alias, name if isinstance(inner, exp.Column) else alias))
            if alias is not None:
                self.aliases.setdefault(alias.lower(), scalar)
        if not self.items:
            raise source.error("the SELECT list is empty", select, word="SELECT")

    def _binder(self, clause: str, aggregates: bool) -> ExpressionBinder:
        return ExpressionBinder(self.context.source, self.scope, clause, aggregates, self.aliases)

    def _remember(self, binder: ExpressionBinder) -> None:
        for id, node in binder.refs.items():
            self.refs.setdefault(id, node)

    def bind_order(self, clause: Any) -> list[SortTerm]:
        """ORDER BY terms: positions, ALL, aliases and names of the select list, or expressions over the input."""
        terms: list[SortTerm] = []
        if clause is None:
            return terms
        for node, descending, nulls_first in sort_terms(self.context.source, clause):
            if is_all(node):
                terms += [SortTerm(i, None, descending, nulls_first, node) for i in range(len(self.items))]
                continue
            position = output_position(self.context.source, node, len(self.items), "ORDER BY")
            if position is None:
                position = self._named_item(node)
            scalar = None
            if position is None:
                binder = self._binder("ORDER BY", aggregates=True)
                scalar = binder.bind(node)
                self._remember(binder)
            terms.append(SortTerm(position, scalar, descending, nulls_first, node))
        return terms

    def _named_item(self, node: Any) -> int | None:
        """The item a bare name means: an alias first, then an item that is a column of that name."""
        if not isinstance(node, exp.Column) or node.args.get("table") is not None or isinstance(node.this, exp.Star):
            return None
        name = node.name.lower()
        for explicit in (True, False):
            for i, item in enumerate(self.items):
                if item.name.lower() == name and (item.alias is not None) == explicit:
                    return i
        return None

    def group(self, tree: Tree, node: Any, terms: list[SortTerm]) -> tuple[Tree, list[SortTerm]]:
        """GROUP BY and HAVING; afterwards items and sort terms are over groups. Nothing happens without aggregates."""
        context, source = self.context, self.context.source
        having = node.args.get("having")
        scalars = [i.scalar for i in self.items] + [t.scalar for t in terms if t.scalar is not None]
        if node.args.get("group") is None and having is None and not aggregate_calls(scalars):
            return tree, terms
        keys = self._group_keys(node.args.get("group"))
        condition: Scalar | None = None
        if having is not None:
            grouped = set(keys)
            binder = ExpressionBinder(source, self.scope, "HAVING", True, self.aliases, prefer=grouped.__contains__)
            condition = binder.truth(having.this)
            self._remember(binder)
            scalars.append(condition)
        names = {i.scalar: i.label for i in reversed(self.items) if i.label is not None}
        for scalar in keys:
            names.setdefault(scalar, short_name(scalar))
        grouping = Grouping(context, tree, keys, scalars, names)
        tree = grouping.tree
        if condition is not None:
            predicate = conjunction([grouping.over_groups(condition, self.refs)])
            tree = Tree(Filter(predicate), (tree,)) if predicate else tree
        self.items = [i._replace(scalar=grouping.over_groups(i.scalar, self.refs)) for i in self.items]
        return tree, [t if t.scalar is None else t._replace(scalar=grouping.over_groups(t.scalar, self.refs)) for t in terms]

    def _group_keys(self, clause: Any) -> list[Scalar]:
        """Positions, ALL (every item without aggregates), columns, then aliases, or expressions."""
        if clause is None:
            return []
        source = self.context.source
        for form in ("grouping_sets", "cube", "rollup"):
            if clause.args.get(form):
                raise self._many_groupings(form.replace("_", " ").upper(), clause.args[form][0])
        source.only(clause, "expressions", "all")
        if clause.args.get("all"):
            return [i.scalar for i in self.items if not aggregate_calls([i.scalar])]
        keys = []
        for part in clause.expressions:
            node = bare(part)
            if isinstance(node, exp.GroupingSets | exp.Cube | exp.Rollup):
                raise self._many_groupings(form_name(node), node)
            if isinstance(node, exp.Tuple):
                if node.expressions:
                    raise source.unsupported("a row value in GROUP BY", node, "list the expressions without parentheses")
                continue
            position = output_position(source, node, len(self.items), "GROUP BY")
            if position is not None:
                scalar = self.items[position].scalar
            else:
                binder = self._binder("GROUP BY", aggregates=False)
                scalar = binder.bind(node)
                self._remember(binder)
            if aggregate_calls([scalar]):
                raise source.error("an aggregate cannot stand in GROUP BY", node)
            keys.append(scalar if not pa.types.is_null(scalar.type) else Literal(None, INT32))
        return keys

    def _many_groupings(self, form: str, node: Any) -> Exception:
        hint = "combine several GROUP BY with UNION ALL"
        return self.context.source.unsupported(form, node, hint, word=form.split()[0])

    def project(self, tree: Tree, terms: list[SortTerm]) -> Bound:
        """The outputs, and the columns sorted by that are not among them, over `tree`."""
        shelf = _Shelf(self.context, tree)
        outputs = [OutputColumn(i.name, shelf.column(i.scalar, i.label)) for i in self.items]
        keys = []
        for term in terms:
            id = outputs[term.output].id if term.output is not None else shelf.column(_some(term.scalar), None)
            keys.append(SortKey(id, term.descending, term.nulls_first))
        return Bound(shelf.tree(), tuple(outputs), collation(keys))

    def project_distinct(self, tree: Tree, terms: list[SortTerm]) -> Bound:
        """SELECT DISTINCT: sort terms may use the outputs only, as other values are not the same in all duplicates."""
        plain = self.project(tree, [])
        ids = unique_columns(o.id for o in plain.outputs)
        tree = Tree(Aggregate(ids, ()), (plain.tree,))
        values = {i.scalar: o.id for i, o in zip(self.items, plain.outputs, strict=True)}
        shelf = _Shelf(self.context, tree)
        for id in ids:
            shelf.column(ColumnRef(id, self.context.columns[id].type), None)
        keys: list[SortKey] = []
        for term in terms:
            if term.output is not None:
                id = plain.outputs[term.output].id
            else:
                scalar = _over_outputs(_some(term.scalar), values)
                if scalar.columns & ~column_set(ids):
                    raise self.context.source.error(
                        "ORDER BY of SELECT DISTINCT takes expressions of the select list only",
                        term.node,
                        "add the expression to the select list",
                    )
                id = shelf.column(scalar, None)
            keys.append(SortKey(id, term.descending, term.nulls_first))
        return Bound(shelf.tree(), plain.outputs, collation(keys))


class _Shelf:
    """The columns a Project over `tree` will have: those passed through and those computed, each scalar once."""

    __slots__ = ("_below", "_computed", "_context", "_passed")

    def __init__(self, context: Context, tree: Tree) -> None:
        self._context, self._below = context, tree
        self._passed: dict[ColumnId, ProjectItem] = {}
        self._computed: dict[Scalar, ProjectItem] = {}

    def column(self, scalar: Scalar, label: str | None) -> ColumnId:
        """The id under which the Project gives `scalar`; a volatile one is computed anew for each use."""
        if isinstance(scalar, ColumnRef):
            self._passed.setdefault(scalar.id, ProjectItem(scalar.id, scalar))
            return scalar.id
        known = self._computed.get(scalar)
        if known is not None and not scalar.volatile:
            return known.id
        id = self._context.compute(label or short_name(scalar), scalar, self._below.props.not_null)
        if known is not None:
            self._passed[id] = ProjectItem(id, scalar)
        else:
            self._computed[scalar] = ProjectItem(id, scalar)
        return id

    def tree(self) -> Tree:
        """The Project; the tree itself when nothing is computed."""
        items = (*self._passed.values(), *self._computed.values())
        if all(isinstance(item.value, ColumnRef) for item in items):
            return self._below
        return Tree(Project(items), (self._below,))


def _some(scalar: Scalar | None) -> Scalar:
    assert scalar is not None, "a sort term is a position or an expression"
    return scalar


def _over_outputs(scalar: Scalar, values: dict[Scalar, ColumnId]) -> Scalar:
    """`scalar` with every select-list expression in it replaced by that output column."""
    id = values.get(scalar)
    if id is not None:
        return ColumnRef(id, scalar.type)
    children = scalar.children
    return scalar.with_children(tuple(_over_outputs(c, values) for c in children)) if children else scalar
