"""Multi-expressions: plain slotted data. Logical and physical ones are separate types."""

from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.traits import TraitSet


class LogicalExpr:
    """A logical multi-expression: an operator over input groups.

    `rule` and `source`: which rule made it from which multi-expression (None, -1: given by the query). `applied` has the
    bit of every transformation rule that has bound it; `implemented` says whether its `physical` expressions exist;
    `dropped` that a merge found it to be the same as another. `barred` has the bit of every rule that is never tried on it.
    """

    __slots__ = (
        "applied", "barred", "dropped", "group", "id", "implemented", "inputs", "least", "op", "physical", "rule",
        "source",
    )  # fmt: skip

    def __init__(self, id: int, group: int, op: LogicalOperator, inputs: tuple[int, ...], rule: str | None, source: int) -> None:
        self.id, self.group, self.op, self.inputs, self.rule, self.source = id, group, op, inputs, rule, source
        self.applied = 0
        self.barred = 0
        self.physical: list[PhysicalExpr] = []
        self.implemented = False
        self.dropped = False
        self.least = -1.0  # cheapest local cost of any implementation, once it was asked for


class PhysicalExpr:
    """A physical multi-expression over the same input groups as the logical one it implements (`source`)."""

    __slots__ = ("costs", "group", "id", "inputs", "op", "rule", "source")

    def __init__(self, id: int, group: int, op: PhysicalOperator, inputs: tuple[int, ...], rule: str | None, source: int) -> None:
        self.id, self.group, self.op, self.inputs, self.rule, self.source = id, group, op, inputs, rule, source
        self.costs: dict[TraitSet, float] = {}  # local cost by delivered traits
