"""planscope calibrate: what it prints and writes, and what it refuses."""

import json
from pathlib import Path

import pytest

from optimizer.cost.coefficients import NAMES
from optimizer.cost.coefficients_file import read_coefficients


@pytest.mark.slow
def test_a_quick_calibration_writes_coefficients_that_plan(planscope, tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    done = planscope("calibrate", "--quick", "--rows", "5000", "-o", str(path))
    assert done.code == 0 and "making tables of 30, 500, 5,000 rows" in done.err
    words = {line.split()[0] for line in done.out.splitlines() if line.split()}
    assert words >= {*NAMES, "coefficient", "operator", "scan", "window", "apply", "all"}
    assert all(value > 0.0 for value in read_coefficients(path).as_dict().values())  # nothing is free, whatever noise there was
    facts = json.loads(path.read_text("utf-8"))
    assert facts["machine"]["cores"] >= 1 and facts["machine"]["rows"] == 5000
    assert facts["fit"][-1]["family"] == "all" and facts["fit"][-1]["points"] > 200
    assert planscope("explain", "job/1a", "--set", f"coefficients={path}").code == 0


def test_calibrate_fails_before_it_measures(planscope, tmp_path: Path) -> None:
    done = planscope("calibrate", "-o", str(tmp_path / "no" / "machine.json"))
    assert done.code == 2 and "there is no folder" in done.err and "making tables" not in done.err
