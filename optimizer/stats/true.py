"""The estimator that knows: every relation set is counted by running it.

What cannot be counted has the default formulas over counted inputs: groups that read columns of an enclosing query (their rows
differ from one outer row to the next), what is volatile, and what ends in an error when it runs.
"""

from collections.abc import Callable

from optimizer.algebra.columns import Columns
from optimizer.algebra.logical import Scan
from optimizer.algebra.trees import Tree
from optimizer.catalog.table import Catalog
from optimizer.errors import ExecutionError
from optimizer.stats.known_rows import KnownRows
from optimizer.stats.relation_set import RelationSet

RowCounter = Callable[[Tree, Columns], float]
"""The exact number of rows of a closed tree over a query's columns. Raises ExecutionError where running it fails."""


class TrueRows(KnownRows):
    """`counter` runs; it keeps what it has counted."""

    def __init__(self, catalog: Catalog, columns: Columns, counter: RowCounter) -> None:
        super().__init__(catalog, columns)
        self._counter = counter

    def known(self, relations: RelationSet) -> float | None:
        op = relations.tree.op
        if isinstance(op, Scan) and not op.predicate and op.limit is None:
            return float(self.table(op).stats.rows)
        if not relations.closed or any(not self._has_rows(scan.table) for scan in relations.scans):
            return None
        try:
            return self._counter(relations.tree, self.columns)
        except ExecutionError:
            return None

    def _has_rows(self, name: str) -> bool:
        table = self.catalog.table(name)
        return table is not None and (bool(table.files) or not table.stats.rows)
