"""A plan that is run again and again, with other values for its parameters each time.

The plan is rewritten once: references to the outer columns read cells, and every largest part that reads no outer column and
calls nothing volatile becomes a leaf that keeps its rows. What operators make when they start and would make again in
the next run (compiled expressions, opened files) stays in `memory`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from executor.arrow.context import Context
from executor.arrow.kept_rows import Kept, KeptRows
from executor.arrow.parameters import Cell, parameterized
from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids
from optimizer.algebra.physical import NestedApply, ReadSpool
from optimizer.algebra.plan import PlanNode


class Rerun:
    """`root`: the plan of a run. `cells`: one for each parameter that the plan reads. `volatile`: runs with equal
    parameters may give different rows."""

    __slots__ = ("_changing", "_kept", "_memory", "cells", "root", "volatile")

    def __init__(self, plan: PlanNode, parameters: ColumnSet, changing: int | None = None) -> None:
        """`changing`: a spool that holds other rows in each run."""
        self._changing = changing
        self.cells: dict[ColumnId, Cell] = {id: Cell() for id in column_ids(parameters)}
        self._kept: list[Kept] = []
        self._memory: dict[int, Any] = {}
        done: dict[int, _Part] = {}
        for node in reversed(list(plan.walk())):  # inputs before the operators over them
            done[id(node)] = self._rewritten(node, [done[id(i)] for i in node.inputs])
        whole = done[id(plan)]
        self.root, self.volatile = self._leaf(whole), whole.volatile

    def context(self, context: Context) -> Context:
        """Where the runs take place."""
        return context.again(self._memory)

    def forget(self, context: Context) -> None:
        """Forget the rows that are kept: there are no more runs, or they have other values of further-out parameters."""
        for kept in self._kept:
            kept.forget(context)

    def _rewritten(self, node: PlanNode, inputs: list[_Part]) -> _Part:
        scalars = node.op.scalars()
        outer = 0
        for scalar in scalars:
            outer |= scalar.outer
        volatile = any(s.volatile for s in scalars) or any(part.volatile for part in inputs)
        volatile |= isinstance(node.op, ReadSpool) and node.op.spool == self._changing
        for number, part in enumerate(inputs):
            bound = node.op.parameters if isinstance(node.op, NestedApply) and number == 1 else 0
            outer |= part.outer & ~bound
        if isinstance(node.op, NestedApply):
            outer &= ~inputs[0].node.columns  # its predicate may refer to the left row as to an outer one
        if not outer and not volatile:
            return _Part(node, 0, False)
        op = node.op.map_scalars(lambda scalar: parameterized(scalar, self.cells))
        return _Part(node.rebuilt(op, tuple(self._leaf(part) for part in inputs)), outer, volatile)

    def _leaf(self, part: _Part) -> PlanNode:
        """The part as an input of something that is run again."""
        if part.outer or part.volatile:
            return part.node
        if isinstance(part.node.op, KeptRows):
            return part.node
        kept = Kept(part.node)
        self._kept.append(kept)
        return part.node.rebuilt(KeptRows(kept), ())


class _Part(NamedTuple):
    """A subplan, rewritten; which outer columns it reads, and whether it is volatile."""

    node: PlanNode
    outer: ColumnSet
    volatile: bool
