"""Degree sequences: how often the values of a column occur, as upper bounds.

A sequence is a tuple of steps (values, rows of each), rows descending: ((1, 40), (3, 10)) says that the most common value has at
most 40 rows, the two most common ones together at most 50, and so on; all of them at most 70. Only these sums are promised (the
sequence majorizes the true one), which is enough: for descending sequences Σ d(i) · e(i) grows with the sums of either. Numbers
of values are whole; rows of each need not be. NULL is no value here.

Source: Deeds, Suciu and Balazinska, SafeBound (SIGMOD 2023), sections 2 and 3.
"""

from collections.abc import Iterator
from math import inf

Steps = tuple[tuple[float, float], ...]
"""(values, rows of each)."""

Weights = list[tuple[float, float]]
"""(rows, weight of each): of the rows of a relation, weights descending."""

MOST_STEPS = 200


def unique(rows: float) -> Steps:
    """No value occurs twice."""
    return ((rows, 1.0),) if rows > 0 else ()


def one_value(rows: float) -> Steps:
    """Nothing is known: all rows may have one value."""
    return ((1.0, rows),) if rows > 0 else ()


def total(steps: Steps | Weights) -> float:
    return sum(number * of_each for number, of_each in steps)


def most(steps: Steps) -> float:
    """Rows of the most common value."""
    return steps[0][1] if steps else 0.0


def together(steps: Steps, values: float) -> float:
    """Rows of the so many most common values."""
    return total(first(steps, values))


def first(steps: Steps, values: float) -> Steps:
    """The so many most common values."""
    kept = []
    for count, rows in steps:
        if values < 1:
            break
        kept.append((min(count, values), rows))
        values -= count
    return tuple(kept)


def capped(steps: Steps, rows: float) -> Steps:
    """What is left of the values when there are no more rows than that: the sums cut off at `rows`."""
    kept: list[tuple[float, float]] = []
    for values, each in steps:
        if values * each <= rows:
            kept.append((values, each))
            rows -= values * each
            continue
        whole = float(rows // each)
        if whole:
            kept.append((whole, each))
            rows -= whole * each
        if rows > 0:
            kept.append((1.0, rows))
        break
    return tuple(kept)


def scaled(steps: Steps, factor: float) -> Steps:
    return tuple((values, rows * factor) for values, rows in steps) if factor > 0 else ()


def with_value(steps: Steps, rows: float) -> Steps:
    """One more value, which has so many rows."""
    if rows <= 0:
        return steps
    larger = [step for step in steps if step[1] >= rows]
    return (*larger, (1.0, rows), *steps[len(larger) :])


def added(a: Steps, b: Steps) -> Steps:
    """Of two bags of values put together."""
    return _short(tuple((values, x + y) for values, x, y in _aligned(a, b)))


def multiplied(a: Steps, b: Steps) -> Steps:
    """Of the join of two columns: a value with x rows here and y there has x · y."""
    return _short(tuple((values, x * y) for values, x, y in _aligned(a, b) if x > 0 and y > 0))


def weights_of(column: Steps, matches: Steps) -> Weights:
    """Weights of a relation's rows, where `matches` are those of the values of a column: most common values match most."""
    return [(values * rows, weight) for values, rows, weight in _aligned(column, matches) if rows > 0 and weight > 0]


def combined_weights(a: Weights, b: Weights) -> Weights:
    """Products of weights, row by row."""
    return [(rows, x * y) for rows, x, y in _aligned(a, b) if x > 0 and y > 0]


def weighted(column: Steps, weights: Weights) -> Steps:
    """The degree sequence of a column where each row counts for its weight, most common values having the heaviest rows."""
    found: list[tuple[float, float]] = []
    left = list(reversed(weights))
    for values, rows in column:
        while values >= 1 and left:
            length, weight = left[-1]
            whole = min(values, float(length // rows))
            if whole >= 1:  # values all of whose rows have this weight
                found.append((whole, rows * weight))
                values -= whole
                _take(left, whole * rows)
                continue
            found.append((1.0, _take(left, rows)))  # a value whose rows have several weights
            values -= 1
    return _short(tuple(found))


def _take(left: Weights, rows: float) -> float:
    """Take so many rows off the end of the list; the sum of their weights."""
    weight = 0.0
    while rows > 0 and left:
        length, each = left.pop()
        used = min(length, rows)
        weight += used * each
        if length > used:
            left.append((length - used, each))
        rows -= used
    return weight


def _aligned(a: Steps | Weights, b: Steps | Weights) -> Iterator[tuple[float, float, float]]:
    """(length, of a, of b) where both are constant; 0 where one has ended."""
    left, right = list(reversed(a)), list(reversed(b))
    while left or right:
        in_a, x = left.pop() if left else (inf, 0.0)
        in_b, y = right.pop() if right else (inf, 0.0)
        length = min(in_a, in_b)
        yield length, x, y
        if length < in_a < inf:
            left.append((in_a - length, x))
        if length < in_b < inf:
            right.append((in_b - length, y))


def _short(steps: Steps) -> Steps:
    """With at most MOST_STEPS steps: neighbours become one, all with the rows of the first."""
    while len(steps) > MOST_STEPS:
        pairs = [(steps[i][0] + steps[i + 1][0], steps[i][1]) for i in range(0, len(steps) - 1, 2)]
        steps = (*pairs, *(steps[-1:] if len(steps) % 2 else ()))
    return steps
