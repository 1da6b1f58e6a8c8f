"""Coefficients: checked, written, read back, and used by the settings that name them."""

import json
from pathlib import Path
from random import Random

import pytest

from optimizer.cost.arrow import ArrowCost
from optimizer.cost.coefficients import DEFAULTS, NAMES, Coefficients
from optimizer.cost.coefficients_file import coefficients_text, read_coefficients
from optimizer.cost.spark import SparkCost
from optimizer.engines.arrow import cost_model
from optimizer.errors import SettingsError
from optimizer.settings import Settings
from tests.cost.random_models import random_coefficients


def written(path: Path, **changes: object) -> Path:
    facts = json.loads(coefficients_text(DEFAULTS, {"cores": 2}, [{"family": "scan", "points": 3}]))
    path.write_text(json.dumps({**facts, **changes}), "utf-8")
    return path


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    for seed in range(20):
        coefficients = random_coefficients(Random(seed))
        path.write_text(coefficients_text(coefficients, {}, []), "utf-8")
        assert read_coefficients(path) == coefficients


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 1e13, "3", None, True])
def test_what_is_no_cost_is_refused(value: object) -> None:
    with pytest.raises(SettingsError, match=r"numbers from 0 to 1e\+12; these are not: hash_build"):
        Coefficients(hash_build=value)  # type: ignore[arg-type]


def test_unknown_and_missing_names_are_named(tmp_path: Path) -> None:
    values = DEFAULTS.as_dict()
    del values["pair"], values["start"]
    path = written(tmp_path / "a.json", coefficients={**values, "hash_bild": 1.0})
    with pytest.raises(SettingsError) as caught:
        read_coefficients(path)
    text = str(caught.value)
    assert str(path) in text and 'unknown coefficient "hash_bild" (did you mean "hash_build"?)' in text
    assert "missing: start, pair" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, 'does not say "format": "planscope-coefficients"'),
        ({"coefficients": [1]}, "is not a file of coefficients"),
        ({"version": 2}, "has version 2 of the format; this release reads version 1"),
        ({"coefficients": {**DEFAULTS.as_dict(), "pair": -2}}, r"these are not: pair \(-2\)"),
    ],
)
def test_bad_files(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        read_coefficients(written(tmp_path / "bad.json", **changes))
    assert "bad.json" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    for content in (b"{", b"\xff\xfe\x00", b"[" * 100_000, b"3"):
        broken.write_bytes(content)
        with pytest.raises(SettingsError, match=r"broken\.json is not a file of coefficients"):
            read_coefficients(broken)
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(SettingsError, match="cannot read the coefficients file"):
            read_coefficients(path)


def test_settings_choose_the_model_and_its_coefficients(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_text(coefficients_text(Coefficients(start=7.0), {}, []), "utf-8")
    arrow = cost_model(Settings(coefficients=str(path)))
    assert isinstance(arrow, ArrowCost) and arrow.coefficients == Coefficients(start=7.0)
    spark = cost_model(Settings(cost_model="spark", spark_nodes=9, coefficients=str(path)))
    assert isinstance(spark, SparkCost) and spark.nodes == 9
    assert [cost_model(Settings(cost_model=name)).name for name in ("arrow", "c_out", "c_mm", "spark")] == [
        "arrow", "c_out", "c_mm", "spark",
    ]  # fmt: skip
    with pytest.raises(SettingsError, match="spark_nodes is at least 1"):
        cost_model(Settings(cost_model="spark", spark_nodes=0))


def test_least_figures_follow_the_coefficients() -> None:
    c = Coefficients(hash_probe=30.0, hash_build=40.0, merge_in=50.0, loop_in=1.0, pair=10.0, again_range=5.0)
    assert c.join_in == 6.0  # nested loops
    assert c.least_again == 5.0
    assert Coefficients(**dict.fromkeys(NAMES, 0.0)).join_in == 0.0
