"""What the join of a set of relations costs at least, for a search that goes from the whole down.

Every tree over a set of k relations reads its k leaves, joins k - 1 times, feeds the rows of leaves
and of k - 2 intermediate results to a join, and gives the set's rows at the top. The intermediate results of the best of all
trees have I(S) rows together (C_out: Cluet and Moerkotte, ICDT 1995), and a row that is fed to a join costs at least `input`;
for a leaf that is the smaller input of every join that may read it, `each` is what the smaller input costs (one builds on it):

    bound(S) = Σ (bound(leaf) + each(leaf) · rows(leaf)) + (k - 1) start + out · rows(S) + (input + out) · I(S)

Where there are too many splits to look at all of them, I(S) is the smallest pair of the set, and `each` is `input`. A sum in
another order than a plan's may round up, so the bound gives way by a hair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from optimizer.cost.joins import JoinCosts
from optimizer.joins.costing import SetRows
from optimizer.joins.graph import JoinGraph, Relations, bits
from optimizer.joins.set_splits import SetSplits
from optimizer.joins.set_table import Methods
from optimizer.memo.goal import ROUNDING

MOST_SPLITS = 500_000  # up to which the bound that needs a pass over all of them is used


def set_bound(
    graph: JoinGraph, costs: JoinCosts, methods: Methods, splits: SetSplits | None, estimates: SetRows, rows: Sequence[float],
    lower: Sequence[float],
) -> Callable[[Relations, float], float]:  # fmt: skip
    """The bound of a set with so many rows; `rows`, `lower`: of each relation, how many it has and what it costs at least."""
    n, out, least = graph.n, costs.out, costs.least_input
    edges = [1 << u | 1 << v for u, v in graph.edges()]
    pairs = sorted((max(estimates.rows(edge), costs.floor), edge) for edge in edges)
    partner = np.zeros(n)  # the fewest rows that each relation is joined with
    fewest: dict[Relations, float] = {}
    if splits is not None and splits.count <= MOST_SPLITS:
        of_set = np.maximum(estimates.vector(splits.sets), costs.floor)
        within = np.zeros(len(splits.sets))  # rows of all intermediate results of a set, at least
        total = within.copy()  # and of the set itself, where it is a join
        partner[:] = np.inf
        for level in splits.levels:
            within[level.sets] = np.minimum.reduceat(total[level.left] + total[level.right], level.starts)
            total[level.sets] = within[level.sets] + of_set[level.sets]
            for one, other in ((level.left, level.right), (level.right, level.left)):
                alone = one < n
                np.minimum.at(partner, one[alone], of_set[other[alone]])
        fewest = dict(zip(splits.sets.tolist(), within.tolist(), strict=True))
    leaves = []
    for own, smallest, cost in zip(rows, partner.tolist(), lower, strict=True):
        each = costs.smaller_input(smallest, methods.merge) if own < smallest else least
        leaves.append(cost + each * own + costs.start)

    def bound(s: Relations, set_rows: float) -> float:
        cost = out * set_rows - costs.start
        for low in bits(s):
            cost += leaves[low.bit_length() - 1]
        if s.bit_count() > 2:
            between = fewest.get(s)
            if between is None:
                between = next((of_pair for of_pair, edge in pairs if not edge & ~s), 0.0)
            cost += (least + out) * between
        return cost * ROUNDING

    return bound
