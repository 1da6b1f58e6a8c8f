"""Ways of costing the same joins see the same rows, also where a leaf of a region is itself a join."""

import pytest

from executor import Session
from tests.differential.datasets import dataset
from tests.reference.compare import assert_same_bag, rows_of

QUERY = "select a.id from q a join t b on a.rid = b.rid join u c on a.id = c.c join q d on b.rid = d.rid"
LEFT_DEEP = "select * from t a join r b on a.s = b.s, r c left join r d on c.id = d.id where b.id + b.id > c.id"


def test_a_join_that_is_a_leaf_is_estimated_with_its_region(tmp_path) -> None:
    """A conjunct with a cast that may raise keeps a join out of the region above it; its rows are those of the whole."""
    folder = dataset(tmp_path, 16).folder
    ways = ({}, {"pruning": "none"}, {"enumeration": "partition"}, {"driver": "iterative"})
    costs = [Session(folder, way).optimize(QUERY).cost for way in ways]
    assert costs == pytest.approx([costs[0]] * len(ways), rel=1e-9)


@pytest.mark.parametrize("driver", ["top_down", "iterative"])
def test_a_region_without_a_left_deep_split_keeps_the_order_as_written(tmp_path, driver: str) -> None:
    folder = dataset(tmp_path, 17).folder
    left_deep = Session(folder, {"enumeration": "left_deep", "driver": driver})
    assert_same_bag(rows_of(Session(folder).sql(LEFT_DEEP).table), rows_of(left_deep.sql(LEFT_DEEP).table))
