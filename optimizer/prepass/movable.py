"""Which conjuncts a rule may move to other rows, and how they are written there."""

from __future__ import annotations

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.scalars import Predicate, Scalar, as_outer, conjunction


def over(predicate: Predicate, columns: ColumnSet) -> tuple[Predicate, Predicate]:
    """The conjuncts that stay, and those over nothing but `columns` that may move: not volatile, unable to raise."""
    above: list[Scalar] = []
    below: list[Scalar] = []
    for conjunct in predicate:
        moves = not (conjunct.columns & ~columns or conjunct.volatile or conjunct.raises)
        (below if moves else above).append(conjunct)
    return tuple(above), tuple(below)


def for_row(predicate: Predicate, columns: ColumnSet) -> Predicate:
    """The predicate as the right input of an Apply says it: `columns`, of the left one, are references to its row."""
    return conjunction(as_outer(s, columns) for s in predicate)
