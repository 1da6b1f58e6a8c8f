"""Which order or grouping a projection asks for: what is determined further down need not be asked for."""

import pyarrow as pa
import pytest

from optimizer.algebra import Call, Cast, ColumnRef, LogicalProps, ProjectItem, ProjectRows, Scalar
from optimizer.algebra.columns import DataType
from optimizer.algebra.traits import SortKey, TraitSet, grouped


def asked(value: Scalar, type: DataType, required: TraitSet) -> list[TraitSet]:
    """What a projection to #0 and #1 := `value` asks of its input for `required`."""
    project = ProjectRows((ProjectItem(0, ColumnRef(0, type)), ProjectItem(1, value)))
    below = LogicalProps(0b1)
    return [way.inputs[0] for way in project.pass_through(required, LogicalProps(0b11), [below])]


BOTH = (grouped(0b11), TraitSet((SortKey(0), SortKey(1))))


@pytest.mark.parametrize("required", BOTH, ids=["group", "order"])
def test_what_a_column_determines_is_not_asked_for(required: TraitSet) -> None:
    integer = ColumnRef(0, pa.int64())
    for value in (Call("abs", (integer,), pa.int64()), Cast(integer, pa.string(), False)):
        assert asked(value, pa.int64(), required) == [grouped(0b1) if required.grouping else TraitSet((SortKey(0),))]


@pytest.mark.parametrize("required", BOTH, ids=["group", "order"])
def test_the_text_of_a_float_is_not_determined(required: TraitSet) -> None:
    """Rows with 0.0 and -0.0 are equal and stand in any order; their texts differ, so they would come in several runs."""
    text = Cast(ColumnRef(0, pa.float64()), pa.string(), False)
    assert asked(text, pa.float64(), required) == []
