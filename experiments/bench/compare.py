"""What changed between two runs of an experiment, measure by measure, over the items that ended in both.

Items are paired by their columns; those that have one value in each run, and another one, are what was changed on purpose (a
setting, a plug-in). Seeds of one item are no observations of their own: a pair is two means over the seeds. For each measure the
ratios of the pairs, second run over first: geometric mean with a 95 % interval by bootstrap, and the probability of a shift as
large by chance: Wilcoxon's signed-rank test on the logarithms, by random flips of signs, so that ties need no correction. Several
measures are several chances: probabilities are corrected by Holm's method.

Source: Wilcoxon, Biometrics Bulletin 1945; Holm, Scandinavian Journal of Statistics 1979; Efron and Tibshirani, An Introduction
to the Bootstrap, 1993.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.bench.experiment import Figure, Row, Section, Table
from experiments.bench.registry import load
from experiments.bench.results import read_environment, read_rows
from experiments.bench.store import table_of
from experiments.bench.summary import grouped
from experiments.bench.tables import flat
from experiments.rank_correlation import mean_ranks
from optimizer.errors import OutputError, PlanscopeError, many

Rows = dict[tuple[Any, ...], list[Row]]

RESAMPLES = 10_000
_AT_ONCE = 1_000_000  # values that are drawn at a time
SIGNIFICANT = 0.05
_SAME = 1e-9  # relative difference below which two figures are the same
_OF_ITEM = ("item_s", "item_cpu_s", "attempts", "peak_mb", "rss_mb")  # the same in all its rows, or of the process too
_SAME_RUN = ("code", "system", "processor", "python")
_LARGEST = 5  # pairs that are shown for each measure


def compare(first: Path, second: Path) -> list[Section]:
    """What changed from the first run to the second. Raises OutputError, and PlanscopeError for runs of different experiments."""
    one, two = (_about(folder) for folder in (first, second))
    if one["experiment"] != two["experiment"]:
        raise PlanscopeError(f"{first} is of bench {one['experiment']}, {second} of bench {two['experiment']}")
    experiment = load(one["experiment"])
    tables = [flat(read_rows(folder)) for folder in (first, second)]
    columns = dict.fromkeys((*one["item_columns"], *two["item_columns"]))
    changed = {name: values for name in columns if (values := _changed(tables, name)) is not None}
    same = [name for name in columns if name not in changed]
    items = [_by(table.to_pylist(), same) for table in tables]
    if not items[0].keys() & items[1].keys():
        raise PlanscopeError(f"{first} and {second} have no item in common: their items differ in {', '.join(columns)}")
    paired = [*(name for name in same if name != "seed"), *getattr(experiment, "KEYS", ())]
    ended = [key for key in items[0] if key in items[1] and all(run[key][0]["status"] == "ok" for run in items)]
    before, after = (_by([row for key in ended for row in run[key]], paired) for run in items)
    both = [key for key in before if key in after]
    wanted = getattr(experiment, "COMPARED", None)
    lines, largest, ratios = [], [], []
    for name in _measures(tables, {*columns, *paired, *_OF_ITEM}):
        known = [(*pair, key) for key in both if (pair := _pair(before[key], after[key], name)) is not None]
        if known and (wanted is None or name in wanted):
            lines.append({"measure": name, **shift([a for a, _, _ in known], [b for _, b, _ in known])})
            ratios += [{"series": name, "x": b / a} for a, b, _ in known if a > 0 and b > 0 and lines[-1]["changed"]]
            moved = sorted((pair for pair in known if not _equal(*pair[:2])), key=lambda pair: -_size(*pair[:2]))
            largest += [{"measure": name, **dict(zip(paired, key, strict=True)), "first": a, "second": b}
                        for a, b, key in moved[:_LARGEST]]  # fmt: skip
    _holm(lines)
    text = _what(one, two, changed, items[0], items[1])
    caption = "A pair is two means over seeds. `ratio`: second over first, geometric mean, with its 95 % interval; `p`: "
    caption += "probability of such a shift by chance."
    about = "Share of pairs in which a measure is at most so many times what it was, of the measures that changed."
    figure = Figure("ratios", about, table_of(ratios), "shares", "second / first", "share of pairs", log_x=True)
    tables = [Table("changes", caption, table_of(lines))] * bool(lines)
    sections = [Section(f"{first} and {second}", text, tables, [figure] if ratios else [])]
    if largest:
        sections.append(Section("Largest changes", "", [Table("largest", "By measure.", _without_constants(largest))]))
    return [*sections, *_endings(items[0], items[1], same)]


def _by(rows: Sequence[Row], columns: Sequence[str]) -> Rows:
    return grouped(rows, lambda row: tuple(row.get(name) for name in columns))


def _about(folder: Path) -> dict[str, Any]:
    found = read_environment(folder)
    if found is None:
        raise OutputError(f"there are no results of an experiment in {folder}")
    return found


def shift(first: Sequence[float], second: Sequence[float]) -> Row:
    """Sums, how many pairs changed, and how the ratios of positive pairs are distributed."""
    logs = np.array([math.log(b / a) for a, b in zip(first, second, strict=True) if a > 0 and b > 0])
    logs[np.abs(logs) < _SAME] = 0.0
    row: Row = {
        "pairs": len(first),
        "changed": sum(not _equal(a, b) for a, b in zip(first, second, strict=True)),
        "first, sum": float(sum(first)),
        "second, sum": float(sum(second)),
    }
    if not len(logs):
        return row
    generator = np.random.default_rng(0)
    means = np.concatenate([logs[generator.integers(0, len(logs), shape)].mean(axis=1) for shape in _slices(len(logs))])
    low, high = np.exp(np.percentile(means, (2.5, 97.5)))
    return {**row, "ratio": float(np.exp(logs.mean())), "low": float(low), "high": float(high), "p": signed_rank(logs)}


def signed_rank(differences: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Two-sided probability of a sum of signed ranks as far from 0, if either sign were as likely; zeros are left out."""
    differences = differences[differences != 0.0]
    if not len(differences):
        return 1.0
    ranks = mean_ranks(np.abs(differences))
    observed = abs(float(np.sum(np.sign(differences) * ranks)))
    if len(ranks) <= 13:  # all flips
        signs = 1.0 - 2.0 * ((np.arange(1 << len(ranks))[:, None] >> np.arange(len(ranks))) & 1)
        return float(np.mean(np.abs(signs @ ranks) >= observed - 1e-9))
    generator = np.random.default_rng(0)
    sums = (generator.choice((-1.0, 1.0), shape) @ ranks for shape in _slices(len(ranks)))
    return (1 + sum(int(np.sum(np.abs(each) >= observed - 1e-9)) for each in sums)) / (1 + RESAMPLES)


