"""Least squares without negative values, by the active-set method.

Source: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
"""

import numpy as np


def nnls(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The x ≥ 0 that minimizes |a x - b|; `a` is (m, n), `b` (m,). Where several do, one of them.

    Columns are scaled to length 1 first, so that their units do not matter; a column of zeros gets 0. Exact up to rounding:
    the result satisfies the conditions of Karush, Kuhn and Tucker.
    """
    lengths = np.linalg.norm(a, axis=0)
    scaled = a / np.where(lengths > 0.0, lengths, 1.0)
    size = a.shape[1]
    x, free = np.zeros(size), np.zeros(size, np.bool_)
    enough = 1e-10 * max(1.0, float(np.linalg.norm(b)))
    refused = np.zeros(size, np.bool_)  # set free, and at once driven below 0 by rounding
    while True:
        gain = np.where(free | refused, -np.inf, scaled.T @ (b - scaled @ x))
        best = int(np.argmax(gain)) if size else 0
        if not size or gain[best] <= enough:
            return x / np.where(lengths > 0.0, lengths, 1.0)
        free[best] = True
        wanted = _least_squares(scaled, b, free)
        if wanted[best] <= 0.0:
            free[best], refused[best] = False, True
            continue
        while (wanted[free] <= 0.0).any():  # as far towards it as no value becomes negative; what reaches 0 is bound
            falling = free & (wanted <= 0.0)
            step = float(np.min(x[falling] / (x[falling] - wanted[falling])))
            x += step * (wanted - x)
            free &= x > 1e-12 * max(1.0, float(x.max()))
            x[~free] = 0.0
            wanted = _least_squares(scaled, b, free)
        x = wanted
        refused[:] = False


def _least_squares(a: np.ndarray, b: np.ndarray, free: np.ndarray) -> np.ndarray:
    x = np.zeros(a.shape[1])
    if free.any():
        x[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
    return x
