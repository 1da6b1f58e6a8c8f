"""C_out: a plan costs the rows that its joins give, summed (Cluet and Moerkotte, ICDT 1995). For comparing join orders.

Lower bound of a join group: its own rows and the bounds of its leaves. Admissible: every plan of the group has a topmost
join that gives these rows, and contains a plan of every leaf.
"""

from collections.abc import Sequence

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.logical_joins import AnyJoin
from optimizer.algebra.physical import OPERATORS, HashJoin, MergeJoin, NestedApply, NestedLoopJoin, PhysicalOperator
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.traits import TraitSet
from optimizer.cost.by_operator import ByOperator
from optimizer.cost.joins import JoinCosts
from optimizer.cost.model import Bounded
from optimizer.stats.relation import RelationStats

_JOINS = (HashJoin, MergeJoin, NestedLoopJoin, NestedApply)
_LOGICAL = (AnyJoin, JoinGraph, RegionGraph)

LOCAL = ByOperator("c_out", {op: (lambda op, out, i: out.rows) if op in _JOINS else (lambda op, out, i: 0.0) for op in OPERATORS})


class COut:
    name = "c_out"

    def local(self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        return LOCAL[type(op)](op, output, inputs)

    def join_costs(self) -> JoinCosts:
        return JoinCosts(0.0, start=0.0, build=0.0, probe=0.0, merge=0.0, loop=0.0, pair=0.0, pair_call=0.0, out=1.0, call=0.0)

    def least(self, op: LogicalOperator, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        return output.rows if isinstance(op, _LOGICAL) else 0.0

    def lower_bound(
        self, op: LogicalOperator, output: RelationStats, inputs: Sequence[Bounded], leaves: Sequence[Bounded]
    ) -> float:
        return sum(leaf.lower for leaf in leaves) + (output.rows if isinstance(op, _LOGICAL) else 0.0)
