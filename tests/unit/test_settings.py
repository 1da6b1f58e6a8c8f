"""Settings from Python and from files: what is no value of a setting is told, never rounded."""

from __future__ import annotations

import pytest

from optimizer.errors import SettingsError
from optimizer.settings import Settings


@pytest.mark.parametrize("value", [1.5, True, float("inf"), float("nan"), None, "1.5"])
def test_what_is_no_whole_number(value: object) -> None:
    with pytest.raises(SettingsError, match=f'setting budget_tasks is a whole number, not "{value}"'):
        Settings.from_mapping({"budget_tasks": value})


@pytest.mark.parametrize("value", [3, 3.0, "3"])
def test_whole_numbers(value: object) -> None:
    found = Settings.from_mapping({"budget_tasks": value}).budget_tasks
    assert found == 3 and type(found) is int
