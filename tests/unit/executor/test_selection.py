"""Rows chosen by masks: the same as Arrow's filter gives, wherever the mask begins, and whatever the column's type."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from executor.arrow.selection import filtered, flags, mask_of, row_numbers, taken, where_true

SIZES = (0, 1, 7, 8, 9, 64, 1000)


@pytest.mark.parametrize("rows", SIZES)
def test_masks_to_flags_and_back(rows: int) -> None:
    random = np.random.default_rng(rows)
    for part in (0.0, 0.3, 1.0):
        expected = random.random(rows) < part
        mask = pa.array(expected, pa.bool_())
        assert flags(mask).dtype == np.bool_ and flags(mask).tolist() == expected.tolist()
        assert mask_of(expected).equals(mask) and mask_of(expected).null_count == 0
        assert row_numbers(mask).tolist() == row_numbers(expected).tolist() == np.flatnonzero(expected).tolist()
        for start in range(min(rows, 20)):
            assert flags(mask.slice(start, 5)).tolist() == expected[start : start + 5].tolist()


@pytest.mark.parametrize("rows", SIZES)
def test_filtered_is_arrows_filter(rows: int) -> None:
    random = np.random.default_rng(rows)
    number = pa.array(random.integers(0, 9, rows), mask=random.random(rows) < 0.2)
    words = pa.array(["", "a", None, "longer"]).take(pa.array(random.integers(0, 4, rows)))
    amounts = pa.array([None if i % 5 == 0 else Decimal(i) for i in range(rows)], pa.decimal128(15, 2))
    batch = pa.record_batch([number, words, amounts, pa.nulls(rows), words.dictionary_encode()], list("abcde"))
    for part in (0.0, 0.3, 0.99, 1.0):
        mask = pa.array(random.random(rows) < part, pa.bool_())
        made = filtered(batch, mask)
        made.validate(full=True)
        assert made.equals(batch.filter(mask))
        assert filtered(batch.slice(3), mask.slice(3)).equals(batch.slice(3).filter(mask.slice(3)))


def test_rows_without_columns_keep_their_number() -> None:
    batch = pa.record_batch([pa.array([1, 2, 3])], ["a"]).select([])
    assert filtered(batch, pa.array([True, False, True])).num_rows == 2


def test_a_number_that_is_null_takes_null() -> None:
    assert taken(pa.array(["a", None, "b"]), pa.array([2, None, 1])).to_pylist() == ["b", None, None]


@pytest.mark.parametrize("rows", SIZES)
def test_where_a_mask_is_true_is_arrows_choice_between_values_and_null(rows: int) -> None:
    random = np.random.default_rng(rows)
    numbers = pa.array(random.integers(0, 9, rows), mask=random.random(rows) < 0.2)
    columns = [numbers, numbers.fill_null(0), numbers.cast(pa.decimal128(21, 2)), numbers.cast(pa.string()), pc.equal(numbers, 3)]
    columns += [pa.nulls(rows), pa.array([[i] if i % 3 else None for i in range(rows)], pa.list_(pa.int64()))]
    for part in (0.0, 0.3, 1.0):
        mask = pa.array(random.random(rows) < part, pa.bool_())
        for values in columns:
            for start in range(min(rows + 1, 12)):
                some, chosen = values.slice(start), mask.slice(start)
                for each in (some, pa.concat_arrays([some])):  # a part of an array, and one of its own
                    made = where_true(chosen, each)
                    made.validate(full=True)
                    assert made.equals(pc.if_else(chosen, some, pa.scalar(None, some.type)))
