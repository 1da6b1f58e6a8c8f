"""What every physical operator answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, Self

from optimizer.algebra.columns import ColumnSet, union
from optimizer.algebra.logical import Label, LogicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.traits import ANY, Alternative, Collation, TraitSet

Props = Sequence[LogicalProps]


class PhysicalOperator:
    """Base of all physical operators: frozen dataclasses, whose fields are the payload."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()  # names of the fields
    name: ClassVar[str]
    said_as: ClassVar[type[LogicalOperator] | None] = None  # a logical operator whose first fields are these, which says them

    def pass_through(self, required: TraitSet, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return (Alternative((ANY,) * len(inputs)),) if required == ANY else ()

    def derive(self, delivered: TraitSet, index: int, output: LogicalProps, inputs: Props) -> tuple[Alternative, ...]:
        return ()

    def before_offers(self, required: Collation, below: LogicalProps) -> tuple[Collation, ...]:
        """Where the output is to come by `required`: orders after which the input, which has the properties `below`, may go on by
        one that it offers. `derive` is asked for both together."""
        return ()

    def describe(self, label: Label) -> str:
        if self.said_as is None:
            return ""
        return self.said_as(*(getattr(self, name) for name in self.__match_args__)).describe(label)

    def used_columns(self, output: ColumnSet) -> ColumnSet:
        """Columns the operator must get from its inputs to produce the columns `output`: at least those and what scalars read."""
        return output | union(scalar.columns for scalar in self.scalars())

    def columns_of_input(self, index: int, output: ColumnSet) -> ColumnSet:
        """Of these the columns that it gets from input `index`, and perhaps some that this input does not have."""
        return self.used_columns(output)

    def scalars(self) -> tuple[Scalar, ...]:
        """Every scalar of the payload, wherever it stands in it."""
        return tuple(_scalars(self))

    def map_scalars(self, change: Callable[[Scalar], Scalar]) -> Self:
        """The operator with `change` made to each scalar of its payload; itself where nothing changed."""
        changed: Self = _mapped(self, change)
        return changed


def _scalars(value: Any) -> Iterator[Scalar]:
    """The scalars in a field: in tuples, in named tuples, in dataclasses (a scan's predicate)."""
    if isinstance(value, Scalar):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _scalars(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _scalars(getattr(value, field.name))


def _mapped(value: Any, change: Callable[[Scalar], Scalar]) -> Any:
    if isinstance(value, Scalar):
        return change(value)
    if isinstance(value, tuple):
        parts = [_mapped(part, change) for part in value]
        if all(a is b for a, b in zip(value, parts, strict=True)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {}
        for field in fields(value):
            before = getattr(value, field.name)
            after = _mapped(before, change)
            if after is not before:
                changed[field.name] = after
        return replace(value, **changed) if changed else value
    return value
