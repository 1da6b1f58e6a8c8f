"""The joins of one region, kept small: a node for each set of relations instead of a group full of expressions.

A region of inner joins whose costs are linear in rows (`JoinCosts`) needs no expression to cost a join: a node knows the
rows of its set, the best split found and its cost, and stands for the goal (group of the set, any traits). Groups, multi-
expressions and candidates are made of nodes only where someone looks at them: in the chosen plan, in a trace, in a picture,
or when a parent asks for traits.

Lower bound of a set of k relations: every tree over it reads its k leaves, joins k - 1 times, feeds every leaf's rows and
those of k - 2 intermediate results to a join, and gives the set's rows at the top. One of the intermediate results joins two
leaves, so it has at least as many rows as the smallest such pair. Hence

    bound(S) = Σ bound(leaf) + (k - 1) start + input · Σ rows(leaf) + out · rows(S) + (input + out) · min rows(pair)   [k ≥ 3]

where a pair is two relations that the graph lets join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.algebra.columns import column_ids
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Join
from optimizer.algebra.physical import HashJoin, NestedLoopJoin
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.traits import ANY, Alternative
from optimizer.algebra.trees import Node, Tree
from optimizer.cost.joins import JoinCosts
from optimizer.joins.graph import JoinTree, Relations, joins_of
from optimizer.joins.inner import InnerRegion
from optimizer.joins.policy import Choice, Enumeration
from optimizer.memo.goal import INFINITY, Candidate, Goal, Status
from optimizer.memo.group import Group
from optimizer.search.seeds import plan_seeds

if TYPE_CHECKING:
    from optimizer.search.search import Search
    from optimizer.search.tasks.optimize_joins import OptimizeJoins

PARTITION = "partition_joins"
ROUNDING = 1.0 - 1e-12
LOOK = 1023  # splits between two looks at the clock, as a mask


class JoinNode:
    """A set of relations: `rows` of its join, `lower`: no plan costs less; `best`: the cheapest plan found, which joins `left`
    and `right` by `method` (a hash join builds on the right).

    `calls`, `residual`: calls of all conjuncts within the set, and of those that are no hash key. `waiting`: splits to be
    tried, cheapest bound first, from `next` on; `dropped`: the least bound of what was cut.
    """

    __slots__ = (
        "best", "calls", "dropped", "goal", "left", "limit", "lower", "method", "next", "opened", "relations", "residual",
        "right", "rows", "settled", "status", "waiting",
    )  # fmt: skip

    def __init__(self, relations: Relations, rows: float, lower: float, calls: float, residual: float) -> None:
        self.relations, self.rows, self.lower, self.calls, self.residual = relations, rows, lower, calls, residual
        self.status = Status.NEW
        self.settled = False
        self.best = INFINITY
        self.left: JoinNode | None = None
        self.right: JoinNode | None = None
        self.method: Method = HashJoin
        self.limit = -INFINITY
        self.waiting: list[Split] = []
        self.next = 0
        self.dropped = INFINITY
        self.opened = 0
        self.goal: Goal | None = None


Method = type[HashJoin] | type[NestedLoopJoin]
Split = tuple[float, Relations, float, Relations, Method]  # bound, left set, local cost, right set, method


class JoinSpace:
    """All nodes of one region. Relation i is the i-th of `leaves`; `pairs` counts the splits enumerated."""

    def __init__(self, search: Search, leaves: list[Group], region: InnerRegion, costs: JoinCosts) -> None:
        self.search, self.leaves, self.region, self.costs = search, leaves, region, costs
        self.nodes: dict[Relations, JoinNode] = {}
        self.pairs = 0
        self.ready = False  # leaves are settled
        self.choice: Choice | None = None  # exact, or which heuristic, once it is known
        self.enough = -1.0  # epsilon pruning: a plan that costs no more is not improved
        self._rows = search.region_rows(region, leaves)
        self._weights = [(c.relations, float(c.calls), 0.0 if c.key else float(c.calls)) for c in region.conjuncts]
        edges = [1 << u | 1 << v for u, v in region.graph.edges()]
        self._edges = sorted((max(self._rows(edge), costs.floor), edge) for edge in edges)
        self._leaf_bounds = [0.0] * len(leaves)
        self._number = {leaf.id: 1 << i for i, leaf in enumerate(leaves)}
        for i, leaf in enumerate(leaves):
            calls = sum(weight for within, weight, _ in self._weights if within == 1 << i)
            node = JoinNode(1 << i, max(leaf.stats.rows, costs.floor), 0.0, calls, calls)
            node.goal = search.goal(leaf.id, ANY)
            self.nodes[1 << i] = node

    def prepare(self, task: OptimizeJoins) -> bool:
        """Settle the leaves, then install the seed. False while leaves are being searched; then `task` is pushed again."""
        node = task.node
        if not self.ready and not self._settle_leaves(task):
            return False
        plan_seeds(self, node)
        return True

    def _settle_leaves(self, task: OptimizeJoins) -> bool:
        search = self.search
        leaves = [self.nodes[1 << i] for i in range(len(self.leaves))]
        unsettled = [n.goal for n in leaves if n.goal is not None and n.goal.best_cost == INFINITY and n.goal.lower < INFINITY]
        if unsettled and not task.waited:
            task.waited = True
            search.push(task)
            for goal in unsettled:
                search.push_goal(goal)
            return False
        if any(leaf.goal is None or leaf.goal.best_cost == INFINITY for leaf in leaves):
            task.node.status, task.node.lower = Status.IMPOSSIBLE, INFINITY
            self.closed(task.node)
            return False
        for i, leaf in enumerate(leaves):
            assert leaf.goal is not None
            leaf.best, leaf.lower, leaf.status, leaf.settled = leaf.goal.best_cost, leaf.goal.lower, leaf.goal.status, True
            self._leaf_bounds[i] = leaf.lower + self.costs.least_input * leaf.rows
        self.ready = True
        return True

    @property
    def best(self) -> float:
        """Cost of the cheapest join of all relations found so far."""
        whole = self.nodes.get(self.region.graph.all)
        return INFINITY if whole is None else whole.best

    def set_of(self, leaves: list[int]) -> Relations:
        """The set of leaf groups, by id."""
        s = 0
        for gid in leaves:
            s |= self._number[gid]
        return s

    def holds(self, leaves: list[int], predicate: Predicate) -> bool:
        """Whether the join of these leaf groups under `predicate` is one of the sets here."""
        if any(gid not in self._number for gid in leaves):
            return False
        return self.region.within(self.set_of(leaves)) == predicate

    def node(self, s: Relations) -> JoinNode:
        """The node of a set; its estimate and bound are made on first use."""
        node = self.nodes.get(s)
        if node is None:
            rows = self._rows(s)
            if rows < self.costs.floor:
                rows = self.costs.floor
            calls = residual = 0.0
            for within, weight, extra in self._weights:
                if not within & ~s:
                    calls += weight
                    residual += extra
            node = self.nodes[s] = JoinNode(s, rows, self.bound(s, rows) if self.search.use_bounds else 0.0, calls, residual)
            if self.search.keep:
                self.goal_of(node)
        return node

    @property
    def exact(self) -> bool:
        """Whether sets are searched exactly, and the seed is in."""
        return self.ready and self.choice is not None and self.choice.enumeration is Enumeration.EXACT

    def rows(self, s: Relations) -> float:
        """Estimated rows of a set, at least the cost model's floor."""
        return max(self._rows(s), self.costs.floor)

    def bound(self, s: Relations, rows: float) -> float:
        """What a plan of a set costs at least: see the head of this file. A sum in another order than a plan's may round up, so
        the bound gives way by a hair."""
        costs = self.costs
        bound = costs.out * rows - costs.start
        count = 0
        rest = s
        while rest:
            low = rest & -rest
            bound += self._leaf_bounds[low.bit_length() - 1] + costs.start
            count += 1
            rest ^= low
        if count > 2:
            for pair_rows, edge in self._edges:
                if not edge & ~s:
                    bound += (costs.least_input + costs.out) * pair_rows
                    break
        return bound * ROUNDING

    def splits(self, node: JoinNode) -> bool:
        """Fill `node.waiting` with every split whose bound is within the node's limit and below its best plan, cheapest first.
        False when the time allowed is over.

        The cheapest algorithm is chosen here by arithmetic; what is too dear leaves nothing behind but `dropped`.
        """
        search, costs, s = self.search, self.costs, node.relations
        parts = search.partition(self.region.graph, s)
        self.pairs += len(parts)
        nodes, make = self.nodes, self.node
        _, start, build, probe, _, loop, pair, pair_call, out, call = costs
        rows, calls, residual, limit = node.rows, node.calls, node.residual, node.limit
        best = node.best if search.prune else INFINITY
        grace = search.grace
        base = start + out * rows
        hashing, looping = search.can_hash, search.can_loop
        plain, keys = self.region.plain, self.region.keys
        waiting: list[Split] = []
        dropped = INFINITY
        for number, a in enumerate(parts):
            if not number & LOOK and search.late():
                return False
            b = s ^ a
            left = nodes.get(a) or make(a)
            right = nodes.get(b) or make(b)
            x, y = left.rows, right.rows
            if (x < y) is (build > probe):  # building costs more than probing: build on the smaller input
                a, b, left, right, x, y = b, a, right, left, y, x
            local = INFINITY
            method: Method = HashJoin
            if hashing and (plain or keys.neighbours(a) & b):
                local = probe * x + build * y
                if not plain:
                    local += call * (residual - left.residual - right.residual) * rows
            if looping and pair * x * y < local:
                loops = loop * (x + y) + (pair + pair_call * (calls - left.calls - right.calls)) * x * y
                if loops < local:
                    local, method = loops, NestedLoopJoin
            local += base
            bound = local + left.lower + right.lower
            if bound <= limit and bound * grace < best:
                waiting.append((bound, a, local, b, method))
            elif bound < dropped:
                dropped = bound
        if len(waiting) < len(parts):
            search.counters.pruned["group_bound"] += len(parts) - len(waiting)
            if search.trace is not None:
                self.cut_at_once(node, parts, waiting)
        if search.use_bounds:
            waiting.sort()  # by bound, then by the part: no two splits agree in both
        node.waiting, node.next, node.dropped = waiting, 0, dropped
        return True

    def local(self, left: JoinNode, right: JoinNode, rows: float, calls: float, residual: float) -> tuple[float, Method, bool]:
        """The cheapest join of two nodes without their own costs, and its method; the last says to exchange the two."""
        _, start, build, probe, _, loop, pair, pair_call, out, call = self.costs
        x, y = left.rows, right.rows
        exchange = (x < y) is (build > probe)
        local = INFINITY
        if self.search.can_hash and (self.region.plain or self.region.keys.neighbours(left.relations) & right.relations):
            local = probe * max(x, y) + build * min(x, y) if build > probe else probe * min(x, y) + build * max(x, y)
            local += call * (residual - left.residual - right.residual) * rows
        if self.search.can_loop:
            loops = loop * (x + y) + (pair + pair_call * (calls - left.calls - right.calls)) * x * y
            if loops < local:
                return start + out * rows + loops, NestedLoopJoin, exchange
        return start + out * rows + local, HashJoin, exchange

    def install(self, tree: JoinTree) -> None:
        """Make a join tree over settled leaves the best plan of each of its sets that has none as cheap."""
        for a, b in joins_of(tree):
            node, left, right = self.node(a | b), self.nodes[a], self.nodes[b]
            local, method, exchange = self.local(left, right, node.rows, node.calls, node.residual)
            cost = local + left.best + right.best
            if cost < node.best:
                if exchange:
                    left, right = right, left
                node.best, node.left, node.right, node.method = cost, left, right, method
                if self.search.keep:
                    self.improved(node, local)

    # -- for those who look ---------------------------------------------------------------------------------------------------

    def group_of(self, node: JoinNode) -> int:
        """The memo group of a set, made on first use."""
        return self.goal_of(node).group

    def goal_of(self, node: JoinNode) -> Goal:
        """The goal that a node stands for, in step with it; its group is made on first use."""
        if node.goal is None:
            search, s = self.search, node.relations
            leaves: tuple[Node, ...] = tuple(search.memo.binding_leaf(self.leaves[i].id) for i in column_ids(s))
            gid, _ = search.memo.insert(Tree(JoinGraph(self.region.within(s)), leaves))
            goal = node.goal = search.goal(gid, ANY)
            if not goal.opened or goal.best_cost > node.best:
                goal.joins = (self, node)
            else:  # expressions of the group were searched before the space came to it
                node.best, node.lower = goal.best_cost, max(node.lower, goal.lower)
                node.status, node.settled = goal.status, goal.settled
        self.update(node)
        return node.goal

    def update(self, node: JoinNode) -> None:
        """Copy what is known of a node into its goal, if it has one."""
        goal = node.goal
        if goal is not None and goal.joins is not None:
            goal.status, goal.limit, goal.opened, goal.settled = node.status, node.limit, node.opened, node.settled
            goal.best_cost = node.best
            lower = min(max(node.lower, goal.lower), node.best)  # the group's own bound adds up in another order
            if lower != goal.lower:
                goal.lower = lower
                if self.search.trace is not None:
                    self.search.trace.emit("lower", goal=goal.id, lower=goal.lower, because="relations")

    def expression(self, goal: Goal, left: JoinNode, right: JoinNode, method: Method) -> Candidate:
        """A join of two nodes as a candidate of their union's goal; the expressions and goals it needs are made."""
        search = self.search
        inputs = (self.goal_of(left), self.goal_of(right))
        join = Join(JoinKind.INNER, self.region.across(left.relations, right.relations))
        tree = Tree(join, tuple(search.memo.binding_leaf(i.group) for i in inputs))
        mexpr = search.memo.insert_one(tree, goal.group, PARTITION, search.memo.group(goal.group).logical[0].id)
        mexpr.closed |= search.closed_rules.get(PARTITION, 0)
        mexpr.hidden = True
        if not mexpr.implemented:
            search.implement(mexpr)
        for physical in mexpr.physical:
            if type(physical.op) is method and not getattr(physical.op, "build_left", False):
                local = search.local_cost(goal, physical, ANY, count=False)
                return Candidate(goal, physical, physical.op, Alternative((ANY, ANY)), inputs, local)
        raise AssertionError(f"no {method.name} among the implementations of expression {mexpr.id}")

    def winner(self, node: JoinNode) -> Candidate:
        """The best plan of a node as a candidate of its goal."""
        goal = self.goal_of(node)
        if goal.best is None or goal.best.bound != node.best:
            assert node.left is not None and node.right is not None, f"no plan for the join of {self.show(node.relations)}"
            candidate = self.expression(goal, node.left, node.right, node.method)
            candidate.index, candidate.done, candidate.bound = 2, True, node.best
            goal.best, goal.best_cost = candidate, node.best
            goal.candidates.append(candidate)
        return goal.best

    def abandon(self) -> None:
        """The budget is spent: what is open stays as it stands."""
        for node in self.nodes.values():
            if node.status is Status.OPEN:
                node.status, node.waiting = Status.ABANDONED, []
                self.closed(node)

    def closed(self, node: JoinNode) -> None:
        """A search of a node has ended."""
        self.update(node)
        search, goal = self.search, node.goal
        if search.keep and goal is not None:
            search.emit_close(goal)

    def show(self, s: Relations) -> str:
        """The leaf groups of a set."""
        return "{" + ", ".join(str(self.leaves[i].id) for i in column_ids(s)) + "}"

    # -- traced and kept searches only ----------------------------------------------------------------------------------------

    def opened(self, node: JoinNode) -> None:
        goal = self.goal_of(node)
        trace = self.search.trace
        if trace is not None:
            because = "first" if node.opened == 1 else "limit"
            trace.emit("goal_open", goal=goal.id, limit=node.limit, attempt=node.opened, because=because)

    def improved(self, node: JoinNode, local: float) -> None:
        """A cheaper plan was found: keep its expression, and say so."""
        goal = self.goal_of(node)
        old = goal.best.bound if goal.best is not None else INFINITY
        candidate = self.winner(node)
        self.search.emit_best(goal, candidate, old)

    def cut(self, node: JoinNode, left: JoinNode, right: JoinNode, local: float, bound: float, mechanism: str) -> None:
        """A split lost. One whose inputs were all searched (`accumulated`) stays as an expression; others leave an event."""
        goal, trace = self.goal_of(node), self.search.trace
        inputs = [self.goal_of(left), self.goal_of(right)]
        mexpr = None
        if mechanism == "accumulated":
            tree = self.expression(goal, left, right, HashJoin if self.search.can_hash and self.region.plain else NestedLoopJoin)
            mexpr = tree.mexpr
        if trace is not None:
            trace.emit(
                "prune", goal=goal.id, mexpr=None if mexpr is None else mexpr.id, mechanism=mechanism, spent=local,
                lower=bound, limit=min(node.limit, node.best), sources=[i.id for i in inputs],
                split=[i.group for i in inputs],
            )  # fmt: skip

    def cut_at_once(self, node: JoinNode, parts: list[Relations], waiting: list[Split]) -> None:
        """Splits that are not even waiting: their bounds were too high when the node was opened."""
        waits = {split[1] for split in waiting} | {split[3] for split in waiting}
        for a in parts:
            if a not in waits:
                left, right = self.nodes[a], self.nodes[node.relations ^ a]
                local, _, exchange = self.local(left, right, node.rows, node.calls, node.residual)
                if exchange:
                    left, right = right, left
                self.cut(node, left, right, local, local + left.lower + right.lower, "group_bound")
