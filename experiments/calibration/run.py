"""A calibration from beginning to end: tables, measurements, fit, file."""

import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from experiments.bench.code_version import versions_of
from experiments.calibration.cases import cases
from experiments.calibration.data import make_catalog
from experiments.calibration.fit import Fit, fit
from experiments.calibration.measure import Point, measure
from experiments.lock import now
from optimizer.cost.coefficients import DEFAULTS
from optimizer.cost.coefficients_file import coefficients_text

ROWS, QUICK_ROWS = 400_000, 20_000  # of the largest table
FEWEST = 30
_PACKAGES = ("pyarrow", "numpy", "planscope")


class Calibration(NamedTuple):
    fit: Fit
    points: list[Point]
    machine: dict[str, Any]


def calibrate(rows: int, quick: bool, progress: Callable[[str], None] | None = None) -> Calibration:
    """Measure and fit. `rows`: of the largest tables; there are smaller ones too. `quick`: fewer sizes and runs."""
    sizes = sorted({FEWEST, max(FEWEST, rows // 10), rows} if quick else {FEWEST, 1000, max(FEWEST, rows // 10), rows})
    with tempfile.TemporaryDirectory(prefix="planscope-calibrate-") as folder:
        if progress:
            progress(f"calibrate: making tables of {', '.join(f'{size:,}' for size in sizes)} rows")
        catalog = make_catalog(Path(folder), sizes)
        points = measure(catalog, cases(sizes), *((2, 0.05) if quick else (7, 0.6)), progress)
    return Calibration(fit(points, DEFAULTS), points, machine_facts(rows))


def machine_facts(rows: int) -> dict[str, Any]:
    """Where and when it was measured, and with what."""
    return {
        "measured": now(),
        "rows": rows,
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        **dict.fromkeys(_PACKAGES, "unknown"),
        **versions_of(_PACKAGES),
    }


def file_text(calibration: Calibration) -> str:
    """What the setting `coefficients` reads."""
    fitted = [quality._asdict() for quality in calibration.fit.qualities]
    return coefficients_text(calibration.fit.coefficients, calibration.machine, fitted)


COEFFICIENT_HEAD = ("coefficient", "ns", "default", "points")


def coefficient_rows(calibration: Calibration) -> list[tuple[str, ...]]:
    found, before = calibration.fit.coefficients.as_dict(), DEFAULTS.as_dict()
    measured = calibration.fit.measured
    return [
        (name, f"{value:,.4g}", f"{before[name]:,.4g}", f"{measured[name]:,}" if measured[name] else "-")
        for name, value in found.items()
    ]


QUALITY_HEAD = ("operator", "points", "R²", "median error", "largest error")


def quality_rows(calibration: Calibration) -> list[tuple[str, ...]]:
    return [
        (
            each.family, f"{each.points:,}", "-" if each.r_squared is None else f"{each.r_squared:.3f}",
            f"{each.median_error:.0%}", f"{each.largest_error:.0%}",
        )
        for each in calibration.fit.qualities
    ]  # fmt: skip
