"""Three small tables with NULLs and duplicates, as files and in DuckDB."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.conftest import duckdb_tables

TABLES = {
    "f": "select (i * 7) % 40 k, nullif(i % 13, 5) v, i % 3 g, i id from range(400) t(i) union all select null, 1, 1, 400",
    "d": "select nullif(i, 7) k, i % 5 a, nullif(i % 4, 2) b from range(45) t(i)",
    "e": "select nullif(i % 30, 9) k, i % 6 a from range(60) t(i)",
}


@pytest.fixture(scope="package")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, duckdb.DuckDBPyConnection]]:
    folder = tmp_path_factory.mktemp("rules")
    with duckdb_tables(folder, TABLES) as connection:
        yield folder, connection
