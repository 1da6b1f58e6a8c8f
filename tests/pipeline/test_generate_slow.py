"""Generation at size: TPC-H at scale factor 1, a kill in the middle, a disk that fills up."""

import os
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from experiments.pipeline.generate import generate as module
from experiments.pipeline.generate.generate import generate
from experiments.pipeline.generate.kinds import recipe
from experiments.pipeline.generate.tpch import generator
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.session import unheard
from optimizer.dataset import open_dataset
from optimizer.errors import CatalogError
from tests.pipeline.conftest import no_spark
from tests.pipeline.test_generate import files_of
from tests.processes import kill_once, start_python

pytestmark = pytest.mark.slow


def test_tpch_at_scale_factor_1(spark: SparkSession, tmp_path: Path) -> None:
    made = generate(recipe("tpch", Decimal(1)), tmp_path / "data", lambda: spark, unheard)
    subprocess.run([generator(), "parquet", "-q", "-s", "1", "--num-threads", "2", "-o", str(tmp_path / "plain")], check=True)
    catalog, expected = open_dataset(Path(made.place)), open_dataset(tmp_path / "plain")
    assert made.counts["rows"]["lineitem"] == 6_001_215
    for name, table in catalog.tables.items():
        assert table.stats.rows == expected.tables[name].stats.rows
        assert table.order
    assert len(catalog.tables["lineitem"].files) == 2
    assert catalog.tables["lineitem"].order == ("l_orderkey", "l_linenumber")
    assert catalog.tables["partsupp"].keys == (("ps_partkey", "ps_suppkey"),)


def test_tpcds_at_scale_factor_1(spark: SparkSession, tmp_path: Path) -> None:
    made = generate(recipe("tpcds", Decimal(1)), tmp_path / "data", lambda: spark, unheard)
    assert made.counts["rows"]["store_sales"] == 2_880_404
    catalog = open_dataset(Path(made.place))
    assert len(catalog.tables["store_sales"].files) == 2
    assert catalog.tables["store_sales"].order == ("ss_ticket_number",)


def parts_made(inside: Path) -> dict[str, int]:
    """Files that have their place, without those that tasks are writing, which may vanish while we look."""
    found = {}
    for path in [*inside.glob("[a-z]*.parquet"), *inside.glob("[a-z]*/*.parquet")]:
        found[path.relative_to(inside).as_posix()] = path.stat().st_mtime_ns
    return found


def test_a_killed_generation_is_gone_on_with(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    command = ["data", "generate", "tpch", "--scale", "0.3", "--parts", "6", "-o", str(folder), "--master", "local[2]", "-q"]
    inside = folder / "_planscope" / "unfinished"
    kill_once(start_python("-m", "experiments", *command), lambda: len(parts_made(inside)) >= 8, "it makes nothing")
    with pytest.raises(CatalogError, match=r"(?s)unfinished tpch at scale 0\.3.*generate tpch --scale 0\.3 --parts 6"):
        open_dataset(folder)
    before = parts_made(inside)
    assert 8 <= len(before) < 38
    made = generate(recipe("tpch", Decimal("0.3"), 6), folder, lambda: spark, unheard)
    after = files_of(folder)
    assert len(after) == 38
    assert {name: after[name] for name in before} == before, "nothing was made twice"
    assert made.counts["rows"]["orders"] == 450_000
    assert not generate(recipe("tpch", Decimal("0.3"), 6), folder, no_spark, unheard).made


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk; test_generate.py has the errors without one")
@pytest.mark.parametrize("kind", ["tpch", "tpcds", "joingraph"])
def test_a_full_disk(spark: SparkSession, small_disk: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    wanted = recipe(kind, {"tpch": Decimal("0.1"), "tpcds": Decimal("0.05"), "joingraph": Decimal(1)}[kind])
    monkeypatch.setattr(module, "check_space", lambda *_: None)  # let it run into the wall
    with pytest.raises(PipelineError, match="no space left for"):
        generate(wanted, small_disk / "data", lambda: spark, unheard)
    left = small_disk / "data" / "_planscope" / "unfinished"
    assert not list(left.glob(".task-*")), "scraps take no space"
    if left.exists():
        with pytest.raises(CatalogError, match=f"unfinished {kind}"):
            open_dataset(small_disk / "data")
    subprocess.run(["mount", "-o", "remount,size=400m", str(small_disk)], check=True)
    made = generate(wanted, small_disk / "data", lambda: spark, unheard)
    assert sum(made.counts["rows"].values()) > 100_000
    open_dataset(small_disk / "data")
