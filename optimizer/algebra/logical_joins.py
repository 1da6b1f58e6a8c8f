"""Logical joins, plain, mark, single and dependent: one family with a kind and a predicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from optimizer.algebra.columns import ColumnId, ColumnSet
from optimizer.algebra.derive_props import applied_props, join_props, marked_props, single_props
from optimizer.algebra.flags import APPLY
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Label, LogicalOperator, show_predicate
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate, Scalar


class AnyJoin(LogicalOperator):
    """Base of all joins, plain, mark, single and dependent ones. `mark`: the column of the mark, None where there is none."""

    __slots__ = ()
    arity: ClassVar[int | None] = 2
    if TYPE_CHECKING:  # fields or constants of the classes below

        @property
        def kind(self) -> JoinKind: ...

        @property
        def predicate(self) -> Predicate: ...

        @property
        def mark(self) -> ColumnId | None: ...

    def output_columns(self, inputs: Sequence[ColumnSet]) -> ColumnSet:
        if self.kind.left_only:
            return inputs[0]
        return inputs[0] | inputs[1] if self.mark is None else inputs[0] | 1 << self.mark

    def with_predicate(self, predicate: Predicate) -> Self:
        this: Any = self
        changed: Self = replace(this, predicate=predicate)
        return changed

    def scalars(self) -> tuple[Scalar, ...]:
        return self.predicate


class IndependentJoin(AnyJoin):
    """Base of the joins whose right input reads no columns of the left one: all but Apply."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Join(IndependentJoin):
    """Join of `kind` on a predicate (empty: TRUE, a cross product). Output: columns of both inputs, for semi and anti the left's.

    Semi keeps left rows with a match, anti those without one (a predicate that is UNKNOWN is no match).
    """

    kind: JoinKind
    predicate: Predicate
    name: ClassVar[str] = "join"
    mark: ClassVar[None] = None

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return join_props(self.kind, self.predicate, inputs[0], inputs[1])

    def describe(self, label: Label) -> str:
        if not self.predicate and self.kind is JoinKind.INNER:
            return "cross"
        return f"{self.kind.value} on {show_predicate(self.predicate, label)}"


@dataclass(frozen=True, slots=True)
class MarkJoin(IndependentJoin):
    """Every left row once, with the boolean column `mark`: TRUE if the predicate is TRUE for some right row, else UNKNOWN if it
    is UNKNOWN for some, else FALSE (Neumann, Leis and Kemper, BTW 2017). Without a predicate: whether there is a right row."""

    predicate: Predicate
    mark: ColumnId
    name: ClassVar[str] = "mark_join"
    kind: ClassVar[JoinKind] = JoinKind.MARK

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return marked_props(self.predicate, self.mark, inputs[0], inputs[1])

    def describe(self, label: Label) -> str:
        return f"{label(self.mark)} := {show_predicate(self.predicate, label)}"


@dataclass(frozen=True, slots=True)
class SingleJoin(IndependentJoin):
    """As a left outer join, but a left row with more than one match is an error (Neumann, Leis and Kemper, BTW 2017)."""

    predicate: Predicate
    name: ClassVar[str] = "single_join"
    kind: ClassVar[JoinKind] = JoinKind.SINGLE
    mark: ClassVar[None] = None

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return single_props(self.predicate, inputs[0], inputs[1])

    def describe(self, label: Label) -> str:
        return f"on {show_predicate(self.predicate, label)}"


@dataclass(frozen=True, slots=True)
class Apply(AnyJoin):
    """The dependent join: the right input is evaluated for each left row, whose columns it may read as `OuterRef`s; then the row
    is joined with those rows as a join of `kind` on `predicate` does.

    Kinds: inner, left, semi, anti, mark (with the column `mark`), single. A volatile right input is evaluated once per row.
    """

    kind: JoinKind
    predicate: Predicate
    mark: ColumnId | None = None
    name: ClassVar[str] = "apply"
    flag: ClassVar[int] = APPLY

    def derive_props(self, inputs: Sequence[LogicalProps]) -> LogicalProps:
        return applied_props(self.kind, self.predicate, self.mark, inputs[0], inputs[1])

    def describe(self, label: Label) -> str:
        text = self.kind.value if self.mark is None else f"{self.kind.value} {label(self.mark)}"
        return f"{text} on {show_predicate(self.predicate, label)}" if self.predicate else text


def join_of_kind(kind: JoinKind, predicate: Predicate, mark: ColumnId | None = None) -> LogicalOperator:
    """The operator that joins two independent inputs in this way."""
    if kind is JoinKind.MARK:
        assert mark is not None, "a mark join has a mark column"
        return MarkJoin(predicate, mark)
    return SingleJoin(predicate) if kind is JoinKind.SINGLE else Join(kind, predicate)
