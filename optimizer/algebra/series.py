"""The rows of range() and generate_series(): there may be many, and most rules look at none of them."""

from collections.abc import Sequence
from typing import Any

from optimizer.algebra.columns import DataType
from optimizer.algebra.scalars import Literal, Scalar


class Series(Sequence[tuple[Scalar, ...]]):
    """The rows of a series: one value each, none NULL, ascending or descending. Literals of them are made when asked for."""

    __slots__ = ("type", "values")

    def __init__(self, values: Sequence[Any], type: DataType) -> None:
        self.values, self.type = values, type

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> Any:
        return (Literal(self.values[place], self.type),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Series) and self.values == other.values and self.type == other.type

    def __hash__(self) -> int:
        return hash(self.values)
