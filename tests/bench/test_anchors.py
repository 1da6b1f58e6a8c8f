"""planscope bench anchors: what is exact in the literature is exact here, and each section shows both figures."""

import pyarrow as pa
import pytest

from experiments.bench import anchors
from experiments.bench.experiment import Options
from experiments.bench.store import table_of
from optimizer.errors import PlanscopeError


def _report(mode, count=None):
    items = anchors.items(Options(modes=(mode,), quick=True, seeds=anchors.SEEDS[True]))
    rows = [{**item, **row, "status": "ok"} for item in items[:count] for row in anchors.measure(item)]
    [section] = anchors.report(table_of(rows))
    assert section.problems == [] or section.problems == ()
    return section.tables[0].data.to_pylist()


def test_duplicates_are_the_closed_forms():
    """Pellenkoft et al.: K = 6, 61 for 3 and 4 relations."""
    table = {(row["rule set"], row["relations"]): (row["our joins"], row["our duplicates"]) for row in _report("duplicates")}
    assert table["RS-B1", 3] == (12, 14) and table["RS-B1", 4] == (50, 123)
    assert table["RS-B0", 3] == (12, 26) and table["RS-B2", 4] == (50, 0)


def test_a_wrong_count_is_a_problem():
    row = {"mode": "duplicates", "query": "clique/3", "setting": "rules", "joins": 12, "duplicates": 15, "status": "ok"}
    [section] = anchors.report(pa.Table.from_pylist([row]))
    assert section.problems == ["rules, 3 relations: (12, 15) joins and duplicates, not (12, 14)"]


def test_linearized_dp_is_near_the_optimum_on_trees():
    table = {(row["graph"], row["heuristic"]): row for row in _report("linearized")}
    for tree in ("chain/10", "star/9", "tree/10"):
        assert 1.0 <= table[tree, "linearized"]["ours"] < 1.1
    assert table["cycle/10", "linearized"]["our worst"] > 1.1


def test_bounds_cost_less_than_the_whole_space():
    table = {row["our mode"]: row["our costed"] for row in _report("pruning", 5)}
    assert table["both+greedy"] < table["both"] <= table["lower"] < 1 and table["upper"] < 1


def test_q_errors_grow_with_joins():
    table = {(row["estimator"], row["joins"]): row["median"] for row in _report("q_error", 6)}
    joins = sorted(n for estimator, n in table if estimator == "histogram")
    assert table["histogram", joins[-1]] > 2 * table["histogram", joins[1]]


def test_seeds_are_as_many_as_were_asked_for():
    assert len(anchors.items(Options(modes=("linearized",), seeds=3))) == 3 * len(anchors._LINEARIZED)


def test_queries_of_ones_own_are_refused():
    for options in (Options(queries=("chain/5",)), Options(pairs=("gap=0.1",))):
        with pytest.raises(PlanscopeError, match="has queries, data and settings of its own"):
            anchors.items(options)
