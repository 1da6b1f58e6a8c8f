"""Calibration: least squares without negative values, the fit of points of known coefficients, and plans costed anew."""

from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import pytest

from executor.execution import new_counters, reader
from executor.session import Session
from experiments.calibration.cases import cases
from experiments.calibration.data import make_catalog
from experiments.calibration.fit import Fit, fit
from experiments.calibration.measure import Point, measure
from experiments.calibration.nnls import nnls
from experiments.calibration.recost import amounts, cost_of, ran_operators
from experiments.calibration.run import Calibration, coefficient_rows, file_text, machine_facts, quality_rows
from optimizer.algebra.physical import TableScan
from optimizer.cost.arrow import ArrowCost
from optimizer.cost.coefficients import DEFAULTS, NAMES
from optimizer.cost.coefficients_file import read_coefficients
from tests.cost.random_models import random_coefficients


def brute_force(a: np.ndarray, b: np.ndarray) -> float:
    """The least |a x - b| with x ≥ 0: of all choices of columns whose free solution is not negative."""
    best = float(np.linalg.norm(b))
    for size in range(1, a.shape[1] + 1):
        for chosen in combinations(range(a.shape[1]), size):
            x = np.linalg.lstsq(a[:, chosen], b, rcond=None)[0]
            if (x >= 0.0).all():
                best = min(best, float(np.linalg.norm(a[:, chosen] @ x - b)))
    return best


def test_nnls_is_the_best_of_all_supports() -> None:
    """Also with columns of very different size, equal ones, ones of zeros, and fewer equations than unknowns."""
    for seed in range(120):
        random = np.random.default_rng(seed)
        m, n = random.integers(1, 9), random.integers(1, 6)
        a = random.normal(size=(m, n)) * 10.0 ** random.integers(-4, 5, size=n)
        if seed % 3 == 0:
            a[:, random.integers(n)] = a[:, 0]
        if seed % 5 == 0:
            a[:, random.integers(n)] = 0.0
        b = random.normal(size=m)
        x = nnls(a, b)
        assert (x >= 0.0).all(), seed
        assert np.linalg.norm(a @ x - b) == pytest.approx(brute_force(a, b), abs=1e-8), seed


def test_nnls_known_answers() -> None:
    assert nnls(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -3.0])).tolist() == [2.0, 0.0]
    exact = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert nnls(exact, exact @ [7.0, 0.5]) == pytest.approx([7.0, 0.5])
    assert nnls(np.zeros((3, 2)), np.ones(3)).tolist() == [0.0, 0.0]
    assert nnls(np.zeros((2, 0)), np.ones(2)).tolist() == []


NOT_FITTED = ("repeated_run", "again_other", "again_scan")


def fake_points(noise: float, outliers: int) -> tuple[list[Point], dict[str, float]]:
    """Points of a machine with other coefficients than the defaults; some coefficients occur nowhere."""
    random = Random(8)
    true = {name: value * random.uniform(0.3, 3.0) for name, value in DEFAULTS.as_dict().items()}
    points = []
    for number in range(600):
        some = random.sample([name for name in NAMES if name not in NOT_FITTED], 4)
        found = {name: 10.0 ** random.uniform(5, 7) / DEFAULTS.as_dict()[name] for name in some}
        ns = sum(true[name] * amount for name, amount in found.items()) * random.uniform(1.0 - noise, 1.0 + noise)
        points.append(Point("even" if number % 2 else "odd", f"point {number}", found, ns * (9.0 if number < outliers else 1.0)))
    return points, true


@pytest.fixture(scope="module")
def fitted() -> tuple[list[Point], dict[str, float], Fit]:
    points, true = fake_points(noise=0.05, outliers=25)
    return points, true, fit(points, DEFAULTS)


def test_a_fit_finds_the_coefficients_of_the_points(fitted: tuple[list[Point], dict[str, float], Fit]) -> None:
    points, true, result = fitted
    found = result.coefficients.as_dict()
    for name in NAMES:
        if name in NOT_FITTED:
            assert found[name] == DEFAULTS.as_dict()[name] and result.measured[name] == 0
        else:
            assert found[name] == pytest.approx(true[name], rel=0.15), name
            assert result.measured[name] > 10
    assert {each.family for each in result.qualities} == {"even", "odd", "all"}
    whole = result.qualities[-1]
    assert whole.family == "all" and whole.points == 600 and whole.median_error < 0.05
    predicted = sum(found[name] * amount for name, amount in points[-1].amounts.items())
    assert predicted == pytest.approx(points[-1].ns, rel=0.2)


