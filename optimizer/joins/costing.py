"""What join ordering asks about sets of relations: rows and costs."""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from optimizer.joins.graph import JoinTree, Relations, bits


class SetRows(Protocol):
    """Estimated rows of sets of relations, one by one or of many at once."""

    def rows(self, s: Relations) -> float: ...

    def vector(self, sets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]: ...


class JoinCosting(Protocol):
    """Costs are additive: a join tree costs its leaves plus `join` for each of its joins."""

    def rows(self, s: Relations) -> float:
        """Estimated rows of the join of a set, the same whatever the order."""
        ...

    def leaf(self, relation: int) -> float:
        """Cost of reading one relation (by number)."""
        ...

    def join(self, left: Relations, right: Relations) -> float:
        """Cost of joining two disjoint sets, without their own costs; the cheapest algorithm, inputs in this order."""
        ...


class Ordered(NamedTuple):
    """A join order and its cost; `pairs`: how many joins were costed to find it."""

    cost: float
    tree: JoinTree
    pairs: int


class COutCosting:
    """C_out: a join costs the rows it gives, a leaf nothing. `selectivity`: by (lower, higher) relation number."""

    def __init__(self, cardinalities: list[float], selectivity: dict[tuple[int, int], float]) -> None:
        self.cardinalities, self.selectivity = cardinalities, selectivity
        self.to_lower: list[list[tuple[Relations, float]]] = [[] for _ in cardinalities]  # edges as (lower relation, share)
        for (i, j), share in sorted(selectivity.items()):
            self.to_lower[j].append((1 << i, share))
        self._rows: dict[Relations, float] = {}

    def rows(self, s: Relations) -> float:
        """The product of cardinalities and shares, each edge as soon as both its ends are in: large sets stay in range."""
        known = self._rows.get(s)
        if known is None:
            known = 1.0
            for low in bits(s):
                i = low.bit_length() - 1
                known *= self.cardinalities[i]
                for lower, share in self.to_lower[i]:
                    if s & lower:
                        known *= share
            self._rows[s] = known
        return known

    def leaf(self, relation: int) -> float:
        return 0.0

    def join(self, left: Relations, right: Relations) -> float:
        return self.rows(left | right)
