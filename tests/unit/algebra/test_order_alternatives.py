"""What operators ask of their inputs for an order, where the output knows more than the inputs do."""

from __future__ import annotations

import pyarrow as pa
import pytest

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import MergeJoin
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import ColumnRef
from optimizer.algebra.traits import TraitSet, ascending, grouped

K, J, ID, K1, J1 = range(5)  # columns of the left input, and of the right one
LEFT, RIGHT = LogicalProps(1 << K | 1 << J | 1 << ID), LogicalProps(1 << K1 | 1 << J1)
BOTH = LEFT.columns | RIGHT.columns


def merge_join(*keys: tuple[int, int]) -> MergeJoin:
    pairs = tuple((ColumnRef(a, pa.int64()), ColumnRef(b, pa.int64())) for a, b in keys)
    return MergeJoin(JoinKind.INNER, pairs, ())


def order(*columns: int) -> TraitSet:
    return TraitSet(ascending(columns))


KEYS = (
    # k = k1 and k = j1, hence k1 = j1: the second key says nothing new of the output
    (merge_join((K, K1), (K, J1)), LogicalProps(BOTH, equivalences=(1 << K | 1 << K1 | 1 << J1,)), (K, K), (K1, J1)),
    # k = k1 and j = j1, where j is constant in the output, as one of its equals is
    (
        merge_join((K, K1), (J, J1)),
        LogicalProps(BOTH, constants=1 << J | 1 << J1, equivalences=(1 << K | 1 << K1, 1 << J | 1 << J1)),
        (K, J),
        (K1, J1),
    ),
)


@pytest.mark.parametrize(("join", "output", "left", "right"), KEYS, ids=["equal keys", "constant key"])
def test_an_order_goes_on_after_keys_that_the_output_determines(
    join: MergeJoin, output: LogicalProps, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    """The merge needs all keys of its inputs; in the output the first one determines the other, so `k, id` is an order of it."""
    longer = order(*left, ID)
    ways = join.pass_through(order(K, ID), output, (LEFT, RIGHT))
    assert ((longer, order(*right)), longer) in [(way.inputs, way.delivered) for way in ways]
    offered = join.derive(order(K, ID), 0, output, (LEFT, RIGHT))
    assert ((longer, order(*right)), longer) in [(way.inputs, way.delivered) for way in offered]


@pytest.mark.parametrize(("join", "output", "left", "right"), KEYS, ids=["equal keys", "constant key"])
def test_a_grouping_takes_in_keys_that_the_output_determines(
    join: MergeJoin, output: LogicalProps, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    longer = order(*left, ID)
    ways = join.pass_through(grouped(1 << K | 1 << ID), output, (LEFT, RIGHT))
    assert ((longer, order(*right)), longer) in [(way.inputs, way.delivered) for way in ways]


def test_an_order_stops_at_a_key_that_nothing_determines() -> None:
    output = LogicalProps(BOTH, equivalences=(1 << K | 1 << K1, 1 << J | 1 << J1))
    join = merge_join((K, K1), (J, J1))
    assert join.pass_through(order(K, ID), output, (LEFT, RIGHT)) == ()
    assert [way.delivered for way in join.derive(order(K, ID), 0, output, (LEFT, RIGHT))] == [order(K, J)]
