"""One Spark session for the tests of the pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """All tests that use the session run in one process of pytest-xdist, which has to know before it looks: Spark starts once."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
    yield


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark with two slots on this machine, started by the first test that asks for it."""
    from experiments.pipeline.session import spark_session, stop_session

    yield spark_session("local[2]")
    stop_session()
