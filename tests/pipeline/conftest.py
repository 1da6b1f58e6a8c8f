"""One Spark session for the tests of the pipeline."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import NoReturn

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from experiments.pipeline.spark.session import spark_session, stop_session
from tests.pipeline.webhdfs import WebHdfs


def no_spark() -> NoReturn:
    raise AssertionError("Spark was started though there was nothing to do")


def lay(folder: Path, files: Mapping[str, str | bytes | pa.Table]) -> Path:
    """Writes files, by their paths within `folder`, which is returned; tables as Parquet, or as ORC if they are called so."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pa.Table):
            (orc if path.suffix == ".orc" else pq).write_table(content, str(path))
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark with two slots on this machine, from the first test that asks for it. A session that a command left ends first."""
    stop_session()
    yield spark_session("local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    stop_session()


@pytest.fixture
def hdfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WebHdfs]:
    """A server of files, which lie in tmp_path / "there" though Spark does not know that."""
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path / "home"))
    (tmp_path / "there").mkdir()
    with WebHdfs(tmp_path / "there") as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
