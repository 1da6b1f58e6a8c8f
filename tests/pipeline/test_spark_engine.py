"""Plans in Spark's tasks: the rows, errors, counts and limits that they have in this process."""

import pytest
from pyspark.sql import SparkSession

from executor.session import Session
from optimizer.catalog.table import Catalog
from optimizer.errors import ExecutionError
from tests.conftest import quick_and_slow
from tests.processes import run_python, wait_until
from tests.reference.compare import assert_result, rows_of
from tests.spark.conftest import shared_tpch
from tests.spark.tasks import Moving

__all__ = ["shared_tpch"]  # a fixture


TWICE = """with t as (select o_custkey k, sum(o_totalprice) s from orders group by o_custkey)
           select a.k, a.s, (select count(*) from t b where b.s > a.s) above from t a where a.k < 20 order by a.s desc"""
ALIKE = """select n_name, count(*) n, max(c_acctbal) from customer join nation on c_nationkey = n_nationkey
           where exists (select 1 from orders where o_custkey = c_custkey) group by n_name"""
NAMES = {TWICE: "twice", ALIKE: "alike", "select 1 + 1": "no table"}


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "sql",
    quick_and_slow(["tpch/q03", *NAMES], (f"tpch/q{n:02}" for n in range(1, 23) if n != 3)),
    ids=NAMES.get,
)
def test_rows(shared_tpch: Catalog, spark: SparkSession, sql: str) -> None:
    settings = {"cost_model": "spark", "ctes": "spool"}
    there = Session(shared_tpch, settings, engine=Moving(spark, tasks=5)).sql(sql).table
    assert_result(rows_of(Session(shared_tpch, settings).sql(sql).table), rows_of(there), ())


def test_operators_are_counted(shared_tpch: Catalog, spark: SparkSession) -> None:
    here, there = (Session(shared_tpch, {"runtime_filters": False}, engine=each) for each in (Moving(spark), Moving()))
    sql = "select c_nationkey, count(*) from customer where c_acctbal > 0 group by c_nationkey order by 2"
    found = here.explain(sql, analyze=True)
    assert found.actual is not None
    rows = {node.op.name: found.actual[node.id].rows for node in found.plan.root.walk()}
    expected = len(Session(shared_tpch).sql("select 1 from customer where c_acctbal > 0").table)
    assert rows["part_scan"] == expected
    assert rows["sort"] == 25
    assert there.explain(sql).text.startswith(" ")  # nothing runs, so no session is asked for


def test_an_error_is_the_operators(shared_tpch: Catalog, spark: SparkSession) -> None:
    session = Session(shared_tpch, engine=Moving(spark))
    with pytest.raises(
        ExecutionError,
        match=r"^(project_rows|partial_groups): 'Customer#\d+' cannot be read as int32, in CAST\(customer\.c_name AS",
    ):
        session.sql("select sum(cast(c_name as int)) from customer")
    assert session.sql("select count(*) from nation").table.to_pylist() == [{"count_star()": 25}]


def test_a_task_may_hold_so_much(shared_tpch: Catalog, spark: SparkSession) -> None:
    session = Session(shared_tpch, engine=Moving(spark), memory_limit="50KB")
    with pytest.raises(ExecutionError, match=r"^hash_aggregate: it holds .* \(memory limit\)$"):
        session.sql("select l_orderkey, count(*) from lineitem group by l_orderkey")


@pytest.mark.slow
def test_a_query_that_takes_too_long_ends_its_job(shared_tpch: Catalog, spark: SparkSession) -> None:
    session = Session(shared_tpch, engine=Moving(spark), timeout=0.5)
    with pytest.raises(ExecutionError, match=r"stopped after 0.5 s \(timeout\)"):
        session.sql("select count(*) from lineitem a, lineitem b, lineitem c where a.l_comment < b.l_comment || c.l_comment")
    tracker = spark.sparkContext.statusTracker()
    wait_until(lambda: not tracker.getActiveJobsIds(), lambda: f"jobs that run: {tracker.getActiveJobsIds()}")
    assert Session(shared_tpch, engine=Moving(spark)).sql("select count(*) n from nation").table.to_pylist() == [{"n": 25}]


def test_what_spark_fails_at_is_said(shared_tpch: Catalog) -> None:
    def gone() -> SparkSession:
        class Gone:
            def __getattr__(self, name: str) -> object:
                raise RuntimeError("no Java\nat Main.java:1")

        return Gone()  # type: ignore[return-value]

    with pytest.raises(ExecutionError, match=r"Spark failed: no Java$"):
        Session(shared_tpch, engine=Moving(gone)).sql("select count(*) from nation")


def test_the_command() -> None:
    words = ("-m", "experiments", "run", "select count(*) n from nation", "-d", "tpch:0.01", "--format", "csv")
    done = run_python(*words, "--engine", "spark", "--master", "local[1]")
    assert (done.returncode, done.stdout) == (0, '"n"\n25\n'), done.stderr
    done = run_python(*words, "--master", "local[1]")
    assert done.returncode == 2
    assert "--master says where Spark runs: it needs --engine spark" in done.stderr
