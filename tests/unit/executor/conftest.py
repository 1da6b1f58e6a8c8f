"""What tests of plans made by hand start with."""

from pathlib import Path

import pytest
from hand_made_plans import Plans


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    return Plans(tmp_path)
