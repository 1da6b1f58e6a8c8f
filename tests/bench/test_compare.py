"""Comparing two runs: what is paired, and when a shift is significant."""

import numpy as np
import pytest

from experiments.bench.command import command_of
from experiments.bench.compare import compare, shift, signed_rank
from experiments.bench.results import Results
from optimizer.errors import OutputError, PlanscopeError
from tests.bench import toy


def _run(folder, factor, setting, queries=20, failed=(), inputs=None):
    items = [{"query": f"q{number}", "mode": "plain", "setting": setting} for number in range(queries)]
    results = Results(folder, toy, "a command", items, inputs)
    for number, item in enumerate(items):
        whole = {"peak_mb": number, "item_s": 1.0, "item_cpu_s": 1.0, "attempts": 1, "status": "ok"}
        rows = [{"part": part, "cost": factor(number) * part, "tasks": 7, **whole} for part in (1, 2)]
        results.add(item, [{"status": "timeout", "error": "slow"}] if number in failed else rows)
    results.finish(items)
    return folder


def test_a_shift_is_found_and_equal_measures_are_not_called_one(tmp_path):
    first = _run(tmp_path / "a", lambda n: 10.0 + n, "off", failed=(3,))
    second = _run(tmp_path / "b", lambda n: (10.0 + n) * 1.1, "on", queries=19)
    changes, largest, endings = compare(first, second)
    assert "19 items in both runs, 1 in the first only, 0 in the second only" in changes.text
    assert "setting: 'off' and 'on'" in changes.text
    rows = {row["measure"]: row for row in changes.tables[0].data.to_pylist()}
    assert rows["cost"]["ratio"] == pytest.approx(1.1) and rows["cost"]["changed"] == rows["cost"]["pairs"] == 36
    assert rows["cost"]["significant"] and rows["cost"]["low"] <= 1.1 + 1e-9 and rows["cost"]["high"] >= 1.1 - 1e-9
    assert rows.keys() == {"cost", "tasks"}, "the others are of the process, or of the whole item"
    assert rows["tasks"]["changed"] == 0 and not rows["tasks"]["significant"] and rows["tasks"]["p"] == 1.0
    assert {row["measure"] for row in largest.tables[0].data.to_pylist()} == {"cost"}
    assert changes.figures[0].data["x"].to_pylist() == pytest.approx([1.1] * 36)
    assert set(changes.figures[0].data["series"].to_pylist()) == {"cost"}
    assert [(row["query"], row["first"], row["second"]) for row in endings.tables[0].data.to_pylist()] == [
        ("q3", "timeout", "ok")
    ]


def test_items_may_hold_lists(tmp_path):
    """Those of a real experiment: `pairs` are a list."""
    for name, pairs in (("a", ()), ("b", ("--set", "gap=0.5"))):
        arguments = ("chain/2", "--modes", "rules", "--timeout", "0", "-q", "-o", str(tmp_path / name), *pairs)
        command_of("rules").main(list(arguments), standalone_mode=False)
    changes, *_ = compare(tmp_path / "a", tmp_path / "b")
    assert "1 item in both runs. What differs: pairs: '[]' and \"['gap=0.5']\"." in changes.text


def test_what_differs_beside_the_items_is_named(tmp_path, monkeypatch):
    first = _run(tmp_path / "a", lambda n: 1.0, "off", 1, inputs={"dataset d": "abc", "the settings": "default"})
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.9")
    monkeypatch.setattr("platform.release", lambda: "a new one")
    second = _run(tmp_path / "b", lambda n: 1.0, "off", 1, inputs={"dataset d": "abd", "the settings": "gap=0"})
    text = compare(first, second)[0].text
    assert "dataset d: abc and abd" in text and "a new one" in text and "numpy: " in text and "settings" not in text


@pytest.mark.parametrize(("queries", "said"), [(3, "Items, code"), (2, "1 in the first only, 0 in the second only. Code")])
def test_items_of_one_run_alone_are_a_difference(tmp_path, queries, said):
    first, second = (_run(tmp_path / name, lambda n: 1.0, "off", count) for name, count in (("a", 3), ("b", queries)))
    assert f"{said} and machine are the same." in compare(first, second)[0].text


def test_seeds_are_averaged_and_not_pairs(tmp_path):
    """Seeds of both runs alone: one that was not measured, or failed, in the other run would move the mean; so would one that has
    no value of a measure there."""
    runs = (("a", 1.0, "off", (), 3), ("b", 2.0, "on", (2,), None))
    for name, factor, setting, failed, known in runs:
        items = [{"query": query, "setting": setting, "seed": seed} for query in ("q", "r") for seed in range(4)]
        results = Results(tmp_path / name, toy, "a command", items)
        for item in items:
            row = {"part": 1, "cost": factor * (10.0 + item["seed"]), "status": "ok"}
            row["tasks"] = known if item["seed"] == 0 else item["seed"]
            results.add(item, [{"status": "timeout"} if item["seed"] in failed else row])
        results.finish(items)
    changes, *_ = compare(tmp_path / "a", tmp_path / "b")
    row, tasks = changes.tables[0].data.to_pylist()
    assert (tasks["pairs"], tasks["changed"], tasks["first, sum"]) == (2, 0, 4.0)
    assert row["pairs"] == 2 and row["first, sum"] == pytest.approx(2 * (10 + 11 + 13) / 3) and row["ratio"] == pytest.approx(2.0)


def test_the_signed_rank_test():
    """Few pairs: every flip of signs is counted; the distribution for three pairs is 1/4 at the ends (Wilcoxon's table)."""
    assert signed_rank(np.array([1.0, 2.0, 3.0])) == 0.25
    assert signed_rank(np.array([1.0, -2.0, 3.0])) == 0.75
    assert signed_rank(np.array([2.0, 2.0, -2.0, -2.0])) == 1.0
    assert signed_rank(np.array([0.0, 0.0])) == 1.0
    even = np.random.default_rng(1).normal(size=200)
    assert signed_rank(even) > 0.05
    assert signed_rank(even + 0.5) < 0.001


def test_nothing_positive_has_no_ratio():
    assert shift([0.0, 1.0], [0.0, 0.0]) == {"pairs": 2, "changed": 1, "first, sum": 1.0, "second, sum": 0.0}


def test_runs_that_cannot_be_compared(tmp_path, monkeypatch):
    first = _run(tmp_path / "a", lambda n: 1.0, "off", queries=1)
    with pytest.raises(OutputError, match="there are no results"):
        compare(first, tmp_path / "nothing")
    monkeypatch.setattr(toy, "NAME", "other")
    second = _run(tmp_path / "b", lambda n: 1.0, "off", queries=1)
    with pytest.raises(PlanscopeError, match="of bench other"):
        compare(first, second)
    with pytest.raises(PlanscopeError, match='no experiment "other"'):
        compare(second, second)


def test_resamples_are_drawn_in_parts(monkeypatch):
    values = np.random.default_rng(1).normal(1.0, 0.1, (2, 50)) ** 2
    whole = shift(*values)
    monkeypatch.setattr("experiments.bench.compare._AT_ONCE", 700)
    assert shift(*values) == whole


def test_a_first_measure_without_ratios_hides_none(tmp_path):
    first, second = (_run(tmp_path / name, lambda n: 0.0, "off", queries=2) for name in "ab")
    assert "ratio" in compare(first, second)[0].tables[0].data.column_names, "of tasks"
