"""What binding one query carries along: the text, the catalog, the columns made so far, the common table expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from optimizer.algebra.columns import ColumnId, Columns
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.scalars import ColumnRef, Literal, OuterRef, Scalar
from optimizer.algebra.subqueries import ScalarSubquery, Subquery
from optimizer.algebra.traits import Collation
from optimizer.algebra.trees import Tree, postorder
from optimizer.catalog.table import Catalog, Table
from optimizer.sql.source import Source
from optimizer.sql.stored import Stored, StoredTable

if TYPE_CHECKING:
    from optimizer.sql.expressions import ExpressionBinder

MAX_LEVELS = 200  # of subqueries: later stages recurse over them
MAX_BLOCKS = 5_000  # a CTE that reads outer columns is bound once per reference, so a chain of doubling ones would never end


class Bound(NamedTuple):
    """A bound query block: `tree` produces at least `outputs` and the columns of `order`.

    `names`: of a set operation, the places of outputs by what its parts call them, in lower case. `written`: ASTs
    that its parts have for outputs, with their places.
    """

    tree: Tree
    outputs: tuple[OutputColumn, ...]
    order: Collation = ()
    names: Mapping[str, int] = MappingProxyType({})
    written: tuple[tuple[Any, int], ...] = ()


class Ctes(NamedTuple):
    """The innermost common table expression in reach; `outer` are those its own body can refer to.

    `enclosing`: what stood around the WITH. The body may read its columns, wherever the expression is used. `materialized`: as
    the query says, None where it says nothing.
    """

    name: str
    body: Any
    columns: tuple[Any, ...]
    outer: Ctes | None
    enclosing: ExpressionBinder | None
    materialized: bool | None = None
    recursive: bool = False

    def and_outer(self) -> Iterator[Ctes]:
        """All in reach, from the inside out."""
        cell: Ctes | None = self
        while cell is not None:
            yield cell
            cell = cell.outer

    def find(self, name: str) -> Ctes | None:
        wanted = name.lower()
        return next((cell for cell in self.and_outer() if cell.name.lower() == wanted), None)


class Definition(NamedTuple):
    """A common table expression that was bound, and the number of its spool. A recursive one is inside itself what it starts
    from: of the rows that came last only the columns are known."""

    cte: Ctes
    bound: Bound
    spool: int


class Context:
    """One per query text.

    `enclosing` is what stands around the query being bound: the binder of the clause that it is a subquery in, or of the part
    of FROM to its left; that binder knows what stands around it in turn. `subqueries`, those bound so far by their AST, and
    `shapes`, their trees, are `same_subquery`'s. `definitions`: those bound so far by the ids of their `Ctes`, each after those
    that it reads; `read`: the spools that something refers to; `working`: the recursive ones that are being bound, likewise.
    `untyped`: INTEGER columns of nothing but bare NULLs, which take the type of what they meet, as NULL itself does.
    `words`: the names in the text. Of a stored table only the columns among them are bound, but all while `all_columns` holds.
    """

    def __init__(self, source: Source, catalog: Catalog, words: frozenset[str] | None = None) -> None:
        self.source, self.catalog, self.words, self.all_columns = source, catalog, words, False
        self.columns = Columns()
        self.enclosing: ExpressionBinder | None = None
        self.subqueries: dict[Any, tuple[Ctes | None, list[Subquery]]] = {}
        self.definitions: dict[int, Definition] = {}
        self.durations: dict[ColumnId, ColumnId] = {}  # a difference of timestamps, and the column of its microseconds
        self.working: dict[int, Definition] = {}
        self.read: set[int] = set()
        self.untyped: set[ColumnId] = set()
        self._blocks = self._unnamed = self._levels = self._spools = 0
        self._volatile: dict[int, tuple[Tree, Ctes]] = {}  # references to volatile CTEs, by their trees

    def enter(self, node: Any) -> None:
        """Count a query block or table reference; raises Unsupported when they have become too many."""
        self._blocks += 1
        if self._blocks > MAX_BLOCKS:
            raise self.source.unsupported(
                f"a query of more than {MAX_BLOCKS} blocks and tables", node, "a CTE counts once per reference"
            )

    def stored(self, table: Table, everything: bool) -> Stored:
        """The columns of a table that can be meant where it stands, or all."""
        known = self.catalog.scans.get(table.name) or self.catalog.scans.setdefault(table.name, StoredTable(table))
        found: Stored = known.columns(None if everything or self.all_columns else self.words)
        return found

    @contextmanager
    def tables(self, all_columns: bool) -> Iterator[None]:
        """While tables are bound of which all columns can be meant, by a star or by their places, or only those named."""
        before, self.all_columns = self.all_columns, all_columns
        try:
            yield
        finally:
            self.all_columns = before

    def new_spool(self) -> int:
        self._spools += 1
        return self._spools

    def unnamed(self) -> str:
        """An alias for a derived table without one."""
        self._unnamed += 1
        return "unnamed_subquery" + (str(self._unnamed) if self._unnamed > 1 else "")

    @contextmanager
    def inside(self, enclosing: ExpressionBinder | None) -> Iterator[None]:
        """While a query is bound around which `enclosing` stands."""
        before, self.enclosing = self.enclosing, enclosing
        try:
            yield
        finally:
            self.enclosing = before

    @contextmanager
    def subquery(self, binder: ExpressionBinder, node: Any) -> Iterator[None]:
        """While a subquery of the clause of `binder` is bound. Raises Unsupported when subqueries are nested too deeply."""
        self._levels += 1
        if self._levels > MAX_LEVELS:
            form = f"a query with more than {MAX_LEVELS} levels of subqueries"
            raise self.source.unsupported(form, node, "name inner queries with WITH, or split the query")
        try:
            with self.inside(binder):
                yield
        finally:
            self._levels -= 1

    def refer(self, cte: Ctes, tree: Tree, node: Any) -> None:
        """Note that `tree` stands for a common table expression that is evaluated anew for each reference. Raises Unsupported
        where that can be seen."""
        if not tree.volatile:
            return
        if any(known.body is cte.body for _, known in self._volatile.values()):
            form = f'using the CTE "{cte.name}" twice, which has a volatile function,'
            raise self.source.unsupported(form, node, "use it once")
        self._volatile[id(tree)] = tree, cte

    def check_run_again(self, tree: Tree, within: ExpressionBinder | None, node: Any) -> None:
        """`tree` is evaluated for each row of the query around it: no volatile CTE defined outside `within`, or anywhere if that
        is None, may be in it. Raises Unsupported."""
        if not self._volatile or not tree.outer:
            return
        for part in postorder(tree):
            _, cte = self._volatile.get(id(part), (None, None))
            around = cte.enclosing.and_around() if cte is not None and cte.enclosing is not None else ()
            if cte is not None and (within is None or not any(each is within for each in around)):
                form = f'a correlated subquery over the CTE "{cte.name}", which has a volatile function,'
                raise self.source.unsupported(form, node, "join with the CTE instead")

    def duration(self, id: ColumnId, tree: Tree) -> ColumnId | None:
        """The column of `tree` with the microseconds of the interval column `id`, if there is one."""
        found = self.durations.get(id)
        return found if found is not None and tree.columns >> found & 1 else None

    def bare_null(self, scalar: Scalar) -> Scalar:
        """NULL in place of a column of nothing but that, and of a subquery that gives one value of it."""
        match scalar if self.untyped else None:
            case ColumnRef(id=id) | OuterRef(id=id):
                known = id in self.untyped
            case ScalarSubquery(column=id, tree=tree):
                known = id in self.untyped and tree.props.at_most_one_row
            case _:
                return scalar
        return Literal(None, pa.null()) if known else scalar

    def compute(self, name: str, scalar: Scalar) -> ColumnId:
        """A new column for `scalar`; nullable unless it is never NULL whatever its columns are."""
        return self.columns.new(name, scalar.type, not is_not_null(scalar, 0)).id
