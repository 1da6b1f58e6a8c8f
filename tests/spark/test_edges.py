"""Plans on the Spark engine that ask something out of the ordinary of it."""

import gc
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.arrow.watch import Limits
from executor.session import Session
from executor.spark.moving import Part
from executor.spark.task import Work
from optimizer.errors import ExecutionError
from tests.spark.tasks import Tasks


@pytest.mark.usefixtures("default_recursion_limit")
def test_deep_plans() -> None:
    sql = "select k from t"
    for i in range(100):
        sql = f"select k from (select k, count(*) over (partition by k % {i + 2}) c from ({sql}) b{i}) a{i} where c > 0"
    assert Session({"t": pa.table({"k": range(30)})}, engine=Tasks(3, seed=2)).sql(sql).table.num_rows == 30


def test_a_reader_outlives_the_session_of_its_registered_tables() -> None:
    def reader() -> pa.RecordBatchReader:
        session = Session({"t": pa.table({"a": [1, 2, 2]})}, engine=Tasks(3, seed=1))
        return session.batches("select a, count(*) n from t group by a order by a")

    rows = reader()
    gc.collect()
    assert rows.read_all().to_pylist() == [{"a": 1, "n": 1}, {"a": 2, "n": 2}]


def test_every_task_has_the_limits_of_its_query() -> None:
    """Those of a Spark Connect server went on after the query was stopped, and the next one waited for them."""

    class Kept(Tasks):
        def _run(self, works: Sequence[Work], wanted: Sequence[int], go_on: Callable[[], None] | None) -> list[Part]:
            assert {work.limits for work in works} == {Limits(60.0, 1_000_000)}
            stopped = [work._replace(limits=Limits(1e-9)) for work in works]
            return super()._run(stopped, wanted, go_on)

    session = Session({"t": pa.table({"a": range(20_000)})}, engine=Kept(3, seed=1), timeout=60.0, memory_limit="1MB")
    with pytest.raises(ExecutionError, match="stopped after 1e-09 s"):
        session.sql("select a.a % 7 k, count(*) n from t a, t b where a.a * b.a % 7 = 3 group by 1")


def test_texts_on_their_way_may_be_any_bytes(tmp_path: Path) -> None:
    texts = pa.array([b"\xff", b"a", b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"s": texts, "k": [1, 2, 3]}), tmp_path / "t.parquet", row_group_size=1)
    for seed in range(5):
        session = Session(tmp_path, engine=Tasks(3, seed=seed))
        assert session.sql("select count(*) n from t a join t b on a.s = b.s").table.to_pylist() == [{"n": 5}]
        with pytest.raises(ExecutionError, match='"s" is not UTF-8'):
            session.sql("select s from t")
