"""Settings from Python and from files: what is no value of a setting is told, never rounded."""

from pathlib import Path

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


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("pruning", "nome", 'setting pruning cannot be "nome": choose one of none'),
        ("driver", "zz", 'setting driver cannot be "zz"'),
        ("gap", float("nan"), "setting gap cannot be nan"),
        ("budget_tasks", -5, "setting budget_tasks cannot be negative"),
        ("spark_nodes", 10**400, "setting spark_nodes is too large a number"),
        ("prepass", "maybe", 'setting prepass is true or false, not "maybe"'),
        ("estimator", "histogramm", 'setting estimator cannot be "histogramm"'),
        ("prunin", "none", 'unknown setting "prunin"\ndid you mean "pruning"?'),
    ],
)
def test_settings_made_without_a_mapping_are_checked_too(name: str, value: object, message: str) -> None:
    for make in (Settings, Settings().replace):
        with pytest.raises(SettingsError, match=message):
            make(**{name: value})


def test_texts_and_lists_become_what_the_setting_is() -> None:
    found = Settings(prepass="no", budget_tasks="5", gap=1, disable=["a"], plugins="x.py, y.py")  # type: ignore[arg-type]
    assert (found.prepass, found.budget_tasks, found.gap, found.disable) == (False, 5, 1.0, ("a",))
    assert found.plugins == ("x.py", "y.py") and found == Settings.from_mapping(found.as_dict()) and hash(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gap = 0.1\n\nfoo = 3\n", 'line 3: unknown setting "foo"\nknown settings: pruning'),
        ("budget_task = 3\n", 'line 1: unknown setting "budget_task"\ndid you mean "budget_tasks"?'),
        ("# mine\n[search]\ngap = 0.1\n", 'line 2: unknown setting "search"'),
        ("budget_tasks = 1.9\n", 'line 1: setting budget_tasks is a whole number, not "1.9"'),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(SettingsError) as error:
        Settings.from_pairs(file=tmp_path / "mine.toml")
    assert str(error.value).startswith(f"settings file {tmp_path / 'mine.toml'}, {message}")


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("budget_tasks = 3\n", encoding="utf-8-sig")
    assert Settings.from_pairs(file=tmp_path / "mine.toml").budget_tasks == 3


def test_rules_to_disable_and_plugins_are_added_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's had replaced those of the preset, and a plug-in in the home folder was looked up beside the file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "preset.toml").write_text('disable = ["partial_sort"]\nplugins = ["~/p.py"]')
    (tmp_path / "mine.toml").write_text('disable = ["join_to_merge_join"]\nplugins = ["m.py"]\ngap = 0.1')
    found = Settings.from_pairs(
        ["disable=join_commute", "gap=0.2"], ["partial_sort", "a"], tmp_path / "mine.toml", ["~/x.py"], tmp_path / "preset.toml"
    )
    assert found.disable == ("partial_sort", "join_to_merge_join", "join_commute", "a")
    assert found.plugins == (f"{tmp_path}/p.py", f"{tmp_path}/m.py", "~/x.py") and found.gap == 0.2
