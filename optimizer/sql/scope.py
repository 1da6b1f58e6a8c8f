"""Names: which column of which relation an identifier means.

A scope belongs to one FROM clause (or, inside ON, to the two sides of a join). Names are case-insensitive. A column
merged by USING or NATURAL has one unqualified meaning; qualified, each side still has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.types import is_opaque, type_name
from optimizer.sql.source import Source, listing, suggestion

if TYPE_CHECKING:
    from optimizer.sql.context import Ctes


class Relation(NamedTuple):
    """One entry of FROM under its alias: its columns in order."""

    alias: str
    columns: tuple[tuple[str, Scalar], ...]


class Visible(NamedTuple):
    """A column an unqualified name can mean, in the order of `*`; `owners` are the aliases it belongs to."""

    name: str
    scalar: Scalar
    owners: tuple[str, ...]


class Scope(NamedTuple):
    """What one FROM clause puts in reach; `ctes` are the common table expressions that subqueries beside it may name."""

    relations: tuple[Relation, ...] = ()
    visible: tuple[Visible, ...] = ()
    ctes: Ctes | None = None

    @property
    def columns(self) -> ColumnSet:
        """Every column that a name can mean here, or that such a meaning is computed from."""
        columns = 0
        for relation in self.relations:
            for _, scalar in relation.columns:
                columns |= scalar.columns
        return columns

    def relation(self, alias: str) -> Relation | None:
        wanted = alias.lower()
        return next((r for r in self.relations if r.alias.lower() == wanted), None)

    def meanings(self, name: str) -> list[Visible]:
        wanted = name.lower()
        return [v for v in self.visible if v.name.lower() == wanted]

    def lookup(self, table: str | None, name: str) -> list[Scalar]:
        """Everything `name` or `table.name` can mean."""
        if table is None:
            return [v.scalar for v in self.meanings(name)]
        relation = self.relation(table)
        return [] if relation is None else [s for n, s in relation.columns if n.lower() == name.lower()]

    def find(self, source: Source, table: str | None, name: str, node: Any) -> Scalar | None:
        """The column, None when there is none; SqlError when it is ambiguous.

        `node` is the AST column.
        """
        found = self.lookup(table, name)
        if len(found) == 1:
            return found[0]
        if found:
            owners = sorted({o for v in self.meanings(name) for o in v.owners})
            hint = "write " + " or ".join(f"{owner}.{name}" for owner in owners) if len(owners) > 1 else None
            raise source.error(f'column "{name}" is ambiguous', node.this, hint)
        return None


def unknown(source: Source, relations: Sequence[Relation], aliases: Sequence[str], node: Any) -> Exception:
    """The error for a column that nothing in reach has: what exists, and the closest name.

    `relations` are those of this FROM and of the queries around it, innermost first; `aliases` are further names that would
    have been possible. `node` is the AST column.
    """
    name = node.name
    table = node.args["table"].name if node.args.get("table") is not None else None
    named = [r for r in relations if table is None or r.alias.lower() == table.lower()]
    if table is not None and not named:
        fields = [s for r in relations for n, s in r.columns if n.lower() == table.lower()]
        if fields and is_opaque(fields[0].type):
            return source.unsupported(f'"{table}.{name}", a field of a column of type {type_name(fields[0].type)},', node)
        known = [r.alias for r in relations]
        close = suggestion(table, known)
        hint = f"FROM has {listing(known)}" if known else "there is no FROM clause"
        return source.error(
            f'unknown table "{table}"', node.args["table"], hint + (f'; did you mean "{close}"?' if close else "")
        )
    return source.error(f'unknown column "{name}"', node.this, _what_exists(named, name, aliases))


def _what_exists(relations: Sequence[Relation], name: str, aliases: Sequence[str]) -> str:
    if not relations:
        return "there is no FROM clause to take it from" if not aliases else f"the aliases are {listing(aliases)}"
    names = [n for r in relations for n, _ in r.columns]
    close = suggestion(name, [*names, *aliases])
    holders = [r for r in relations if any(n == close for n, _ in r.columns)] or relations
    parts = [f"{r.alias} has {listing([n for n, _ in r.columns])}" for r in holders[:3]]
    if close:
        parts.append(f'did you mean "{close}"?')
    return "; ".join(parts)


def relation_scope(relation: Relation) -> Scope:
    visible = tuple(Visible(name, scalar, (relation.alias,)) for name, scalar in relation.columns)
    return Scope((relation,), visible)


def beside(left: Scope, right: Scope) -> Scope:
    """Both scopes together, the left one's columns first."""
    return Scope(left.relations + right.relations, left.visible + right.visible, left.ctes)
