"""The cost model of the Arrow engine: estimated microseconds of work.

Every operator costs a start-up plus its `work`: so much per row in, per row out and, for scans, per byte. The coefficients
are data (`coefficients`): measured on the executors, by their authors or by `planscope calibrate`. Bounds hold for any of
them that are not negative.

Lower bound. A binary join of any kind and algorithm costs at least `start` + `join_in` per input row + `join_out` per output
row: a hash join hash_build or hash_probe for each, a merge join merge_in, nested loops loop_in and pair · l · r, which is at
least pair/2 · (l + r) since l, r ≥ 1. In a tree of joins over k leaves there are k - 1 joins, every leaf is an input of one
of them, and the topmost gives the group's rows; hence

    bound(G) = Σ bound(leaf) + (k - 1) start + join_in · Σ rows(leaf) + join_out · rows(G)

Any other group: the bounds of its inputs plus the cheapest of its operators that the engine has.
"""

from collections.abc import Sequence

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import (
    Aggregate,
    Filter,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    Scan,
    SetOp,
    Values,
    Window,
)
from optimizer.algebra.logical_joins import Apply, IndependentJoin, Join
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.predicates import is_key
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.spools import CteReference, Recursion, Spool, With
from optimizer.algebra.traits import TraitSet
from optimizer.cost.applies import Again, beside_outer, keeps_held, least_apply
from optimizer.cost.coefficients import DEFAULTS, Coefficients
from optimizer.cost.joins import JoinCosts
from optimizer.cost.model import Bounded
from optimizer.cost.work import Inputs, Work, at_least_one
from optimizer.stats.relation import RelationStats


class ArrowCost:
    name = "arrow"

    def __init__(self, coefficients: Coefficients = DEFAULTS) -> None:
        self.coefficients = coefficients
        self.work = Work(coefficients)
        self._of = self.work.of
        self._again = Again(coefficients)
        self._start, self._join_in, self._join_out = coefficients.start, coefficients.join_in, coefficients.join_out
        self._least_again = coefficients.least_again / 1000.0

    def local(self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Inputs) -> float:
        return (self._start + self._of[type(op)](op, output, inputs)) / 1000.0

    def rerun(
        self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Inputs, kept: Sequence[bool]
    ) -> float:
        own = self._of[type(op)](op, output, inputs)
        if keeps_held(op, kept):
            own = max(0.0, own - self.work.held(op, inputs))
        return max(0.0, self._again.of(op, kept) + own) / 1000.0

    def least_rerun(self, op: LogicalOperator) -> float:
        return 0.0 if isinstance(op, Project) and op.narrows else self._least_again

    def join_costs(self) -> JoinCosts:
        c = self.coefficients
        joins = (c.start, c.hash_build, c.hash_probe, c.merge_in, c.loop_in, c.pair, c.pair_call, c.join_out, c.call)
        figures = (*joins, c.sort_row, c.sort_compare)
        return JoinCosts(1.0, *(figure / 1000.0 for figure in figures))

    def least(self, op: LogicalOperator, output: RelationStats, inputs: Inputs) -> float:
        return (self._start + self.least_work(op, output, inputs)) / 1000.0

    def lower_bound(
        self, op: LogicalOperator, output: RelationStats, inputs: Sequence[Bounded], leaves: Sequence[Bounded]
    ) -> float:
        below = sum(leaf.lower for leaf in leaves)
        if not isinstance(op, Join | JoinGraph | RegionGraph):
            return below + self.least(op, output, [each.stats for each in inputs])
        rows_in = sum(at_least_one(leaf.stats.rows) for leaf in leaves)
        own = (len(leaves) - 1) * self._start + self._join_in * rows_in + self._join_out * at_least_one(output.rows)
        return below + own / 1000.0

    def least_work(self, op: LogicalOperator, output: RelationStats, inputs: Inputs) -> float:
        """The cheapest implementation of a logical operator, in nanoseconds and without its set-up."""
        c, work = self.coefficients, self.work
        match op:
            case IndependentJoin():
                return self._least_join(op, output, inputs)
            case Scan():
                return work.scan(op, output, beside_outer(op.predicate))
            case Filter(predicate):
                if any(conjunct.outer for conjunct in predicate):  # it may be a lookup
                    return min(c.copy, c.hash_build) * at_least_one(inputs[0].rows)
                return work.filter(predicate, inputs[0])
            case Apply():
                return least_apply(c, inputs[0]) + c.join_out * at_least_one(output.rows)
            case Project(items):
                return work.project(items, inputs[0])
            case Aggregate():
                hashed = work.hash_aggregate(op, inputs[0], output.rows)
                return min(hashed, work.streaming_aggregate(op, inputs[0], output.rows)) if op.keys else hashed
            case GroupingSets():
                return work.grouping_sets(op, inputs[0], output.rows)
            case Window():
                return work.window(op, inputs[0].rows)
            case Limit(order, offset, count):
                passed = work.copied(output.rows)
                return min(passed, work.top_k(offset + count, inputs[0].rows)) if order and count is not None else passed
            case SetOp(kind) if kind is not SetOpKind.UNION:
                return work.set_op(inputs)
            case SetOp() | Values() | Spool() | CteReference() | Recursion():
                return work.copied(output.rows)
            case With():
                return 0.0
        return 0.0  # an operator of a plug-in

    def _least_join(self, op: IndependentJoin, output: RelationStats, inputs: Inputs) -> float:
        """The cheapest join algorithm for the inputs in this order, without residuals; hash and merge joins need an equality.
        The other order is another expression, but for semi and anti joins, which may build on either side."""
        c, left, right = self.coefficients, at_least_one(inputs[0].rows), at_least_one(inputs[1].rows)
        own = c.loop_in * (left + right) + c.pair * left * right
        if any(map(is_key, op.predicate)):
            own = min(own, c.hash_build * right + c.hash_probe * left, c.merge_in * (left + right))
            if op.kind.left_only:
                own = min(own, c.hash_build * left + c.hash_probe * right)
        return own + c.join_out * at_least_one(output.rows)
