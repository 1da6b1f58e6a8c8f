"""Rows in parts by their keys. What is made of the parts is seen by the tests of aggregates and set operations."""

import pyarrow as pa
import pytest

from executor.arrow.context import Tuning
from executor.arrow.key_parts import by_key_parts


@pytest.mark.parametrize(("keys", "part", "several"), [(["k", "null"], 20, True), (["k"], 21, False), ([], 1, False)])
def test_rows_stay_in_order_and_few_are_one_part(keys: list[str], part: int, several: bool) -> None:
    table = pa.table({"k": [i % 7 for i in range(40)], "null": pa.nulls(40), "row": range(40)})
    parts: list[list[int]] = []

    def work(each: pa.Table) -> pa.Table:
        parts.append(each["row"].to_pylist())
        return each

    by_key_parts([table.slice(0, 7), table.slice(7, 0), table.slice(7)], keys, work, Tuning(batch=8, part=part, workers=1))
    assert parts == [sorted(rows) for rows in parts] and (len(parts) > 1) == several
