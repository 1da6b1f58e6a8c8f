"""Seeds: join trees found by heuristics, installed in a join space as plans before its search.

A seed gives the root and each of its subtrees a finite best cost from the start. Where a region is too large to be searched
exactly, the seed is the answer, and the search of the region proves nothing beyond its bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.joins.goo_dp import goo_dp
from optimizer.joins.graph import JoinGraph, JoinTree, Relations, bits, joins_of
from optimizer.joins.greedy import greedy
from optimizer.joins.linearized import linearized
from optimizer.joins.policy import Choice, Enumeration, choose
from optimizer.memo.goal import INFINITY, Status

if TYPE_CHECKING:
    from optimizer.search.join_space import JoinNode, JoinSpace

EXACT_ROWS_UP_TO = 20  # relations up to which heuristics ask the estimator for rows; beyond they multiply selectivities


def plan_seeds(space: JoinSpace, node: JoinNode) -> None:
    """Install what the settings ask for; settle the node at once when it is too large to be searched exactly."""
    search = space.search
    settings = search.context.settings
    s = node.relations
    choice = space.choice = space.choice or choice_for(space)
    if search.finishing or choice.enumeration is not Enumeration.EXACT:
        if node.best == INFINITY or not search.finishing:
            for tree in _heuristic_trees(space, s, choice):
                space.install(tree)
        node.status = Status.ABANDONED if search.finishing else Status.BOUNDED
        node.settled = True
        if not search.finishing:
            search.counters.heuristic = choice.why
        space.closed(node)
        return
    for kind in ("greedy", "linearized"):
        if settings.seed in (kind, "best"):
            tree = _ordered(space, s, kind)
            if settings.enumeration != "left_deep" or _one_by_one(tree):
                space.install(tree)
    if settings.epsilon and node.best < INFINITY:
        space.enough = settings.epsilon * node.best / (2 * s.bit_count() - 1)


def _one_by_one(tree: JoinTree) -> bool:
    """Whether each join of a tree has a single relation on one side: no other may be a seed where only such are searched."""
    return all(not a & (a - 1) or not b & (b - 1) for a, b in joins_of(tree))


def choice_for(space: JoinSpace) -> Choice:
    """How the sets of a region are ordered: all alike, by the size of the whole."""
    settings = space.search.context.settings
    if settings.enumeration != "adaptive":
        return Choice(Enumeration.EXACT, f"enumeration {settings.enumeration}")
    return choose(
        space.region.graph,
        exact_below=settings.exact_below,
        csgs=settings.exact_sets,
        linearized_up_to=settings.linearized_up_to,
    )


def _heuristic_trees(space: JoinSpace, s: Relations, choice: Choice) -> list[JoinTree]:
    if space.search.finishing:
        return [_ordered(space, s, "greedy")]
    kind = "linearized" if choice.enumeration is Enumeration.LINEARIZED else "goo_dp"
    return [_ordered(space, s, "greedy"), _ordered(space, s, kind)]


def _ordered(space: JoinSpace, s: Relations, kind: str) -> JoinTree:
    """A join tree of the relations in `s`, by their numbers in the space."""
    graph, members = _within(space.region.graph, s)
    costing = _Costing(space, graph, members)
    orderer = {"greedy": greedy, "linearized": linearized, "goo_dp": goo_dp}[kind]
    tree = orderer(graph, costing).tree
    return tree if len(members) == space.region.n else _renumbered(tree, members)


def _within(graph: JoinGraph, s: Relations) -> tuple[JoinGraph, list[int]]:
    """The part of a graph that joins the relations in `s`, renumbered from 0, and their numbers in the whole."""
    members = [low.bit_length() - 1 for low in bits(s)]
    if len(members) == graph.n:
        return graph, members
    number = {m: i for i, m in enumerate(members)}
    edges = [(number[u], number[v]) for u, v in graph.edges() if u in number and v in number]
    return JoinGraph(len(members), edges), members


def _renumbered(tree: JoinTree, members: list[int]) -> JoinTree:
    built: list[JoinTree] = []
    stack: list[tuple[JoinTree, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if isinstance(node, int):
            built.append(members[node])
        elif ready:
            right, left = built.pop(), built.pop()
            built.append((left, right))
        else:
            stack += [(node, True), (node[1], False), (node[0], False)]
    return built[0]


class _Costing:
    """Rows and join costs of a space for the heuristics, over renumbered relations.

    Beyond EXACT_ROWS_UP_TO relations rows are products of pairwise selectivities, built up one relation at a time; the tree
    that is found is costed by the estimator all the same.
    """

    def __init__(self, space: JoinSpace, graph: JoinGraph, members: list[int]) -> None:
        self._space, self._graph, self._members = space, graph, members
        self._exact = len(members) <= EXACT_ROWS_UP_TO
        self._rows: dict[Relations, float] = {1 << i: space.nodes[1 << m].rows for i, m in enumerate(members)}
        self._selectivity: dict[Relations, float] = {}
        if not self._exact:
            for u, v in graph.edges():
                pair = 1 << members[u] | 1 << members[v]
                product = self._rows[1 << u] * self._rows[1 << v]
                self._selectivity[1 << u | 1 << v] = min(1.0, space.rows(pair) / product) if product else 1.0

    def leaf(self, relation: int) -> float:
        return self._space.nodes[1 << self._members[relation]].best

    def rows(self, s: Relations) -> float:
        known = self._rows.get(s)
        if known is None:
            known = self._rows[s] = self._space.node(self._whole(s)).rows if self._exact else self._product(s)
        return known

    def join(self, left: Relations, right: Relations) -> float:
        costs = self._space.costs
        x, y = self.rows(left), self.rows(right)
        floor = costs.floor
        x, y = max(x, floor), max(y, floor)
        hashed = min(costs.build * x + costs.probe * y, costs.build * y + costs.probe * x)
        loops = costs.loop * (x + y) + costs.pair * x * y
        return costs.start + costs.out * max(self.rows(left | right), floor) + min(hashed, loops)

    def _whole(self, s: Relations) -> Relations:
        whole = 0
        for low in bits(s):
            whole |= 1 << self._members[low.bit_length() - 1]
        return whole

    def _product(self, s: Relations) -> float:
        """Rows by the relation taken off last: the set without its highest relation first. No recursion."""
        pending = [s]
        while pending[-1] not in self._rows:
            last = pending[-1]
            pending.append(last ^ (1 << last.bit_length() - 1))
        while pending:
            part = pending.pop()
            if part in self._rows:
                continue
            top = 1 << part.bit_length() - 1
            rows = self._rows[part ^ top] * self._rows[top]
            for low in bits(self._graph.adjacency[top.bit_length() - 1] & part):
                rows *= self._selectivity[low | top]
            self._rows[part] = rows
        return self._rows[s]
