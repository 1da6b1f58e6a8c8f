"""What operators ask of their inputs for an order, where the output knows more than the inputs do, or less."""

from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

from optimizer.algebra import Call, Cast, ColumnRef, JoinKind, ProjectItem, ProjectRows, Scalar
from optimizer.algebra.columns import DataType
from optimizer.algebra.physical import HashJoin, MergeJoin, NestedLoopJoin, PartialSort, StreamingAggregate, WindowRows
from optimizer.algebra.props import Dependency, LogicalProps
from optimizer.algebra.traits import ANY, Alternative, SortKey, TraitSet, ascending, completed, grouped, reduce_traits, satisfies
from optimizer.rules.catalog import ENFORCERS
from optimizer.rules.enforce.moves import enforcers

K, J, ID, K1, J1, ID1 = range(6)  # columns of the left input, and of the right one
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
def test_an_order_and_a_grouping_go_on_after_keys_that_the_output_determines(
    join: MergeJoin, output: LogicalProps, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    """The merge needs all keys of its inputs; in the output the first one determines the other, so `k, id` is an order of it."""
    longer = order(*left, ID)
    for ways in (
        join.pass_through(order(K, ID), output, (LEFT, RIGHT)), join.derive(order(K, ID), 0, output, (LEFT, RIGHT)),
        join.pass_through(grouped(1 << K | 1 << ID), output, (LEFT, RIGHT)),
    ):  # fmt: skip
        assert ((longer, order(*right)), longer) in [(way.inputs, way.delivered) for way in ways]


def test_an_order_stops_at_a_key_that_nothing_determines() -> None:
    output = LogicalProps(BOTH, equivalences=(1 << K | 1 << K1, 1 << J | 1 << J1))
    join = merge_join((K, K1), (J, J1))
    assert join.pass_through(order(K, ID), output, (LEFT, RIGHT)) == ()
    assert [way.delivered for way in join.derive(order(K, ID), 0, output, (LEFT, RIGHT))] == [order(K, J)]


def test_what_an_aggregate_adds_to_an_order_is_not_determined_by_the_rest() -> None:
    """j, k by j, where k is a key of the rows with ID: k alone tells the groups apart, however the keys are written."""
    below = LogicalProps(LEFT.columns, dependencies=(Dependency(1 << K, 1 << J),))
    for keys in ((J, K, ID), (K, J, ID), (ID, J, K)):
        aggregate = StreamingAggregate(keys, ())
        output = LogicalProps(LEFT.columns, keys=(1 << K | 1 << ID,), dependencies=below.dependencies)
        (way,) = aggregate.pass_through(order(ID), output, (below,))
        assert way.delivered == order(ID, K)


def test_what_a_window_adds_to_an_order_is_not_determined_by_the_rest() -> None:
    below = LogicalProps(LEFT.columns, dependencies=(Dependency(1 << K, 1 << J),))
    (way,) = WindowRows((J, K), ascending((ID,)), ()).pass_through(ANY, below, (below,))
    assert way.delivered == order(K, ID)


def test_runs_of_an_offer_are_sorted_by_what_is_not_determined_yet() -> None:
    """Rows come by ID, which J and K determine together; K alone then says the rest, as ID and K determine J."""
    props = LogicalProps(LEFT.columns, dependencies=(Dependency(1 << J | 1 << K, 1 << ID), Dependency(1 << ID | 1 << K, 1 << J)))
    moves = enforcers(grouped(1 << J | 1 << K), (order(ID),), props, ENFORCERS)
    assert PartialSort(1 << ID, ascending((K,))) in [move.op for move in moves]


def test_rows_that_all_differ_are_grouped_by_what_determines_them_above() -> None:
    """Grouped by k, which determines the left row in the output though not in the input: left rows all differ, so their matches
    are together as they come. To ask the input for rows grouped by k would be to sort it."""
    left = LogicalProps(LEFT.columns, keys=(1 << ID,), dependencies=(Dependency(1 << ID, 1 << K | 1 << J),))
    output = LogicalProps(
        BOTH, equivalences=(1 << K | 1 << K1,), dependencies=(*left.dependencies, Dependency(1 << K1, 1 << ID)),
    )  # fmt: skip
    join = HashJoin(JoinKind.INNER, ((ColumnRef(K, pa.int64()), ColumnRef(K1, pa.int64())),), ())
    asked = [reduce_traits(way.inputs[0], left) for way in join.pass_through(grouped(1 << K1), output, (left, RIGHT))]
    assert list(dict.fromkeys(asked)) == [grouped(1 << K), ANY]


def test_a_merge_join_tries_its_keys_in_every_permutation() -> None:
    """Whatever is asked of it, one of the inputs may come in any permutation of the keys that serves."""
    join = merge_join((K, K1), (J, J1), (ID, ID1))
    right = LogicalProps(1 << K1 | 1 << J1 | 1 << ID1)
    output = LogicalProps(LEFT.columns | right.columns, equivalences=(1 << K | 1 << K1, 1 << J | 1 << J1, 1 << ID | 1 << ID1))
    mirrored = {K: K1, J: J1, ID: ID1}
    for required, leading in ((ANY, ()), (order(K), (K,)), (grouped(1 << K), (K,)), (grouped(LEFT.columns), ())):
        asked = {way.inputs for way in join.pass_through(required, output, (LEFT, right))}
        for keys in permutations((K, J, ID)):
            if keys[: len(leading)] == leading:
                assert (order(*keys), order(*(mirrored[k] for k in keys))) in asked


@pytest.mark.parametrize(
    ("known", "wanted"),
    [({"dependencies": (Dependency(1 << K, 1 << ID),)}, order(K, K1)), ({"constants": 1 << ID}, order(K1))],
    ids=["key determined", "key constant"],
)
def test_nested_loops_go_on_with_the_right_order_where_left_rows_are_told_apart(known: dict[str, Any], wanted: TraitSet) -> None:
    """The left input is sorted by its key as well, or by nothing else: above the join the key says nothing more."""
    left = LogicalProps(LEFT.columns, keys=(1 << ID,), dependencies=(Dependency(1 << ID, LEFT.columns),))
    known = {**known, "dependencies": (*known.get("dependencies", ()), *left.dependencies)}
    loops, output = NestedLoopJoin(JoinKind.INNER, ()), LogicalProps(BOTH, **known)
    (way,) = loops.pass_through(wanted, output, (left, RIGHT))
    assert way.inputs == (order(*(key.column for key in wanted.collation[:-1]), ID), order(K1))
    assert satisfies(way.delivered, wanted, output)
    assert (way in loops.derive(order(K1), 1, output, (left, RIGHT))) == (wanted == order(K1))


def test_the_matches_of_a_left_row_are_grouped_as_the_right_rows_are() -> None:
    """Nested loops: rows equal on the left key and j1 come of one left row; its matches come as the right rows do."""
    left = LogicalProps(LEFT.columns, keys=(1 << ID,), dependencies=(Dependency(1 << ID, LEFT.columns),))
    output = LogicalProps(BOTH, dependencies=left.dependencies)
    loops = NestedLoopJoin(JoinKind.INNER, ())
    assert Alternative((ANY, grouped(1 << J1)), grouped(1 << ID | 1 << J1)) in loops.pass_through(
        grouped(1 << ID | 1 << J1), output, (left, RIGHT)
    )
    assert not loops.pass_through(grouped(1 << K | 1 << J1), output, (left, RIGHT))


def test_an_offer_goes_on_as_the_order_asked_for_and_no_further() -> None:
    """J is constant in the output only: an input that comes by J, K, ID need be sorted by J, K for an order by K."""
    output = LogicalProps(LEFT.columns, constants=1 << J)
    below = LogicalProps(LEFT.columns)
    offer = ascending((J, K, ID))
    assert completed(offer, ascending((K,)), below.columns, output, below) == (ascending((J, K)),)
    assert completed(offer[:1], ascending((K, ID)), below.columns, output, below) == (ascending((J, K, ID)),)
    assert completed(offer, ascending((ID,)), below.columns, output, below) == (ascending((J, ID)),)
    assert completed(ascending((ID,)), ascending((K,)), below.columns, output, below) == ()


def test_runs_are_told_apart_by_columns_none_of_which_the_others_determine() -> None:
    props = LogicalProps(LEFT.columns, dependencies=(Dependency(1 << ID, 1 << J),))
    moves = enforcers(order(J, ID, K), (), props, ENFORCERS)
    assert PartialSort(1 << ID, ascending((K,))) in [move.op for move in moves]


def test_groups_in_an_order_come_with_their_other_keys_in_every_sequence() -> None:
    ways = StreamingAggregate((ID, J, K), ()).pass_through(order(J), LEFT, (LogicalProps(LEFT.columns),))
    assert {way.delivered for way in ways} == {order(J, ID, K), order(J, K, ID)}


def test_a_merge_join_by_constant_keys_keeps_any_order_of_the_left_rows() -> None:
    output = LogicalProps(BOTH, constants=1 << K | 1 << K1)
    (way,) = merge_join((K, K1)).derive(order(J, ID), 0, output, (LEFT, RIGHT))
    assert way == Alternative((order(K, J, ID), order(K1)), order(K, J, ID))


def asked(value: Scalar, type: DataType, required: TraitSet) -> list[TraitSet]:
    """What a projection to #0 and #1 := `value` asks of its input for `required`."""
    project = ProjectRows((ProjectItem(0, ColumnRef(0, type)), ProjectItem(1, value)))
    below = LogicalProps(0b1)
    return [way.inputs[0] for way in project.pass_through(required, LogicalProps(0b11), [below])]


REQUIRED = (grouped(0b11), TraitSet((SortKey(0), SortKey(1))))


@pytest.mark.parametrize("required", REQUIRED, ids=["group", "order"])
def test_what_a_column_determines_is_not_asked_for(required: TraitSet) -> None:
    integer = ColumnRef(0, pa.int64())
    for value in (Call("abs", (integer,), pa.int64()), Cast(integer, pa.string(), False)):
        assert asked(value, pa.int64(), required) == [grouped(0b1) if required.grouping else TraitSet((SortKey(0),))]


@pytest.mark.parametrize("required", REQUIRED, ids=["group", "order"])
def test_the_text_of_a_float_is_not_determined(required: TraitSet) -> None:
    """Rows with 0.0 and -0.0 are equal and stand in any order; their texts differ, so they would come in several runs."""
    text = Cast(ColumnRef(0, pa.float64()), pa.string(), False)
    assert asked(text, pa.float64(), required) == []
