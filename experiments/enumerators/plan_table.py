"""The table of dynamic programming: for each set of relations the cheapest join order found."""

from typing import NamedTuple

from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, rebuilt


class Counted(NamedTuple):
    """An `Ordered`, with the number of pairs of sets that were looked at, joined or not: the inner counter of the method."""

    cost: float
    tree: JoinTree
    pairs: int
    inner: int


class PlanTable:
    """`cost`: by set, of the cheapest order found; `split`: the two inputs of its last join, which single relations lack.

    Of equally cheap orders the first stays.
    """

    def __init__(self, graph: JoinGraph, costing: JoinCosting) -> None:
        assert graph.n, "there is no relation to join"
        self.costing = costing
        self.cost: dict[Relations, float] = {1 << i: costing.leaf(i) for i in range(graph.n)}
        self.split: dict[Relations, tuple[Relations, Relations]] = {}
        self.costed = 0

    def consider(self, a: Relations, b: Relations) -> None:
        """Join two sets that have plans, in both orders."""
        join = self.costing.join
        inputs = self.cost[a] + self.cost[b]
        self.costed += 2
        self.keep(inputs + join(a, b), a, b)
        self.keep(inputs + join(b, a), b, a)

    def keep(self, cost: float, left: Relations, right: Relations) -> None:
        """A plan for left ∪ right: kept if it is the first or the cheapest."""
        known = self.cost.get(left | right)
        if known is None or cost < known:
            self.cost[left | right] = cost
            self.split[left | right] = left, right

    def ordered(self, s: Relations) -> Ordered:
        """The cheapest order found for `s`, which has to have one."""
        assert s in self.cost, f"relations {s:b} cannot be joined without a cross product"
        return Ordered(self.cost[s], self.tree(s), self.costed)

    def counted(self, s: Relations, inner: int) -> Counted:
        return Counted(*self.ordered(s), inner)

    def tree(self, s: Relations) -> JoinTree:
        """The chosen tree of a set."""
        return rebuilt(s, self.split.get, lambda one: one.bit_length() - 1)
