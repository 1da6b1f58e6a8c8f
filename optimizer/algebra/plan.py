"""The chosen physical plan: what the search hands to an engine."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.physical import PhysicalOperator, TableScan
from optimizer.algebra.traits import Alternative


class PlanNode:
    """A physical operator over input plans.

    `columns`: the output columns somebody above reads (what an executor has to produce). `alternative`: the input
    traits it was planned with and the traits it delivers; an executor must honour both. `rows`: estimated output
    rows. `local_cost` is its own, `cost` includes the inputs. `group` is the memo group it came from.
    """

    __slots__ = ("alternative", "columns", "cost", "group", "id", "inputs", "local_cost", "op", "rows")

    def __init__(
        self, op: PhysicalOperator, inputs: tuple[PlanNode, ...], columns: ColumnSet, alternative: Alternative, rows: float,
        local_cost: float, cost: float, group: int = -1,
    ) -> None:  # fmt: skip
        self.op, self.inputs, self.columns, self.alternative = op, inputs, columns, alternative
        self.rows, self.local_cost, self.cost, self.group = rows, local_cost, cost, group
        self.id = -1

    def __repr__(self) -> str:
        return f"PlanNode({self.op.name}, cost={self.cost:,.0f}, rows={self.rows:,.0f})"

    def rebuilt(self, op: PhysicalOperator, inputs: tuple[PlanNode, ...]) -> PlanNode:
        """The same node, of another operator or over other inputs. Over another number of them nothing is asked of these."""
        alternative = self.alternative if len(inputs) == len(self.inputs) else Alternative((), self.alternative.delivered)
        made = PlanNode(op, inputs, self.columns, alternative, self.rows, self.local_cost, self.cost, self.group)
        made.id = self.id
        return made

    def walk(self) -> Iterator[PlanNode]:
        """This node and all below it, parents first, left to right. Iterative."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.inputs))


def aliases_below(plan: PlanNode) -> dict[int, frozenset[str]]:
    """The aliases of the tables that each node of a plan reads, by the node's identity."""
    found: dict[int, frozenset[str]] = {}
    for node in reversed(list(plan.walk())):
        own = frozenset((node.op.scan.alias,)) if isinstance(node.op, TableScan) else frozenset()
        found[id(node)] = own.union(*(found[id(below)] for below in node.inputs))
    return found


def prune_columns(plan: PlanNode, columns: ColumnSet) -> None:
    """Narrow every node's `columns` to what is read above it, and number the nodes in pre-order.

    At least one column is kept everywhere, so that a batch always knows how many rows it has.
    """
    stack = [(plan, columns)]
    while stack:
        node, wanted = stack.pop()
        kept = node.columns & wanted
        node.columns = kept or node.columns & -node.columns
        stack.extend((child, node.op.columns_of_input(i, node.columns)) for i, child in enumerate(node.inputs))
    for number, node in enumerate(plan.walk()):
        node.id = number
