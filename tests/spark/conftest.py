"""TPC-H data in row groups that tasks can share."""

import shutil
from pathlib import Path

import pytest

from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from tests.spark.tasks import in_row_groups


def copied(catalog: Catalog, folder: Path) -> Catalog:
    """A copy of a dataset's files in seven row groups each."""
    source = next(iter(catalog.tables.values())).files[0].parent
    target = folder / "data"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("_planscope"))
    return open_dataset(in_row_groups(target, 7))


@pytest.fixture(scope="session")
def shared_tpch(tpch: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return copied(tpch, tmp_path_factory.mktemp("tpch"))
