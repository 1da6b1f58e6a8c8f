"""FROM: tables, derived tables, common table expressions, VALUES, and the joins between them.

Every reference gets column ids of its own, also of the same table or CTE. A comma is a cross join that binds less tightly
than JOIN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from sqlglot import exp

from optimizer.algebra.building import passed_all, reference
from optimizer.algebra.columns import ColumnId
from optimizer.algebra.logical import Project, ProjectItem, Scan, ScanColumn, ScanForeignKey
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.scalars import Call, ColumnRef, Scalar
from optimizer.algebra.traits import ascending
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT64, INTERVAL, STRING
from optimizer.catalog.table import Table
from optimizer.errors import in_one_line, many
from optimizer.sql.context import Bound, Context, Ctes
from optimizer.sql.ctes import bind_reference
from optimizer.sql.expressions import ExpressionBinder
from optimizer.sql.joins import FromItem, cross, join
from optimizer.sql.parse import COMMA_JOIN
from optimizer.sql.scope import Relation, Scope, in_schema
from optimizer.sql.source import form_name, listing
from optimizer.sql.unnest import bind_split, is_split, unnested
from optimizer.sql.values import SERIES, bind_series, bind_values, is_series, one_row


def bind_from(context: Context, node: Any, ctes: Ctes | None) -> FromItem:
    """The rows a SELECT works on and the names in reach; one row without names when there is no FROM."""
    clause = node.args.get("from_")
    if clause is None:
        for item in node.args.get("joins") or ():
            raise context.source.error("a join without FROM", item)
        return FromItem(one_row(context), Scope(ctes=ctes))
    parts: list[tuple[Any, list[Any]]] = [(clause.this, [])]
    if clause.this.args.get("joins"):  # FROM t, u SELECT ...: the parser has hung them on the first table
        node.set("joins", [*clause.this.args.pop("joins"), *(node.args.get("joins") or ())])
    for item in node.args.get("joins") or ():
        if item.meta.get(COMMA_JOIN):
            context.source.only(item, "this")
            parts.append((item.this, []))
        else:
            parts[-1][1].append(item)
    result: FromItem | None = None
    for table, joins in parts:
        if is_split(table):
            _check_behind_unnest(context, result, joins)
            result = _joined(context, _unnest(context, result, table), joins, ctes)
            continue
        if result is None:
            result = _joined(context, bind_table(context, table, ctes), joins, ctes)
            continue
        with context.inside(_left_of(context, result)):
            part = _joined(context, bind_table(context, table, ctes), joins, ctes)
        _check_aliases(context, result.scope.beside(part.scope), table)
        result = cross(context, result, part, table)
    assert result is not None, "FROM has at least one table"
    return FromItem(result.tree, result.scope.with_ctes(ctes))


def _joined(context: Context, left: FromItem, joins: list[Any], ctes: Ctes | None) -> FromItem:
    left = FromItem(left.tree, left.scope.with_ctes(ctes))
    for node in joins:
        if is_split(node.this):
            left = _unnest(context, left, node.this, node)
            continue
        with context.inside(_left_of(context, left)):
            right = bind_table(context, node.this, ctes)
        _check_aliases(context, left.scope.beside(right.scope), node.this)
        left = join(context, left, right, node)
    return left


def _unnest(context: Context, left: FromItem | None, node: Any, joined: Any = None) -> FromItem:
    """`left` with unnest(string_split(...)), which may read its columns; `joined`: the JOIN that it stands in."""
    source = context.source
    call = node.this if isinstance(node, exp.Lateral) else node
    source.only(call, "expressions", "alias", ignored=() if call.args.get("offset") else ("offset",))
    if joined is not None:
        kind = (*(str(joined.args.get(k) or "").upper() for k in ("method", "side", "kind")),)
        on = joined.args.get("on")
        if kind not in (("", "", "CROSS"), ("", "", ""), ("", "", "INNER"), ("", "LEFT", ""), ("", "LEFT", "OUTER")):
            raise source.unsupported(
                f"{' '.join(filter(None, kind))} JOIN of unnest", node, "use CROSS JOIN or LEFT JOIN ... ON TRUE"
            )
        if joined.args.get("using") or (on is None) is not (kind[2] == "CROSS") or (on is not None and on != exp.true()):
            raise source.unsupported("JOIN of unnest on a condition", node, "write ON TRUE, and the condition in WHERE")
    left = left or FromItem(one_row(context), Scope())
    split = bind_split(ExpressionBinder(context, left.scope, "unnest"), call)
    part = context.columns.new("unnest", STRING, True).id
    tree = unnested(context, left.tree, split, part, outer=joined is not None and kind[1] == "LEFT")
    alias = node.args.get("alias") or call.args.get("alias")
    bound = Bound(tree, (OutputColumn("unnest", part),))
    relation = _relation(context, _alias_name(context, alias) or "unnest", bound, _alias_columns(alias))
    scope = left.scope.beside(Scope((relation,)))
    _check_aliases(context, scope, node)
    return FromItem(tree, scope)


def _check_behind_unnest(context: Context, left: FromItem | None, joins: list[Any]) -> None:
    """The joins after a comma and an unnest are made with all that stands before it, which is the same for most joins."""
    for node in joins if left is not None else ():
        if node.args.get("method") or node.args.get("side") in ("RIGHT", "FULL"):
            form = "a RIGHT, FULL or NATURAL JOIN behind a comma and unnest"
            raise context.source.unsupported(form, node.this, "write CROSS JOIN unnest(...)")


def _left_of(context: Context, left: FromItem) -> ExpressionBinder:
    """What stands around an entry of FROM: the entries before it, to which it may refer, with or without the word LATERAL."""
    left.scope.rows = left.tree
    return ExpressionBinder(context, left.scope, "LATERAL")


def bind_table(context: Context, node: Any, ctes: Ctes | None) -> FromItem:
    """One entry of FROM."""
    from optimizer.sql.query import bind_query, with_ctes  # a query contains a FROM clause, which contains queries

    source = context.source
    context.enter(node)
    match node:
        case exp.Table():
            return _table(context, node, ctes)
        case exp.Values():
            item = _aliased(context, node, bind_values(context, node, ctes, joined=True))
            return _joined(context, item, node.args.get("joins") or [], ctes)
        case exp.Subquery():
            source.only(node, "this", "alias", "joins", "with_", "order", "limit", "offset", ignored=("is_wrapper",))
            inner = node.this
            while isinstance(inner, exp.Subquery) and inner.args.get("alias") is None and not inner.args.get("joins"):
                if _has_clauses(inner):
                    break
                source.only(inner, "this")
                inner = inner.this
            if isinstance(inner, exp.Table) and not inner.args.get("joins"):
                raise source.error("parentheses around one table", inner, f"write FROM {inner.sql()}")
            named = isinstance(inner, exp.Subquery) and inner.args.get("alias") is not None
            joined = isinstance(inner, exp.Subquery | exp.Values) and inner.args.get("joins")
            if isinstance(inner, exp.Table) or named or joined:
                renamed = node.args.get("alias") is not None
                with context.tables(all_columns=context.all_columns or renamed):
                    item = bind_table(context, inner, with_ctes(context, node, ctes))
                item = _renamed(context, node, item) if renamed else item
            else:
                bound = bind_query(context, node if _has_clauses(node) else inner, ctes, derived=True)
                item = _aliased(context, node, bound)
            return _joined(context, item, node.args.get("joins") or [], ctes)
        case exp.Lateral() if isinstance(node.this, exp.Subquery) and not node.args.get("view"):
            source.only(node, "this", "alias", ignored=("view", "outer", "ordinality"))
            return _aliased(context, node, bind_query(context, node.this, ctes))
        case exp.Unnest() | exp.Lateral() if is_series(node):
            call = node.this if isinstance(node, exp.Lateral) else node
            source.only(call, "expressions", "alias", ignored=() if call.args.get("offset") else ("offset",))
            bound = bind_series(context, call.expressions[0])
            return _aliased(context, node, bound._replace(outputs=(bound.outputs[0]._replace(name="unnest"),)), "unnest")
        case exp.Lateral():
            raise source.unsupported("LATERAL without a subquery", node, "write LATERAL (SELECT ...)", word="LATERAL")
        case exp.Unnest():
            raise source.unsupported("unnest of anything but string_split(x, ',')", node, "list values with VALUES (...)")
        case None:
            raise source.error("a table is missing in FROM")
    raise source.unsupported(f"{form_name(node)} in FROM", node)


def _has_clauses(node: Any) -> bool:
    """Whether these parentheses have a WITH, ORDER BY or LIMIT of their own."""
    return any(node.args.get(k) for k in ("with_", "order", "limit", "offset"))


def _table(context: Context, node: Any, ctes: Ctes | None) -> FromItem:
    source = context.source
    if isinstance(node.this, exp.Values):  # VALUES at the start of a join in parentheses
        source.only(node, "this", "alias", "joins")
        item = _aliased(context, node, bind_values(context, node.this, ctes))
    elif isinstance(node.this, exp.Anonymous) and node.this.name.lower() in SERIES:
        source.only(node, "this", "alias", "joins")
        item = _aliased(context, node, bind_series(context, node.this), node.this.name.lower())
    elif not isinstance(node.this, exp.Identifier):
        raise source.unsupported("a table function", node, "read a table of the dataset")
    else:
        of_all = ("only",) if node.args.get("only") is True else ()  # no table is derived from another
        source.only(node, "this", "alias", "db", "catalog", "joins", ignored=of_all)
        cte = ctes.find(node.name) if ctes is not None and node.args.get("db") is None else None
        if cte is None:
            item = _scan(context, node, _stored_table(context, node, node.name, ctes))
        else:
            bound = _told_apart_columns(context, bind_reference(context, cte, node))
            relation = _relation(context, cte.name, bound, cte.columns)
            item = FromItem(bound.tree, Scope((relation,), order=bound.order))
            item = _renamed(context, node, item) if node.args.get("alias") is not None else item
    return _joined(context, item, node.args.get("joins") or [], ctes)


def _stored_table(context: Context, node: Any, name: str, ctes: Ctes | None) -> Table:
    table = context.catalog.table(name) if in_schema(node) else None
    if table is not None and node.args.get("catalog") is None:
        return table
    if node.args.get("db") is not None:
        full = in_one_line(".".join(part.name for part in node.parts))
        raise context.source.error(f'unknown table "{full}"', node, "tables have no schema name")
    known = [*context.catalog.tables, *(cte.name for cte in (ctes.and_outer() if ctes is not None else ()))]
    hint = f"the tables are {listing(known, 8, name)}" if known else "the dataset has no tables"
    inside = node.find_ancestor(exp.CTE)
    while inside is not None and inside.alias.lower() != name.lower():
        inside = inside.find_ancestor(exp.CTE)
    if inside is not None:
        hint = "write WITH RECURSIVE for a query that reads itself"
    beside = next((file for file in context.catalog.passed_over if file.lower().startswith(f"{name.lower()}.")), None)
    if beside is not None:
        hint += f"\nthere is a file {beside}, which is not read: planscope data import reads further kinds of files"
    raise context.source.error(f'unknown table "{name}"', node.this, hint)


def _scan(context: Context, node: Any, table: Table) -> FromItem:
    """The columns of a stored table that the text may mean, under new ids, with the catalog's keys and stored order."""
    alias_node = node.args.get("alias")
    alias = _alias_name(context, alias_node) or table.name
    given = _alias_columns(alias_node)
    stored = context.stored(table, everything=bool(given))
    scan, columns, names = stored.scan, stored.columns, stored.names
    first = context.columns.of_table(columns, stored.types, alias)
    read = tuple(map(_scan_column, range(first, first + len(names)), names))
    keys, order = tuple(key << first for key in scan.keys), ascending(first + key.column for key in scan.order)
    foreign = tuple(ScanForeignKey(tuple(map(first.__add__, ids)), there, keys) for ids, there, keys in scan.foreign_keys)
    tree = Tree(Scan(table.name, alias, read, keys, scan.not_null << first, order, foreign_keys=foreign))
    names = _names(context, given, alias, names) if given else names
    relation = Relation(alias, names, lambda place: ColumnRef(first + place, columns[place].type))
    return FromItem(tree, Scope((relation,)))


