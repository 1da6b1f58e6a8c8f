"""planscope bench enumeration: tables, files, and exact enumerators that have to agree."""

from __future__ import annotations

import csv
import json

import pytest

from experiments import enumeration
from optimizer.joins.costing import Ordered


def test_tables_and_files(planscope, tmp_path):
    folder = tmp_path / "new" / "results"
    done = planscope("bench", "enumeration", "clique/6", "grid/2x3", "chain/100", "--max-work", "10000", "-o", str(folder))
    assert done.code == 0
    assert [line for line in done.out.splitlines() if ": " in line and "left out" not in line] == [
        "clique/6: 63 connected sets, 301 pairs",
        "grid/2x3: 40 connected sets, 114 pairs",
        "chain/100: 5,050 connected sets, pairs not counted",
    ]
    assert done.err.splitlines()[:3] == ["clique/6", "grid/2x3", "chain/100"]
    records = json.loads((folder / "enumeration.json").read_text("utf-8"))
    with (folder / "enumeration.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [{name: "" if value is None else str(value) for name, value in record.items()} for record in records] == rows
    exact = [record for record in records if record["kind"] == "exact"]
    assert {record["graph"] for record in exact} == {"clique/6", "grid/2x3"}
    assert all(record["ratio"] == pytest.approx(1) and record["us_per_pair"] > 0 for record in exact)
    for graph, pairs, sub, size in (("clique/6", 301, 602, 1_171), ("grid/2x3", 114, 456, None)):
        of = {record["enumerator"]: record for record in records if record["graph"] == graph}
        assert len(of) == len(enumeration.ENUMERATORS)
        assert of["dp_sub"]["inner"] == sub
        assert size is None or of["dp_size"]["inner"] == size
        assert of["dp_ccp"]["costed"] == of["top_down_branch"]["costed"] == 2 * pairs
        assert of["pairs_branch"]["costed"] is None and of["pairs_branch"]["pairs"] == pairs
        assert all(of[name]["ratio"] >= 1 - 1e-9 for name in ("dp_left_deep", "ikkbz", "linearized", "greedy", "goo_dp"))
    by_name = {record["enumerator"] for record in records if record["graph"] == "chain/100"}
    assert "greedy" in by_name and not by_name & {"dp_sub", "dp_ccp", "pairs_naive", "linearized"}
    assert list(folder.iterdir()) and not list(folder.glob("*.part"))


def test_the_seed_decides_costs_and_nothing_else(planscope, tmp_path):
    def costs(seed: str, name: str) -> list[tuple[str, float | None, int | None]]:
        folder = tmp_path / name
        assert planscope("bench", "enumeration", "cycle/6", "--seed", seed, "-q", "-o", str(folder)).code == 0
        return [(r["enumerator"], r["cost"], r["inner"]) for r in json.loads((folder / "enumeration.json").read_text())]

    first, again, other = costs("1", "a"), costs("1", "b"), costs("2", "c")
    assert first == again
    assert [(name, inner) for name, _, inner in first] == [(name, inner) for name, _, inner in other]
    assert [cost for _, cost, _ in first] != [cost for _, cost, _ in other]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ring/5",), 'there is no join graph "ring/5"'),
        (("chain/5", "chain/1"), '"chain/1" has 1 relations'),
        (("chain/5", "--max-work", "0"), "0 is not in the range"),
        (("chain/5", "-o", "{file}"), "cannot make folder"),
    ],
)
def test_wrong_input(planscope, tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    done = planscope("bench", "enumeration", *(text.format(file=tmp_path / "file") for text in arguments))
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_an_enumerator_that_is_wrong_is_a_bug(planscope, monkeypatch, tmp_path, factor):
    """A cost that its tree does not have; the replay case goes where such cases go."""
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    one = next(one for one in enumeration.ENUMERATORS if one.name == "dp_hyp")

    def wrong(graph, costing):
        found = one.run(graph, costing)
        return Ordered(found.cost * factor, found.tree, found.pairs)

    replaced = tuple(one._replace(run=wrong) if other is one else other for other in enumeration.ENUMERATORS)
    monkeypatch.setattr(enumeration, "ENUMERATORS", replaced)
    done = planscope("bench", "enumeration", "star/5", "-q")
    assert done.code == 1
    assert "dp_hyp says that ((" in done.err and "its order of star/5, costs" in done.err


def test_an_exact_enumerator_that_misses_the_optimum_is_a_bug(planscope, monkeypatch, tmp_path):
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    worst = next(one for one in enumeration.ENUMERATORS if one.name == "ikkbz")
    replaced = (*enumeration.ENUMERATORS, worst._replace(name="best_of_all", kind="exact"))
    monkeypatch.setattr(enumeration, "ENUMERATORS", replaced)
    done = planscope("bench", "enumeration", "random/10/1", "-q")
    assert done.code == 1
    assert "the cheapest order of random/10/1, seed 0, should cost" in done.err and "best_of_all" in done.err
