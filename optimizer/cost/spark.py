"""A cost model of Spark on N nodes, for planning: arrow's work divided over the nodes, and what moves between them.

In microseconds, as `arrow`. Rows are spread evenly; an operator costs

    set-up + work / N + exchanges

- work: what `arrow` says (same coefficients). Where a hash table or the right input of nested loops is on every node, that
  part is done N times at once, so it is not divided; nor is a window without partitions, which one node computes.
- An exchange starts a stage, EXCHANGE. A shuffle of b bytes has each node send (N - 1)/N of its b/N bytes:
  NETWORK · b · (N - 1) / N². A broadcast has every node receive what it lacks: NETWORK · b · (N - 1) / N; so does gathering
  rows on one node.
- Joins by key: the cheaper of shuffling both inputs and broadcasting the one that is built, where that is possible: it is not
  for the side whose rows without a match are kept, and it is the only way that keeps the order of the probe side. Merge joins
  shuffle both inputs, keeping orders. Nested loops broadcast the right input, and so does Apply, of which every run starts a
  stage anew: Spark has nothing of the kind.
- Hash aggregates group on each node first and shuffle groups, at most N times as many as there are in the end. Sorts shuffle
  by range, so that streaming aggregates and partial sorts above them have each of their groups on one node. Windows shuffle
  by their partition. INTERSECT and EXCEPT shuffle their inputs, a merging union its output, top-k and limits gather what they
  keep.

NETWORK: 2 ns a byte and node, to write, send over a link of 10 Gbit/s (0.8 ns) and read. EXCHANGE: 20 ms, to schedule and end
a wave of tasks. Round figures; no executor for Spark has measured them.

Lower bound. Each operator costs at least its set-up and 1/N of arrow's work, and each join starts an exchange, so

    bound(G) = Σ bound(leaf) + (k - 1) (set-up + EXCHANGE) + (join_in · Σ rows(leaf) + join_out · rows(G)) / N

for a group of joins of k leaves.
"""

from collections.abc import Callable, Sequence
from typing import Any

from optimizer.algebra import physical
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import GroupingSets, LogicalOperator, SetOp, Window
from optimizer.algebra.logical_joins import AnyJoin, Join
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.traits import ANY, TraitSet
from optimizer.cost.arrow import ArrowCost
from optimizer.cost.by_operator import ByOperator, Cost, own_cost
from optimizer.cost.coefficients import DEFAULTS, Coefficients
from optimizer.cost.model import Bounded
from optimizer.cost.work import Inputs, at_least_one
from optimizer.stats.relation import RelationStats

NETWORK = 2.0  # ns for a byte that a node sends or receives
EXCHANGE = 20_000_000.0  # ns for a stage to start and end

ALL = -1  # every column, as a bitset
EXCHANGING = (AnyJoin, GroupingSets, Window)  # every implementation starts an exchange


def size(stats: RelationStats) -> float:
    """Bytes of a relation."""
    return at_least_one(stats.rows) * stats.width(ALL)