_scan_column = lru_cache(maxsize=16384)(ScanColumn)  # ids begin at 0 in each query, so they are made of few of them


def _aliased(context: Context, node: Any, bound: Bound, name: str | None = None) -> FromItem:
    """A derived table under its alias and column aliases; without alias it is called `name`, if there is one."""
    alias_node = node.args.get("alias")
    alias = _alias_name(context, alias_node) or name or context.unnamed()
    bound = _told_apart_columns(context, bound)
    relation = _relation(context, alias, bound, _alias_columns(alias_node))
    return FromItem(bound.tree, Scope((relation,), order=bound.order))


def _told_apart_columns(context: Context, bound: Bound) -> Bound:
    """Two outputs that are one column become two: in a grouping set that has the first, the second is NULL."""
    seen: set[ColumnId] = set()
    copies: dict[int, ProjectItem] = {}
    for place, output in enumerate(bound.outputs):
        if output.id in seen:
            scalar = reference(output.id, context.columns)
            copies[place] = ProjectItem(context.compute(output.name, scalar), scalar)
            if output.id in context.untyped:
                context.untyped.add(copies[place].id)
            duration = context.duration(output.id, bound.tree)
            if duration is not None:
                context.durations[copies[place].id] = duration
        seen.add(output.id)
    if not copies:
        return bound
    tree = Tree(Project((*passed_all(bound.tree, context.columns), *copies.values())), (bound.tree,))
    outputs = tuple(o._replace(id=copies[i].id) if i in copies else o for i, o in enumerate(bound.outputs))
    return bound._replace(tree=tree, outputs=outputs)


