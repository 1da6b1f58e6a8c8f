"""Coefficients from measured points, by least squares of relative errors; none is less than the share LEAST of what it was.

Each point is an equation Σ coefficient · amount = ns, divided by ns: an error of 10 % weighs the same for a millisecond and
for a second. To each coefficient that occurs belongs one more, weak equation that says it is what it was: PRIOR of the weight
of a point. It decides only what the points leave open, as when two coefficients always occur together. Points that are off by
far are not believed: after a first fit, those whose residual is beyond FAR times the median weigh less (Huber). Noise may hide
what an operation takes, but nothing is free: with pairs at 0, nested loops would look cheap at any size.
"""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from experiments.calibration.measure import Point
from experiments.calibration.nnls import nnls
from optimizer.cost.coefficients import NAMES, Coefficients

PRIOR, LEAST = 0.3, 0.02
FAR, ROUNDS = 3.0, 5
KEPT = ("repeated_run",)  # says what planning should avoid, not what an operator takes


class Quality(NamedTuple):
    """How well the fit explains the points of a family: R² of the logarithms of times, median and largest relative error."""

    family: str
    points: int
    r_squared: float | None
    median_error: float
    largest_error: float


class Fit(NamedTuple):
    """`measured[name]`: points that a coefficient has a part in; 0: it is what it was."""

    coefficients: Coefficients
    measured: dict[str, int]
    qualities: list[Quality]


def fit(points: Sequence[Point], before: Coefficients) -> Fit:
    """Coefficients that no point tells anything about stay as they were `before`."""
    names = [name for name in NAMES if name not in KEPT and any(point.amounts.get(name) for point in points)]
    was = before.as_dict()
    fixed = np.array([sum(was[name] * point.amounts.get(name, 0.0) for name in KEPT) for point in points])
    times = np.array([point.ns for point in points])
    amounts = np.array([[point.amounts.get(name, 0.0) for name in names] for point in points])
    rows = amounts / times[:, None]
    wanted = 1.0 - fixed / times
    scale = np.array([was[name] if was[name] > 0.0 else 1.0 for name in names])
    prior_rows = PRIOR * np.diag(1.0 / scale)
    prior = PRIOR * np.array([was[name] for name in names]) / scale
    least = LEAST * np.array([was[name] for name in names])
    weights = np.ones(len(points))
    for _ in range(ROUNDS):
        equations = np.vstack([rows * weights[:, None], prior_rows])
        found = least + nnls(equations, np.concatenate([wanted * weights, prior]) - equations @ least)
        off = np.abs(rows @ found - wanted)
        far = FAR * max(1e-9, float(np.median(off)))
        weights = np.sqrt(np.minimum(1.0, far / np.maximum(off, 1e-12)))
    coefficients = Coefficients(**{**was, **dict(zip(names, map(float, found), strict=True))})
    measured = dict.fromkeys(NAMES, 0) | {name: int((amounts[:, i] > 0.0).sum()) for i, name in enumerate(names)}
    return Fit(coefficients, measured, _qualities(points, amounts @ found + fixed))


def _qualities(points: Sequence[Point], estimates: np.ndarray) -> list[Quality]:
    groups: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for point, estimate in zip(points, estimates.tolist(), strict=True):
        groups[point.family].append((point.ns, estimate))
        groups["all"].append((point.ns, estimate))
    whole = groups.pop("all")
    return [_quality(family, pairs) for family, pairs in (*groups.items(), ("all", whole))]


def _quality(family: str, pairs: Sequence[tuple[float, float]]) -> Quality:
    errors = [abs(estimate / ns - 1.0) for ns, estimate in pairs]
    logs = np.log([[ns, max(estimate, 1.0)] for ns, estimate in pairs])
    spread = float(((logs[:, 0] - logs[:, 0].mean()) ** 2).sum())
    r_squared = 1.0 - float(((logs[:, 0] - logs[:, 1]) ** 2).sum()) / spread if spread > 0.0 else None
    return Quality(family, len(pairs), r_squared, median(errors), max(errors))
