"""What a plan space is made of: choices (OR) between ways (AND) over further choices."""

from collections.abc import Sequence

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.traits import Alternative


class Way:
    """A physical operator at the top of a plan; its inputs are any plans of the choices `inputs`, by number.

    `alternative`: what the operator asks of its inputs and then delivers; `local`: its own cost, not negative.
    """

    __slots__ = ("alternative", "inputs", "local", "op")

    def __init__(self, op: PhysicalOperator, inputs: tuple[int, ...], alternative: Alternative, local: float) -> None:
        self.op, self.inputs, self.alternative, self.local = op, inputs, alternative, local


class Choice:
    """The plans of memo group `group` that meet some traits: those through any of `ways`.

    `columns` and `rows` (estimated) are the group's.
    """

    __slots__ = ("columns", "group", "rows", "ways")

    def __init__(self, group: int, columns: ColumnSet, rows: float, ways: Sequence[Way] = ()) -> None:
        self.group, self.columns, self.rows, self.ways = group, columns, rows, ways