def _relation(context: Context, alias: str, bound: Bound, given: tuple[Any, ...]) -> Relation:
    """The outputs of a query as columns of a relation, the first under the `given` names."""
    ids = [output.id for output in bound.outputs]
    names = _names(context, given, alias, [output.name for output in bound.outputs])

    def scalar(place: int) -> Scalar:
        duration = context.duration(ids[place], bound.tree)
        if duration is None:
            return reference(ids[place], context.columns)
        return Call("to_interval", (ColumnRef(duration, INT64),), INTERVAL)  # with which one can compute

    return Relation(alias, names, scalar)


def _told_apart(names: Iterable[str]) -> tuple[str, ...]:
    """Different names: a repeated x becomes x_1, x_2."""
    result: list[str] = []
    taken: set[str] = set()
    for original in names:
        name, n = original, 0
        while name.lower() in taken:
            n += 1
            name = f"{original}_{n}"
        taken.add(name.lower())
        result.append(name)
    return tuple(result)


def _renamed(context: Context, node: Any, item: FromItem) -> FromItem:
    """The columns in reach of `item` as those of one relation under the alias of `node`."""
    alias_node = node.args["alias"]
    visible = item.scope.visible
    alias = _alias_name(context, alias_node) or item.scope.relations[0].alias
    names = _names(context, _alias_columns(alias_node), alias, [v.name for v in visible])
    relation = Relation(alias, names, [v.scalar for v in visible].__getitem__)
    return FromItem(item.tree, Scope((relation,), order=item.scope.order))


