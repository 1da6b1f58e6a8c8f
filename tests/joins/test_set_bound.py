"""The bound of a set of relations is at most what a plan of it costs."""

import numpy as np
import numpy.typing as npt

from optimizer.cost.joins import JoinCosts
from optimizer.joins.graph import JoinGraph
from optimizer.joins.set_bound import set_bound
from optimizer.joins.set_splits import set_splits
from optimizer.joins.set_table import Methods


class _Ten:
    """Every join has ten rows."""

    def rows(self, s: int) -> float:
        return 10.0

    def vector(self, sets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return np.where(sets & (sets - 1) == 0, 100.0, 10.0)


def test_of_two_equal_inputs_only_one_is_built_on() -> None:
    costs = JoinCosts(1.0, 5.0, 0.08, 0.025, 0.06, 0.02, 0.018, 0.012, 0.015, 0.004, 0.03)
    graph = JoinGraph(2, [(0, 1)])
    bound = set_bound(graph, costs, Methods(True, False, False), set_splits(graph, False, 10), _Ten(), [100.0, 100.0], [7.0, 7.0])
    assert bound(3, 10.0) <= 7.0 + 7.0 + costs.start + (costs.build + costs.probe) * 100.0 + costs.out * 10.0
