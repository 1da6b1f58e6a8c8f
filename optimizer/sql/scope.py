"""Names: which column of which relation an identifier means.

A scope belongs to one FROM clause (or, inside ON, to the two sides of a join). Names are case-insensitive. A column
merged by USING or NATURAL has one unqualified meaning; qualified, each side still has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from optimizer.algebra.scalars import Scalar
from optimizer.sql.source import Source, listing, suggestion


class Relation(NamedTuple):
    """One entry of FROM under its alias: its columns in order. `hidden`: why further columns of it cannot be used."""

    alias: str
    columns: tuple[tuple[str, Scalar], ...]
    hidden: dict[str, str] = {}  # noqa: RUF012 - never changed


class Visible(NamedTuple):
    """A column an unqualified name can mean, in the order of `*`; `owners` are the aliases it belongs to."""

    name: str
    scalar: Scalar
    owners: tuple[str, ...]


class Scope(NamedTuple):
    """`outer`: the relations further left in the same FROM, which only LATERAL could reach."""

    relations: tuple[Relation, ...] = ()
    visible: tuple[Visible, ...] = ()
    outer: Scope | None = None

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

    def resolve(self, source: Source, table: str | None, name: str, node: Any, aliases: Sequence[str] = ()) -> Scalar:
        """The column; raises SqlError when it is unknown (with what exists and the closest name) or ambiguous.

        `node` is the AST column. `aliases` are further names that would have been possible here.
        """
        found = self.lookup(table, name)
        if len(found) == 1:
            return found[0]
        if found:
            owners = sorted({o for v in self.meanings(name) for o in v.owners})
            hint = "write " + " or ".join(f"{owner}.{name}" for owner in owners) if len(owners) > 1 else None
            raise source.error(f'column "{name}" is ambiguous', node.this, hint)
        outer = self.outer
        while outer is not None:
            if outer.lookup(table, name):
                raise source.unsupported(
                    f'a reference to "{name}" of a table outside this derived table or join (LATERAL)',
                    node,
                    "join the two with JOIN ... ON instead",
                )
            outer = outer.outer
        if table is not None and self.relation(table) is None:
            known = [r.alias for r in self.relations]
            close = suggestion(table, known)
            hint = f"FROM has {listing(known)}" if known else "there is no FROM clause"
            raise source.error(
                f'unknown table "{table}"', node.args["table"], hint + (f'; did you mean "{close}"?' if close else "")
            )
        self._refuse_hidden(source, table, name, node)
        raise source.error(f'unknown column "{name}"', node.this, self._hint(table, name, aliases))

    def _refuse_hidden(self, source: Source, table: str | None, name: str, node: Any) -> None:
        for relation in self.relations:
            if table is None or relation.alias.lower() == table.lower():
                for column, reason in relation.hidden.items():
                    if column.lower() == name.lower():
                        raise source.unsupported(f'column "{column}" of {relation.alias}', node.this, reason)

    def _hint(self, table: str | None, name: str, aliases: Sequence[str]) -> str:
        relations = [r for r in self.relations if table is None or r.alias.lower() == table.lower()]
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
    return Scope(left.relations + right.relations, left.visible + right.visible, left.outer)