def _alias_name(context: Context, node: Any) -> str | None:
    return context.source.name(node.this) if node is not None and node.this is not None else None


def _alias_columns(node: Any) -> tuple[Any, ...]:
    return tuple(node.args.get("columns") or ()) if node is not None else ()


def _names(context: Context, given: tuple[Any, ...], alias: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names of a relation's columns, the first ones as `given`, all different."""
    if len(given) > len(names):
        raise context.source.error(f'"{alias}" has {many(len(names), "column")} but {len(given)} column names', given[len(names)])
    seen: set[str] = set()
    for identifier in given:
        if not isinstance(identifier, exp.Identifier):
            raise context.source.unsupported("a type behind a column name", identifier, "give the names alone")
        if identifier.name.lower() in seen:
            raise context.source.error(f'column name "{identifier.name}" is given twice', identifier)
        seen.add(identifier.name.lower())
    return _told_apart((*(identifier.name for identifier in given), *names[len(given) :]))


def _check_aliases(context: Context, scope: Scope, node: Any) -> None:
    seen: set[str] = set()
    for relation in scope.relations:
        if relation.key in seen:
            raise context.source.error(
                f'two tables in FROM are named "{relation.alias}"', node, f"give one an alias: {relation.alias} AS other"
            )
        seen.add(relation.key)
