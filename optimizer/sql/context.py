"""What binding one query carries along: the text, the catalog, the columns made so far, the common table expressions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from optimizer.algebra.columns import ColumnId, Columns, ColumnSet
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.traits import Collation
from optimizer.algebra.trees import Tree
from optimizer.catalog.table import Catalog
from optimizer.sql.scope import Scope
from optimizer.sql.source import Source

MAX_BLOCKS = 5_000  # a CTE is bound once per reference, so a chain of doubling references would never end


class Bound(NamedTuple):
    """A bound query block: `tree` produces at least `outputs` and the columns of `order`."""

    tree: Tree
    outputs: tuple[OutputColumn, ...]
    order: Collation = ()


class Ctes(NamedTuple):
    """The innermost common table expression in reach; `outer` are those its own body can refer to."""

    name: str
    body: Any
    columns: tuple[Any, ...]
    outer: Ctes | None

    def find(self, name: str) -> Ctes | None:
        wanted = name.lower()
        cell: Ctes | None = self
        while cell is not None and cell.name.lower() != wanted:
            cell = cell.outer
        return cell


class Context:
    """One per query text. `enclosing`: names just outside the derived table being bound, which only LATERAL could reach."""

    __slots__ = ("_blocks", "_unnamed", "catalog", "columns", "enclosing", "source")

    def __init__(self, source: Source, catalog: Catalog) -> None:
        self.source, self.catalog = source, catalog
        self.columns = Columns()
        self.enclosing: Scope | None = None
        self._blocks = self._unnamed = 0

    def enter(self, node: Any) -> None:
        """Count a query block or table reference; raises Unsupported when they have become too many."""
        self._blocks += 1
        if self._blocks > MAX_BLOCKS:
            raise self.source.unsupported(
                f"a query of more than {MAX_BLOCKS} blocks and tables", node, "a CTE counts once per reference"
            )

    def unnamed(self) -> str:
        """An alias for a derived table without one."""
        self._unnamed += 1
        return "unnamed_subquery" + (str(self._unnamed) if self._unnamed > 1 else "")

    @contextmanager
    def inside(self, enclosing: Scope | None) -> Iterator[None]:
        """While a derived table is bound that stands beside `enclosing`."""
        before, self.enclosing = self.enclosing, enclosing
        try:
            yield
        finally:
            self.enclosing = before

    def compute(self, name: str, scalar: Scalar, not_null: ColumnSet) -> ColumnId:
        """A new column for `scalar` over rows in which the columns `not_null` are never NULL."""
        return self.columns.new(name, scalar.type, not is_not_null(scalar, not_null)).id
