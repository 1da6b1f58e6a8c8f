"""What the memo asks for when it makes a group."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from optimizer.algebra.columns import ColumnSet, column_ids, column_set
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.region_graph import RegionGraph, ReorderableRegion
from optimizer.cost.model import CostModel
from optimizer.engines.arrow import offers
from optimizer.errors import SettingsError
from optimizer.joins.costing import SetRows
from optimizer.joins.graph import Relations
from optimizer.joins.inner import InnerRegion
from optimizer.memo.goal import INFINITY
from optimizer.memo.group import Group
from optimizer.plugin_code import number_from, written_in
from optimizer.stats.distinct import distinct_of
from optimizer.stats.estimator import Estimator
from optimizer.stats.region_parts import WiderRows, inner_parts
from optimizer.stats.relation import RelationStats


class _Estimated(NamedTuple):
    """A set of a region's relations."""

    props: LogicalProps
    stats: RelationStats


class Figures:
    """An estimator, a cost model and the engine's orders, put together.

    `later_rules`: rules may still add to a group after its bound was used, so a bound made from the first expression would
    prove nothing; only groups of tables have one.
    """

    def __init__(self, estimator: Estimator, cost: CostModel) -> None:
        self.estimator, self.cost = estimator, cost
        self.later_rules = False
        self._sets: dict[ReorderableRegion, dict[int, _Estimated]] = {}  # of regions

    def estimate(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        stats = self._region(op, inputs) if isinstance(op, RegionGraph) else self.estimator.estimate(op, props, inputs)
        if type(rows := getattr(stats, "rows", None)) is not float or not 0.0 <= rows < INFINITY:
            own = type(self.estimator)
            if not hasattr(stats, "rows"):
                said = f"the estimator gives {stats!r:.60} for {op.name}, which is no RelationStats"
                raise SettingsError(written_in(own) + said)
            stats.rows = number_from(f"the estimator gives {op.name} as its number of rows", rows, finite=True, by=own)
        return stats

    def region_rows(self, region: InnerRegion, leaves: Sequence[Group]) -> SetRows:
        """Rows of the sets of an inner-join region, the same as `estimate` gives their join graphs. Compiled for the estimator
        of this project; one that overrides what it says of joins is asked for each set."""
        own = type(self.estimator)
        if own.estimate is Estimator.estimate and own.inner_region is Estimator.inner_region:
            stats = [leaf.stats for leaf in leaves]
            if all(each.joined is None for each in stats):
                return self.estimator.region(stats, region.predicate)
            below, predicate = inner_parts(stats, region.predicate)
            if {leaf for each in stats for leaf in each.leaves} == set(below):  # else which are joins depends on the set
                return WiderRows(self.estimator.region(below, predicate), below, stats)
        return _AskedRows(self.estimator, region, leaves)

    def _region(self, op: RegionGraph, inputs: Sequence[RelationStats]) -> RelationStats:
        """The estimate of a region's relations: of the one join tree that stands for all of them."""
        known = self._sets.setdefault(op.region, {})
        leaves = []
        for relation, stats in zip(column_ids(op.relations), inputs, strict=True):
            leaf = known.get(1 << relation)
            if leaf is None or leaf.stats is not stats:
                leaf = _Estimated(stats.props or LogicalProps(column_set(stats.columns), keys=stats.keys), stats)
            leaves.append(leaf)
        return op.region.folded(op.relations, leaves, self._estimated, known).stats

    def _estimated(self, op: LogicalOperator, inputs: Sequence[_Estimated]) -> _Estimated:
        props = op.derive_props([each.props for each in inputs])
        return _Estimated(props, self.estimator.estimate(op, props, [each.stats for each in inputs]))

    def distinct(self, stats: RelationStats, columns: ColumnSet) -> float:
        """Distinct combinations of columns among the rows of a relation."""
        return distinct_of(stats, column_ids(columns))

    def lower_bound(self, op: LogicalOperator, stats: RelationStats, inputs: Sequence[Group], leaves: Sequence[Group]) -> float:
        if self.later_rules and inputs:
            return 0.0
        lower = self.cost.lower_bound(op, stats, inputs, leaves)
        if type(lower) is not float or not 0.0 <= lower < INFINITY:
            finite = max([stats.rows, *(child.lower for child in inputs)]) < INFINITY
            said = f"the cost model {self.cost.name} gives {op.name} the bound"
            lower = number_from(said, lower, finite, self.cost.lower_bound)
        return lower

    offers = staticmethod(offers)


class _AskedRows:
    """An estimator that only knows single sets."""

    def __init__(self, estimator: Estimator, region: InnerRegion, leaves: Sequence[Group]) -> None:
        self._estimator, self._region, self._leaves = estimator, region, leaves

    def rows(self, s: Relations) -> float:
        members = [leaf for i, leaf in enumerate(self._leaves) if s >> i & 1]
        if len(members) == 1:
            return members[0].stats.rows
        graph = JoinGraph(self._region.within(s))
        props = graph.derive_props([leaf.props for leaf in members])
        return self._estimator.estimate(graph, props, [leaf.stats for leaf in members]).rows

    def vector(self, sets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return np.array([self.rows(s) for s in sets.tolist()])
