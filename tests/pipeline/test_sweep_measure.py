"""The row of an item says what `planscope explain` and `run` say of the same query."""

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from pyarrow import RecordBatch

from executor.arrow.failures import ScalarError, operator_errors
from experiments.bench.child import measured
from experiments.pipeline.sweep.measure import NAME, _provenance, measure, row
from experiments.pipeline.sweep.plan_shape import plan_shape
from experiments.pipeline.sweep.spec import SweepSpec, plan_sweep
from optimizer.algebra.scalars import TRUE
from planscope import OptimizedQuery, Session, Settings
from tests.pipeline.conftest import lay


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """orders(id, customer, amount) and customers(id, name): one order of nobody, one customer without orders."""
    orders = "id,customer,amount\n1,7,10\n2,7,20\n3,8,30\n4,,40\n"
    return lay(tmp_path, {"orders.csv": orders, "customers.csv": "id,name\n7,a\n8,b\n9,c\n"})


def test_figures_are_those_of_explain() -> None:
    plan = plan_sweep(SweepSpec(["star/5"], settings={"pruning": "none"}, repeats=3), code="test")
    row = measure(plan.items[0])[0]
    expected = Session("joingraph", {"pruning": "none"}).explain(plan.queries[0].sql).json
    for name in (
        "groups", "mexprs_logical", "mexprs_physical", "tasks", "costed", "joins_enumerated", "pruned", "proven", "lower_bound",
    ):  # fmt: skip
        assert row[name] == expected["search"][name], name
    assert (row["cost"], row["rows"]) == (expected["cost"], expected["rows"])
    assert row["operators"]["table_scan"] == row["relations"] == 5 and row["joins"] == 4
    assert len(row["plan_ms_runs"]) == 3 and row["plan_ms"] == sorted(row["plan_ms_runs"])[1]
    assert row["plan_ms"] >= max(row[f"ms_{stage}"] for stage in ("parse", "bind", "prepass", "search")) > 0
    assert "elapsed_ms" not in row


def test_execution_counts_rows_and_errors_of_estimates(shop: Path) -> None:
    sql = "select o.id, c.name from orders o join customers c on o.customer = c.id where o.amount > 5"
    spec = SweepSpec([{"query": sql, "data": str(shop)}], analyze=True, repeats=2)
    plan = plan_sweep(spec, code="test")
    row = measure(plan.items[0])[0]
    assert row["rows_returned"] == 3 and len(row["elapsed_ms_runs"]) == 2
    assert row["elapsed_ms"] == median(row["elapsed_ms_runs"])
    assert row["q_error"] == max(row["rows"] / 3, 3 / max(1.0, row["rows"]))
    assert 1.0 <= row["q_error_median"] <= row["q_error_max"]
    nothing = SweepSpec([{"query": "select id from orders where amount > 99", "data": str(shop)}], execute=True)
    row = measure(plan_sweep(nothing, code="t").items[0])[0]
    assert row["rows_returned"] == 0 and "q_error_max" not in row


def test_errors_of_operators_have_their_kinds(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = {"query": "select cast(name as integer) as i from customers", "data": str(shop)}
    item = plan_sweep(SweepSpec([query], execute=True), code="t").items[0]
    found = row(item, measured(NAME, item)[0])
    assert found["error_kind"] == "execution" and "name" not in found["error"].partition(":")[0]

    def full(_: OptimizedQuery) -> Iterator[RecordBatch]:
        with operator_errors("hash_join", str):
            raise MemoryError
        yield

    monkeypatch.setattr("experiments.pipeline.sweep.measure.reader", full)
    found = row(item, measured(NAME, item)[0])
    assert (found["error_kind"], found["error"]) == ("memory", "hash_join: out of memory (no figure given)")

    def full_in_an_expression(_: OptimizedQuery) -> Iterator[RecordBatch]:
        with operator_errors("hash_join", str):
            raise ScalarError(MemoryError(), TRUE) from MemoryError()
        yield

    monkeypatch.setattr("experiments.pipeline.sweep.measure.reader", full_in_an_expression)
    assert row(item, measured(NAME, item)[0])["error_kind"] == "memory"


def test_a_worker_may_have_its_pyspark_from_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = importlib.metadata.version

    def version(name: str) -> str:
        if name == "pyspark":
            raise importlib.metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    _provenance.cache_clear()
    item = plan_sweep(SweepSpec(["chain/4"]), code="t").items[0]
    assert row(item, measured(NAME, item)[0])["pyarrow"] == installed("pyarrow")


@pytest.mark.parametrize(
    ("sql", "order", "shape"),
    [
        ("select id from orders", "orders", "none"),
        ("select 1 as one", "constant_rows", "none"),
        ("select o.id from orders o, customers c where o.customer = c.id", None, "single"),
        ("select id from orders union all select id from customers", "[orders customers]", "none"),
    ],
)
def test_join_orders_of_small_plans(shop: Path, sql: str, order: str | None, shape: str) -> None:
    found = plan_shape(Session(shop).explain(sql).plan.root)
    assert found.shape == shape
    assert found.join_order == order or (order is None and found.join_order in ("(o c)", "(c o)"))


@pytest.mark.parametrize("graph", ["chain/6", "star/6", "clique/6"])
def test_left_deep_plans_are_called_so(graph: str) -> None:
    plan = plan_sweep(SweepSpec([graph], settings={"enumeration": "left_deep"}), code="test")
    shape = plan_shape(Session("joingraph", Settings(enumeration="left_deep")).explain(plan.queries[0].sql).plan.root)
    assert shape.shape in ("left_deep", "right_deep", "zigzag")
    assert shape.relations == 6 and shape.joins == 5 and shape.join_order.count("(") == 5
    assert sorted(shape.join_order.replace("(", "").replace(")", "").split()) == [f"r{i}" for i in range(6)]


def test_a_bushy_plan_is_called_so() -> None:
    orders = {
        plan_shape(Session("joingraph").explain(query.sql).plan.root).shape: query.name
        for query in plan_sweep(SweepSpec(["chain/5..12"]), code="test").queries
    }
    assert "bushy" in orders
