"""GOO-DP: a greedy tree whose dearest parts are ordered again by a better enumerator, for graphs too large for that one.

Neumann and Radke, Adaptive Optimization of Very Large Join Queries, SIGMOD 2018. It is the iterative dynamic programming of
Kossmann and Stocker, TODS 2000 (IDP-2), with greedy operator ordering for the first tree.
"""

from optimizer.joins.blocks import BlockProblem
from optimizer.joins.costing import JoinCosting, Ordered
from optimizer.joins.graph import JoinGraph
from optimizer.joins.greedy import greedy
from optimizer.joins.linearized import linearized
from optimizer.joins.shrinking_tree import ShrinkingTree


def goo_dp(graph: JoinGraph, costing: JoinCosting, k: int = 100, budget: int = 10_000) -> Ordered:
    """A join order of the whole graph, never dearer than GOO's.

    The dearest subtree of at most `k` leaves is given to linearized DP, and whichever of its order and the old one is cheaper
    becomes one leaf; and so on until a single leaf is left or `budget` table entries were used. The last call may exceed the
    budget. With `k` at least the number of relations that is the cheaper of linearized DP and GOO.

    Subtrees with a cross product stay as GOO made them, but for what is below it.
    """
    assert k > 1, f"subtrees of at most {k} leaves have no order"
    first = greedy(graph, costing)
    work = ShrinkingTree(graph, costing, first.tree)
    pairs, spent = first.pairs, 0
    while spent < budget:
        subtree = work.dearest(k)
        if subtree is None:
            break
        cost, tree = work.cost[subtree], work.trees[subtree]
        if work.leaves[subtree] > 2:  # of two leaves GOO knows the better orientation
            problem = BlockProblem(graph, costing, work.blocks(subtree))
            spent += problem.graph.n * (problem.graph.n + 1) // 2
            found = linearized(problem.graph, problem)
            pairs += found.pairs
            if found.cost < cost:
                cost, tree = found.cost, problem.expand(found.tree)
        work.contract(subtree, cost, tree)
    return Ordered(work.cost[work.root], work.trees[work.root], pairs)
