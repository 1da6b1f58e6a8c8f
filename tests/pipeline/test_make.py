"""Datasets for a place that is no local folder, written there by Spark."""

from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from experiments.pipeline.analyze.analyze import analyze_dataset
from experiments.pipeline.generate.generate import generate
from experiments.pipeline.generate.kinds import recipe
from experiments.pipeline.intake.request import ImportRequest, import_dataset
from experiments.pipeline.spark.errors import PipelineError
from optimizer.errors import OutputError
from tests.pipeline.conftest import lay
from tests.pipeline.webhdfs import WebHdfs


@pytest.mark.slow
def test_an_import_to_another_file_system(spark: SparkSession, tmp_path: Path, hdfs: WebHdfs) -> None:
    schema = "create table sales (n int primary key, day date)"
    lay(tmp_path / "shop", {"sales.csv": "n,day\n1,2020-01-01\n2,2020-01-02\n3,today\n", "schema.sql": schema})
    uri, said = f"{hdfs.uri}/shop", list[str]()
    request = ImportRequest((str(tmp_path / "shop"),), uri)

    def refuse(line: str) -> None:
        hdfs.failing["RENAME"] += 100 if line.startswith("sales: copying") else 0

    with pytest.raises(PipelineError, match=rf"cannot write {uri}: Spark failed: Task failed .*: RENAME is refused$"):
        import_dataset(request, lambda: spark, refuse)
    assert not (tmp_path / "there" / "shop" / "_planscope" / "manifest").exists()
    hdfs.failing.clear()
    done = import_dataset(request, lambda: spark, said.append)
    assert said == [f"sales: copying to {uri}"], "what was made goes on from there"
    assert done.made and done.counts["tables"]["sales"]["kept"] == 2
    rows = spark.read.parquet(f"{uri}/sales").orderBy("n").collect()
    assert [(row["n"], str(row["day"])) for row in rows] == [(1, "2020-01-01"), (2, "2020-01-02")]
    assert [row["value"] for row in spark.read.parquet(f"{uri}/_planscope/rejected/sales").collect()] == ["today"]
    assert "PRIMARY KEY" in "".join(row["value"] for row in spark.read.text(f"{uri}/_planscope/schema.sql").collect())
    assert not any(path.is_dir() for path in (tmp_path / "home" / "outgoing").iterdir()), "the folder it was made in is done with"
    said.clear()
    assert import_dataset(request, lambda: spark, said.append) == (uri, done.manifest, False) and not said
    (tmp_path / "shop" / "sales.csv").write_text("n,day\n1,2020-01-01\n")
    with pytest.raises(OutputError, match="holds another dataset"):
        import_dataset(request, lambda: spark, said.append)


@pytest.mark.slow
def test_a_generation_goes_on_where_it_was_interrupted(spark: SparkSession, tmp_path: Path, hdfs: WebHdfs) -> None:
    wanted, uri = recipe("joingraph", Decimal("0.0001"), graphs=["chain/3"]), f"{hdfs.uri}/graphs"

    def stop(line: str) -> None:
        if line.startswith("chain_3_r1: copying"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(wanted, uri, lambda: spark, stop)
    assert not (tmp_path / "there" / "graphs" / "_planscope" / "manifest").exists()
    with pytest.raises(OutputError, match="holds another dataset"):
        generate(recipe("joingraph", Decimal("0.0002"), graphs=["chain/3"]), uri, lambda: spark, print)
    done = generate(wanted, uri, lambda: spark, print)
    assert done.made
    assert {name: spark.read.parquet(f"{uri}/{name}").count() for name in done.counts["rows"]} == done.counts["rows"]
    lay(tmp_path / "there", {"x/letter.txt": "dear reader"})
    back, uris = tmp_path / "back", [f"{uri}/{name}" for name in done.counts["rows"]]
    import_dataset(ImportRequest(tuple(uris), back, "parquet"), lambda: spark, print)
    analyzed = analyze_dataset(back, lambda: spark)
    assert {table.name: table.rows for table in analyzed.tables} == done.counts["rows"]
    with pytest.raises(OutputError, match="is not empty"):
        generate(wanted, f"{hdfs.uri}/x", lambda: spark, print)
