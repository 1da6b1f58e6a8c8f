"""The estimator of System R: distinct counts and bounds only, and every predicate independent of every other.

Selinger et al., SIGMOD 1979, section 4: 1/ndv for an equality, linear interpolation for a range, 1/max(ndv, ndv) for a join, and
the product of all. Common values, histograms and counted combinations are not looked at.
"""

from collections.abc import Iterable
from math import prod

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.logical import Scan
from optimizer.algebra.props import LogicalProps
from optimizer.catalog.table import Table
from optimizer.stats.estimator import Estimator
from optimizer.stats.relation import NONE_KNOWN, ColumnFigures, RelationStats


class SystemR(Estimator):
    """Consistent as its base is: one factor for each predicate, whatever the order of joins."""

    @staticmethod
    def combine(fractions: Iterable[float]) -> float:
        return prod(fractions)

    def _scan(self, op: Scan, props: LogicalProps) -> RelationStats:
        found = super()._scan(op, props)
        found.distinct = NONE_KNOWN
        return found

    def _stored(self, table: Table, name: str, id: ColumnId) -> ColumnFigures:
        found = super()._stored(table, name, id)
        return ColumnFigures(found.ndv, found.null_fraction, found.low, found.high, found.width)
