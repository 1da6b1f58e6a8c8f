"""All engines over the datasets, made on first use."""

import functools
from collections.abc import Callable

import pytest

from tests.differential.correlated.engines import Engines, engines_over
from tests.differential.correlated.tables import RICH_DATA


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Engines]:
    root = tmp_path_factory.mktemp("correlated")
    return functools.cache(lambda number: engines_over(root, number))


@pytest.fixture(scope="session")
def engines(pool: Callable[[int], Engines]) -> Engines:
    """Over the rich dataset."""
    return pool(RICH_DATA)
