"""All engines over the rich dataset."""

from __future__ import annotations

import pytest

from tests.differential.correlated.engines import Engines, engines_over
from tests.differential.correlated.tables import RICH_DATA


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Engines:
    return engines_over(tmp_path_factory.mktemp("rich"), RICH_DATA)
