"""Datasets for a place that is no local folder, written there by Spark."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from experiments.pipeline.generate.generate import generate
from experiments.pipeline.generate.kinds import recipe
from experiments.pipeline.intake.request import ImportRequest
from experiments.pipeline.intake.run import import_dataset
from optimizer.errors import OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_an_import_to_another_file_system(spark: SparkSession, tmp_path: Path, elsewhere: str) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "sales.csv").write_text("n,day\n1,2020-01-01\n2,2020-01-02\n3,today\n")
    (tmp_path / "shop" / "schema.sql").write_text("create table sales (n int primary key, day date)")
    uri, said = f"{elsewhere}/shop", list[str]()
    request = ImportRequest((str(tmp_path / "shop"),), uri)
    done = import_dataset(request, lambda: spark, said.append)
    assert done.made and done.counts["tables"]["sales"]["kept"] == 2
    rows = spark.read.parquet(f"{uri}/sales").orderBy("n").collect()
    assert [(row["n"], str(row["day"])) for row in rows] == [(1, "2020-01-01"), (2, "2020-01-02")]
    assert [row["value"] for row in spark.read.parquet(f"{uri}/_planscope/rejected/sales").collect()] == ["today"]
    assert "PRIMARY KEY" in "".join(row["value"] for row in spark.read.text(f"{uri}/_planscope/schema.sql").collect())
    assert not any(path.is_dir() for path in (tmp_path / "home" / "outgoing").iterdir()), (
        "the folder it was made in has done its work"
    )
    said.clear()
    assert import_dataset(request, lambda: spark, said.append) == (uri, done.manifest, False) and not said
    (tmp_path / "shop" / "sales.csv").write_text("n,day\n1,2020-01-01\n")
    with pytest.raises(OutputError, match="holds another dataset"):
        import_dataset(request, lambda: spark, said.append)


def test_a_generation_goes_on_where_it_was_interrupted(spark: SparkSession, tmp_path: Path, elsewhere: str) -> None:
    wanted, uri = recipe("joingraph", Decimal("0.0001"), graphs=["chain/3"]), f"file://{tmp_path}/graphs"

    def stop(line: str) -> None:
        if line.startswith("chain_3_r1: copying"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(wanted, uri, lambda: spark, stop)
    assert not (tmp_path / "graphs" / "_planscope" / "manifest").exists()
    with pytest.raises(OutputError, match="holds another dataset"):
        generate(recipe("joingraph", Decimal("0.0002"), graphs=["chain/3"]), uri, lambda: spark, print)
    done = generate(wanted, uri, lambda: spark, print)
    assert done.made
    assert {name: spark.read.parquet(f"{uri}/{name}").count() for name in done.counts["rows"]} == done.counts["rows"]
    (tmp_path / "there" / "x").mkdir()
    (tmp_path / "there" / "x" / "letter.txt").write_text("dear reader")
    with pytest.raises(OutputError, match="is not empty"):
        generate(wanted, f"{elsewhere}/x", lambda: spark, print)