def _own(op: Any, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
    return 1000.0 * own_cost(op, "spark", output, inputs)


class SparkCost:
    """`nodes`: machines that share the work, at least 1; on one, exchanges start stages but move nothing."""

    name = "spark"

    def __init__(self, coefficients: Coefficients = DEFAULTS, nodes: int = 4) -> None:
        if nodes < 1:
            raise ValueError(f"a cluster has at least one node, not {nodes}")
        self.nodes, self._arrow = float(nodes), ArrowCost(coefficients)
        of = self._arrow.work.of
        self._start = coefficients.start
        self._build, self._loop_in = coefficients.hash_build, coefficients.loop_in
        self._join_in, self._join_out = coefficients.join_in, coefficients.join_out
        moving: dict[type[physical.PhysicalOperator], Callable[[Any, TraitSet, RelationStats, Inputs], float]] = {
            physical.HashJoin: self._hash_join,
            physical.MergeJoin: lambda op, d, out, i: self.shuffle(size(i[0]) + size(i[1])),
            physical.NestedLoopJoin: lambda op, d, out, i: self._copies(self._loop_in, i[1]) + self.broadcast(size(i[1])),
            physical.NestedApply: lambda op, d, out, i: self.broadcast(size(i[1])),
            physical.HashAggregate: lambda op, d, out, i: self.shuffle(self._partial_groups(out, i[0])) if op.keys else 0.0,
            physical.HashGroupingSets: lambda op, d, out, i: self.shuffle(self._partial_groups(out, i[0])),
            physical.HashSetOp: lambda op, d, out, i: self.shuffle(sum(map(size, i))),
            physical.MergeUnion: lambda op, d, out, i: self.shuffle(size(out)),
            physical.Sort: lambda op, d, out, i: self.shuffle(size(i[0])),
            physical.TopK: lambda op, d, out, i: self.gather(min(size(i[0]), self.nodes * size(out))),
            physical.LimitRows: lambda op, d, out, i: self.gather(size(out)),
            physical.WindowRows: self._window,
        }
        self._of = ByOperator("spark", {kind: self._spread(of[kind], moving.get(kind)) for kind in of}, _own)

    def shuffle(self, bytes: float) -> float:
        """Nanoseconds to spread rows anew by a key."""
        return EXCHANGE + NETWORK * bytes * (self.nodes - 1.0) / self.nodes**2

    def broadcast(self, bytes: float) -> float:
        """Nanoseconds to have all rows on every node."""
        return EXCHANGE + NETWORK * bytes * (self.nodes - 1.0) / self.nodes

    gather = broadcast  # one node receives what every node does there, in the same time

    def local(self, op: physical.PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
        return self._of[type(op)](op, delivered, output, inputs) / 1000.0

    def _spread(self, work: Cost, moving: Cost | None) -> Cost:
        """Nanoseconds of an operator: its set-up, the work of a node and what it moves."""
        own = self._on_node
        if moving is None:
            return lambda op, delivered, out, i: own(work(op, out, i))
        return lambda op, delivered, out, i: own(work(op, out, i)) + moving(op, delivered, out, i)

    def _on_node(self, work: float) -> float:
        """The set-up and the work of a node; less than no work frees an operator of both."""
        return self._start + work / self.nodes if work >= 0.0 else 0.0

    def least(self, op: LogicalOperator, output: RelationStats, inputs: Inputs) -> float:
        own = self._on_node(self._arrow.least_work(op, output, inputs))
        if isinstance(op, EXCHANGING) or (isinstance(op, SetOp) and op.kind is not SetOpKind.UNION):
            own += EXCHANGE
        return own / 1000.0

    def lower_bound(
        self, op: LogicalOperator, output: RelationStats, inputs: Sequence[Bounded], leaves: Sequence[Bounded]
    ) -> float:
        below = sum(leaf.lower for leaf in leaves)
        if not isinstance(op, Join | JoinGraph | RegionGraph):
            return below + self.least(op, output, [each.stats for each in inputs])
        rows_in = sum(at_least_one(leaf.stats.rows) for leaf in leaves)
        work = self._join_in * rows_in + self._join_out * at_least_one(output.rows)
        return below + ((len(leaves) - 1) * (self._start + EXCHANGE) + work / self.nodes) / 1000.0

    def _copies(self, per_row: float, stats: RelationStats) -> float:
        """Work on rows that are on every node, beyond the N-th part of it that was counted."""
        return per_row * at_least_one(stats.rows) * (1.0 - 1.0 / self.nodes)

    def _hash_join(self, op: physical.HashJoin, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
        built = inputs[0 if op.build_left else 1]
        kept = op.kind.keeps_left or op.kind.left_only if op.build_left else op.kind.keeps_right
        shuffled = self.shuffle(size(inputs[0]) + size(inputs[1]))
        if kept:
            return shuffled
        copied = self.broadcast(size(built)) + self._copies(self._build, built)
        return copied if delivered != ANY else min(copied, shuffled)

    def _partial_groups(self, output: RelationStats, below: RelationStats) -> float:
        """Bytes of the groups found on all nodes."""
        return min(at_least_one(below.rows), self.nodes * at_least_one(output.rows)) * output.width(ALL)

    def _window(self, op: physical.WindowRows, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
        if op.partition:
            return self.shuffle(size(inputs[0]))
        alone = self._arrow.work.of[physical.WindowRows](op, output, inputs)
        return self.gather(size(inputs[0])) + alone * (1.0 - 1.0 / self.nodes)