def _slices(size: int) -> Iterator[tuple[int, int]]:
    """Shapes of RESAMPLES rows of `size` values in all, drawn one after the other."""
    rows = max(1, _AT_ONCE // size)
    return ((min(rows, RESAMPLES - start), size) for start in range(0, RESAMPLES, rows))


def _holm(lines: list[Row]) -> None:
    """Corrects `p` of all lines for their number, and says which shifts are significant."""
    tested = sorted((line for line in lines if line.get("p") is not None), key=lambda line: float(line["p"]))
    least = 0.0
    for place, line in enumerate(tested):
        least = line["p"] = min(1.0, max(least, line["p"] * (len(tested) - place)))
        line["significant"] = least < SIGNIFICANT


def _changed(tables: Sequence[pa.Table], name: str) -> tuple[Any, Any] | None:
    """The one value that a column has in each run, where they differ."""
    values = [set(table[name].to_pylist()) if name in table.column_names else {None} for table in tables]
    if any(len(each) != 1 for each in values) or values[0] == values[1]:
        return None
    return values[0].pop(), values[1].pop()


def _measures(tables: Sequence[pa.Table], keys: Collection[str]) -> list[str]:
    """Columns of numbers that both runs have."""
    types = [{field.name: field.type for field in table.schema} for table in tables]
    numbers = [{name for name, type in each.items() if pa.types.is_integer(type) or pa.types.is_floating(type)} for each in types]
    return [name for name in types[0] if all(name in each for each in numbers) and name not in keys]


def _pair(first: Sequence[Row], second: Sequence[Row], name: str) -> tuple[float, float] | None:
    """The means of a measure over the rows of one key, of seeds that have it in both runs; None without any."""
    runs = [[row for row in rows if row.get(name) is not None and math.isfinite(row[name])] for rows in (first, second)]
    one, two = ({row.get("seed") for row in rows} for rows in runs)
    means = [fmean(row[name] for row in rows if row.get("seed") in one & two) for rows in runs if one & two]
    return (means[0], means[1]) if means else None


def _equal(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=_SAME)


def _size(a: float, b: float) -> float:
    return abs(math.log(b / a)) if a > 0 and b > 0 else math.inf


def _what(one: Row, two: Row, changed: Mapping[str, tuple[Any, Any]], first: Rows, second: Rows) -> str:
    text = f"bench {one['experiment']}: {many(len(first.keys() & second.keys()), 'item')} in both runs"
    if first.keys() != second.keys():
        text += (
            f", {len(first.keys() - second.keys()):,} in the first only, {len(second.keys() - first.keys()):,} in the second only"
        )
    differs = [f"{name}: {a!r} and {b!r}" for name, (a, b) in changed.items()]
    facts = [{**{name: run.get(name) for name in _SAME_RUN}, **run["versions"]} for run in (one, two)]
    named = (one["inputs"].keys() & two["inputs"].keys()) - {"the settings"}  # which are in the items
    inputs = [{name: run["inputs"][name] for name in sorted(named)} for run in (one, two)]
    for a, b in (facts, inputs):
        differs += [f"{name}: {a.get(name)} and {b.get(name)}" for name in {**a, **b} if a.get(name) != b.get(name)]
    alike = "Code and machine are the same." if first.keys() != second.keys() else "Items, code and machine are the same."
    return f"{text}. " + (f"What differs: {'; '.join(differs)}." if differs else alike)


def _endings(first: Rows, second: Rows, columns: Sequence[str]) -> list[Section]:
    """Items that failed in one run and not in the other, or otherwise."""
    rows = [
        {**dict(zip(columns, key, strict=True)), "first": first[key][0]["status"], "second": second[key][0]["status"]}
        for key in first if key in second and first[key][0]["status"] != second[key][0]["status"]
    ]  # fmt: skip
    if not rows:
        return []
    return [Section("Other endings", "", [Table("endings", "Items that ended otherwise.", _without_constants(rows))])]


def _without_constants(rows: list[Row]) -> pa.Table:
    """The rows without columns that say the same in all of several rows."""
    always = ("measure", "first", "second")
    kept = [name for name in rows[0] if len(rows) == 1 or name in always or len({row[name] for row in rows}) > 1]
    return pa.Table.from_pylist([{name: row[name] for name in kept} for row in rows])
