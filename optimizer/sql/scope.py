"""Names: which column of which relation an identifier means.

A scope belongs to one FROM clause (or, inside ON, to the two sides of a join). Names are case-insensitive. A column
merged by USING or NATURAL has one unqualified meaning; qualified, each side still has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from optimizer.algebra.columns import ColumnSet, union
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.traits import Collation
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import is_opaque, type_name
from optimizer.errors import nearest
from optimizer.sql.source import Source, listing

if TYPE_CHECKING:
    from optimizer.sql.context import Ctes


class Relation:
    """One entry of FROM under its alias: the names of its columns in order, and what stands for each by its place. Most columns
    of a table are never named, so that is asked for only when they are."""

    __slots__ = ("alias", "key", "names", "places", "scalar")

    def __init__(self, alias: str, names: tuple[str, ...], scalar: Callable[[int], Scalar]) -> None:
        self.alias, self.key, self.names, self.scalar = alias, alias.lower(), names, scalar
        self.places = _places(names)

    @property
    def columns(self) -> list[tuple[str, Scalar]]:
        return [(name, self.scalar(place)) for place, name in enumerate(self.names)]

    def visible(self, places: Iterable[int]) -> list[Visible]:
        return [Visible(self.names[place], self.scalar(place), (self.alias,)) for place in places]


@lru_cache(maxsize=1024)
def _places(names: tuple[str, ...]) -> dict[str, list[int]]:
    """The places of names in lower case."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name.lower(), []).append(place)
    return places


class Visible(NamedTuple):
    """A column an unqualified name can mean, in the order of `*`; `owners` are the aliases it belongs to."""

    name: str
    scalar: Scalar
    owners: tuple[str, ...]


class Scope:
    """What one FROM clause puts in reach; `ctes` are the common table expressions that subqueries beside it may name.

    `merged`: what unqualified names can mean, where that is not just the columns of the relations. `order`: how the rows come,
    where they are those of one derived table with an ORDER BY. `rows`: those of FROM, once they are known; None where a name may
    have a value in a subquery that is in none of them.
    """

    __slots__ = ("_merged", "ctes", "order", "relations", "rows")

    def __init__(
        self, relations: tuple[Relation, ...] = (), merged: tuple[Visible, ...] | None = None, ctes: Ctes | None = None,
        order: Collation = (),
    ) -> None:  # fmt: skip
        self.relations, self._merged, self.ctes, self.order = relations, merged, ctes, order
        self.rows: Tree | None = None

    @property
    def visible(self) -> tuple[Visible, ...]:
        if self._merged is not None:
            return self._merged
        return tuple(visible for relation in self.relations for visible in relation.visible(range(len(relation.names))))

    @property
    def columns(self) -> ColumnSet:
        """Every column that a name can mean here, or that such a meaning is computed from."""
        return union(scalar.columns for relation in self.relations for _, scalar in relation.columns)

    def with_ctes(self, ctes: Ctes | None) -> Scope:
        return Scope(self.relations, self._merged, ctes, self.order)

    def beside(self, right: Scope) -> Scope:
        """Both scopes together, this one's columns first."""
        merged = None if self._merged is right._merged is None else self.visible + right.visible
        return Scope(self.relations + right.relations, merged, self.ctes)

    def relation(self, alias: str) -> Relation | None:
        wanted = alias.lower()
        for relation in self.relations:
            if relation.key == wanted:
                return relation
        return None

    def meanings(self, name: str) -> list[Visible]:
        wanted = name.lower()
        if self._merged is not None:
            return [v for v in self._merged if v.name.lower() == wanted]
        return [v for r in self.relations if wanted in r.places for v in r.visible(r.places[wanted])]

    def spelling(self, table: str | None, name: str) -> str:
        """The name as the column has it that is meant; as it is given where there is no such column."""
        if table is None:
            return next((visible.name for visible in self.meanings(name)), name)
        relation = self.relation(table)
        places = [] if relation is None else relation.places.get(name.lower(), [])
        return relation.names[places[0]] if relation is not None and places else name

    def lookup(self, table: str | None, name: str) -> list[Scalar]:
        """Everything `name` or `table.name` can mean."""
        if table is None and self._merged is not None:
            return [v.scalar for v in self.meanings(name)]
        wanted = name.lower()
        among = self.relations if table is None else [r for r in self.relations if r.key == table.lower()][:1]
        return [relation.scalar(place) for relation in among for place in relation.places.get(wanted, ())]

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


def in_schema(node: Any) -> bool:
    """Whether the name of a table or column, an AST node, has no schema, or `main`, which all tables are in."""
    schema = node.args.get("db")
    return schema is None or schema.name.lower() == "main"


def unknown(source: Source, relations: Sequence[Relation], aliases: Sequence[str], node: Any) -> Exception:
    """The error for a column that nothing in reach has: what exists, and the closest name.

    `relations` are those of this FROM and of the queries around it, innermost first; `aliases` are further names that would
    have been possible. `node` is the AST column.
    """
    name = node.name
    table = node.args["table"].name if node.args.get("table") is not None else None
    named = [r for r in relations if table is None or r.key == table.lower()]
    if table is not None and not named:
        fields = [s for r in relations for n, s in r.columns if n.lower() == table.lower()]
        if fields and is_opaque(fields[0].type):
            return source.unsupported(f'"{table}.{name}", a field of a column of type {type_name(fields[0].type)},', node)
        return unknown_table(source, relations, node.args["table"])
    if table is None and any(r.key == name.lower() for r in relations):
        return source.unsupported(f'"{name}", a table as a value,', node, f"write its columns: {name}.*, or {name}.column")
    return source.error(f'unknown column "{name}"', node.this, _what_exists(named, name, aliases))


def unknown_table(source: Source, relations: Sequence[Relation], node: Any) -> Exception:
    """The error for the name of a table, the identifier `node`, that FROM does not have."""
    known = [r.alias for r in relations]
    hint = f"FROM has {listing(known, near=node.name)}" if known else "there is no FROM clause"
    return source.error(f'unknown table "{node.name}"', node, hint)


def _what_exists(relations: Sequence[Relation], name: str, aliases: Sequence[str]) -> str:
    if not relations:
        return "there is no FROM clause to take it from" if not aliases else f"the aliases are {listing(aliases)}"
    names = [n for r in relations for n in r.names]
    close = nearest(name, [*names, *aliases])
    holders = [r for r in relations if close in r.names] or relations
    parts = [f"{r.alias} has {listing(r.names)}" for r in holders[:3]]
    if close:
        parts.append(f'did you mean "{close}"?')
    return "; ".join(parts)
