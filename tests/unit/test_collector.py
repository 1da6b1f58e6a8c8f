"""The collector of reference cycles while a query is planned."""

import gc

import pytest

from experiments.workloads.data import open_data
from optimizer.collector import collector_paused
from optimizer.errors import SqlError
from optimizer.pipeline import Optimizer


@pytest.mark.parametrize("on", [True, False])
def test_it_is_as_before_after_planning(on: bool) -> None:
    optimizer = Optimizer(open_data("job"))
    before = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        optimizer.optimize("select 1 as one from title")
        assert gc.isenabled() is on
        with pytest.raises(SqlError):
            optimizer.optimize("select nothing from nowhere")
        assert gc.isenabled() is on
    finally:
        (gc.enable if before else gc.disable)()


def test_it_is_off_meanwhile() -> None:
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
