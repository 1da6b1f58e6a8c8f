"""The n-ary inner join: all relations of a region and all its conjuncts, with no order chosen yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from optimizer.algebra.columns import ColumnSet, union
from optimizer.algebra.derive_props import join_props
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Label, LogicalOperator, show_predicate
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate, Scalar


@dataclass(frozen=True, slots=True)
class JoinGraph(LogicalOperator):
    """Inner join of two or more inputs on a predicate; every binary join tree over the same inputs gives the same bag.

    Conjuncts neither raise nor are volatile, so any order may test them.
    """

    predicate: Predicate
    name: ClassVar[str] = "join_graph"
    arity: ClassVar[int | None] = None

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        """Those of joins in an order in which each input is linked to the ones before it, as far as conjuncts link them."""
        waiting = list(inputs[1:])
        rest = list(self.predicate)
        props = inputs[0]
        while waiting:
            reached = props.columns
            beyond = {s.columns & ~reached for s in rest if s.columns & reached}  # what each conjunct reads of others
            linked = next((w for w in waiting if any(each and not each & ~w.columns for each in beyond)), waiting[0])
            waiting.remove(linked)
            within = reached | linked.columns
            usable = tuple(s for s in rest if not s.columns & ~within)
            rest = [s for s in rest if s.columns & ~within]
            joined = props.answers.get((usable, linked))
            if joined is None:  # kept, since many sets of the same relations begin alike
                joined = props.answers[usable, linked] = join_props(JoinKind.INNER, usable, props, linked)
            props = joined
        return props

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        return union(inputs)

    def scalars(self) -> tuple[Scalar, ...]:
        return self.predicate

    def describe(self, label: Label) -> str:
        return f"on {show_predicate(self.predicate, label)}"
