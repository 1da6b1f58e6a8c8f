"""`*`, `t.*` and `* EXCLUDE (...)` in the select list."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from optimizer.algebra.columns import ColumnId, column_ids
from optimizer.algebra.scalars import Scalar
from optimizer.sql.scope import Scope
from optimizer.sql.source import Source, listing, suggestion


def expand_star(source: Source, scope: Scope, node: Any, refs: dict[ColumnId, Any]) -> list[tuple[str, Scalar]]:
    """The columns a star means, in order; `refs` learns where they were written.

    A plain `*` gives a column merged by USING once, `t.*` gives all columns of t.
    """
    star = node.this if isinstance(node, exp.Column) else node
    if star.args.get("replace"):
        raise source.unsupported("* REPLACE", star, "list the columns, or use * EXCLUDE (...) and the new expression")
    source.only(star, "except_")
    if isinstance(node, exp.Column):
        source.only(node, "this", "table")
        table = node.args["table"]
        relation = scope.relation(table.name)
        if relation is None:
            known = [r.alias for r in scope.relations]
            close = suggestion(table.name, known)
            hint = f"FROM has {listing(known)}" if known else "there is no FROM clause"
            raise source.error(f'unknown table "{table.name}"', table, hint + (f'; did you mean "{close}"?' if close else ""))
        columns = relation.columns
    else:
        if not scope.relations:
            raise source.error("* without FROM", node, "add FROM and a table")
        columns = [(v.name, v.scalar) for v in scope.visible]
    for excluded in star.args.get("except_") or ():
        if not isinstance(excluded, exp.Column | exp.Identifier):
            raise source.error("EXCLUDE takes names of columns", excluded)
        if excluded.args.get("table") is not None:
            raise source.unsupported("a qualified name in EXCLUDE", excluded, "write the column name alone, or use t.* EXCLUDE")
        name = excluded.name.lower()
        kept = [c for c in columns if c[0].lower() != name]
        if len(kept) == len(columns):
            names = [c[0] for c in columns]
            close = suggestion(excluded.name, names)
            hint = f"* has {listing(names)}" + (f'; did you mean "{close}"?' if close else "")
            raise source.error(f'unknown column "{excluded.name}" in EXCLUDE', excluded, hint)
        columns = kept
    for _, scalar in columns:
        for id in column_ids(scalar.columns):
            refs.setdefault(id, node)
    return columns