def test_without_noise_a_fit_is_all_but_exact() -> None:
    points, true = fake_points(noise=0.0, outliers=0)
    result = fit(points, DEFAULTS)
    assert result.qualities[-1].r_squared == pytest.approx(1.0, abs=1e-3)
    assert result.coefficients.hash_build == pytest.approx(true["hash_build"], rel=0.01)


def test_nothing_is_free_where_noise_hides_what_it_takes() -> None:
    points = [Point("even", "few pairs", {"start": 1.0}, 1e6), Point("even", "many pairs", {"start": 1.0, "pair": 1e6}, 1e5)]
    assert fit(points * 100, DEFAULTS).coefficients.pair == pytest.approx(0.02 * DEFAULTS.pair)


def test_the_table_and_the_file(tmp_path: Path, fitted: tuple[list[Point], dict[str, float], Fit]) -> None:
    points, _, result = fitted
    done = Calibration(result, points, machine_facts(1000))
    assert [row[0] for row in coefficient_rows(done)] == list(NAMES)
    assert next(row for row in coefficient_rows(done) if row[0] == "again_scan")[-1] == "-"
    assert quality_rows(done)[-1][0] == "all"
    path = tmp_path / "machine.json"
    path.write_text(file_text(done), "utf-8")
    assert read_coefficients(path) == done.fit.coefficients
    assert '"cores"' in file_text(done) and '"median_error"' in file_text(done)


SQL = (
    "select c_mktsegment, sum(o_totalprice) from customer join orders on c_custkey = o_custkey where o_orderstatus = 'F' "
    "group by c_mktsegment order by 2",
    "select o_orderkey from orders where o_totalprice > (select 90 * avg(l_extendedprice) / 20 from lineitem "
    "where l_orderkey = o_orderkey) and o_orderkey < 3000 limit 50",
)


@pytest.mark.parametrize("decorrelate", ["general", "none"])
@pytest.mark.parametrize("sql", SQL)
def test_amounts_add_up_to_the_cost_of_a_plan_that_was_run(tpch, sql: str, decorrelate: str) -> None:
    query = Session(tpch, {"decorrelate": decorrelate}).optimize(sql)
    counters = new_counters()
    for _ in reader(query, counters):
        pass
    operators = ran_operators(query.memo, query.plan, counters)
    for coefficients in (DEFAULTS, random_coefficients(Random(4))):
        values = coefficients.as_dict()
        total = sum(values[name] * amount for name, amount in amounts(operators).items())
        assert cost_of(operators, ArrowCost(coefficients)) * 1000 == pytest.approx(total)
    for operator in operators:
        if operator.runs == 1.0:
            assert operator.output.rows == counters[operator.node.id].rows


def test_true_rows_replace_estimated_ones(tpch) -> None:
    """A predicate whose selectivity nobody can guess: the join above it costs what its rows cost."""
    sql = "select count(*) from orders join lineitem on l_orderkey = o_orderkey where o_custkey < o_shippriority"
    query = Session(tpch).optimize(sql)
    counters = new_counters()
    for _ in reader(query, counters):
        pass
    operators = ran_operators(query.memo, query.plan, counters)
    scan = next(each for each in operators if isinstance(each.op, TableScan) and each.op.scan.table == "orders")
    assert scan.output.rows == 0.0 and scan.output.base_rows == tpch.tables["orders"].stats.rows
    assert cost_of(operators, ArrowCost()) < query.plan.cost


@pytest.mark.slow
def test_every_case_is_planned_as_it_says_and_measured(tmp_path: Path) -> None:
    sizes = (30, 400)
    points = measure(make_catalog(tmp_path, sizes), cases(sizes), runs=1, enough_s=0.0)
    assert len(points) > 150 and all(point.ns > 0 and point.amounts["start"] >= 1.0 for point in points)
    counted = {name for point in points for name in point.amounts}
    assert counted >= set(NAMES) - {"again_other", "again_apply", "again_hash_join", "again_scan", "again_range"}
