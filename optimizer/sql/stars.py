"""`*`, `t.*`, `* EXCLUDE (...)`, `* REPLACE (... AS ...)` and `* RENAME (... AS ...)` in the select list."""

from collections.abc import Callable, Container
from typing import Any, NamedTuple

from sqlglot import exp

from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.scalars import Scalar
from optimizer.sql.scope import Scope, unknown_table
from optimizer.sql.source import Source, listing


class StarColumn(NamedTuple):
    """`alias`: its name, where the star replaces or renames it."""

    name: str
    scalar: Scalar
    alias: str | None = None


def is_star(node: Any) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def expand_star(
    source: Source, scope: Scope, node: Any, refs: dict[ColumnId, Any], bind: Callable[[Any], Scalar]
) -> list[StarColumn]:
    """The columns a star means, in order; `refs` learns where they were written. `bind`: an expression of REPLACE.

    A plain `*` gives a column merged by USING once, `t.*` gives all columns of t. Of columns with the name of a replacement the
    first is replaced and the others are left out, as in DuckDB.
    """
    star = node.this if isinstance(node, exp.Column) else node
    source.only(star, "except_", "replace", "rename")
    if isinstance(node, exp.Column):
        source.only(node, "this", "table")
        table = node.args["table"]
        relation = scope.relation(table.name)
        if relation is None:
            raise unknown_table(source, scope.relations, table)
        columns = [StarColumn(*column) for column in relation.columns]
    else:
        if not scope.relations:
            raise source.error("* without FROM", node, "add FROM and a table")
        columns = [StarColumn(v.name, v.scalar) for v in scope.visible]
    names = [column.name for column in columns]
    gone: set[str] = set()
    for excluded in star.args.get("except_") or ():
        if not isinstance(excluded, exp.Column | exp.Identifier):
            raise source.error("EXCLUDE takes names of columns", excluded)
        if (table := excluded.args.get("table")) is not None:  # of several columns of the name only that one goes
            name = excluded.name.lower()
            alike = [each for relation in scope.relations for each, _ in relation.columns if each.lower() == name]
            if isinstance(node, exp.Star) and len(alike) > sum(each.lower() == name for each in names):
                raise source.unsupported("EXCLUDE of one side of a USING", excluded, "write the column name alone")
            scalar = scope.find(source, table.name, excluded.name, excluded)
            if not any(column.scalar == scalar for column in columns):
                raise source.error(f'unknown column "{excluded.sql()}" in EXCLUDE', excluded, f"* has {listing(names)}")
            columns = [column for column in columns if column.scalar != scalar]
            continue
        _check_name(source, excluded, names, gone, "EXCLUDE")
        gone.add(excluded.name.lower())
    columns = [column for column in columns if column.name.lower() not in gone]
    for column in columns:
        for id in column_ids(column.scalar.columns):
            refs.setdefault(id, node)
    replaced: dict[str, StarColumn] = {}
    renamed: dict[str, str] = {}
    for item in star.args.get("rename") or ():
        if not isinstance(item, exp.Alias) or not isinstance(item.this, exp.Column) or item.this.table:
            raise source.error("RENAME takes the name of a column AS another name", item)
        _check_name(source, item.this, names, gone | set(renamed), "RENAME")
        renamed[item.this.name.lower()] = item.alias
    for item in star.args.get("replace") or ():
        if not isinstance(item, exp.Alias):
            raise source.error("REPLACE takes an expression AS the name of a column", item)
        name = item.args["alias"]
        _check_name(source, name, names, gone | set(renamed) | set(replaced), "REPLACE")
        replaced[name.name.lower()] = StarColumn(name.name, bind(item.this), name.name)
    firsts = {column.name.lower(): i for i, column in reversed(list(enumerate(columns)))}
    kept = [column for i, column in enumerate(columns) if column.name.lower() not in replaced or firsts[column.name.lower()] == i]
    columns = [replaced.get(column.name.lower(), column) for column in kept]
    return [c._replace(name=new, alias=new) if (new := renamed.get(c.name.lower())) is not None else c for c in columns]


def _check_name(source: Source, node: Any, names: list[str], before: Container[str], word: str) -> None:
    """Raise SqlError for a name that * does not have, or that was there `before`."""
    if node.name.lower() in before:
        raise source.error(f'column "{node.name}" is named twice in EXCLUDE, REPLACE and RENAME', node)
    if node.name.lower() not in map(str.lower, names):
        hint = f"* has {listing(names, near=node.name)}"
        raise source.error(f'unknown column "{node.name}" in {word}', node, hint)
