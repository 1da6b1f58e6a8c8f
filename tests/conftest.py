"""What tests share: TPC-H data made once for all workers and runs, and DuckDB over the same files."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

# before any test opens data, and for the commands tests start: keep made data out of the user's own cache
os.environ.setdefault("PLANSCOPE_HOME", str(Path(__file__).parent.parent / ".cache" / "planscope"))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # with as many workers as cores, threads wait for each other's and burn CPU
# Whatever starts Spark here: it lives for minutes, which does not pay for Java's second compiler (without it Java has 48 MB for
# code, and swept them all the time) nor for proving Spark's classes well-formed. Of 15 s of CPU for a start this saves 7.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m -XX:ReservedCodeCacheSize=240m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -XX:+IgnoreUnrecognizedVMOptions",
)

from experiments.workloads.data import open_data
from optimizer.catalog.table import Catalog, Table
from tests import once

collect_ignore = ["differential/scripts/copied"]  # SQL in many folders

_READERS = {"parquet": "read_parquet({})", "csv": "read_csv({}, header = true)"}


def duckdb_over(catalog: Catalog) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with one view per table of `catalog`, over the same Parquet or CSV files."""
    connection = duckdb.connect()
    for table in catalog.tables.values():
        connection.execute(f'CREATE VIEW "{table.name}" AS SELECT {_columns(table)} FROM {_reader(table)}')
    return connection


def duckdb_tables(folder: Path, tables: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with tables of the rows that the statements give; the same are Parquet files in `folder`."""
    connection = duckdb.connect()
    for name, sql in tables.items():
        connection.execute(f"create table {name} as {sql}")
        pq.write_table(connection.table(name).to_arrow_table(), folder / f"{name}.parquet")
    return connection


def quick_and_slow(quick: Iterable[object], slow: Iterable[object]) -> list[object]:
    """Values of a parametrization, tuples where it has several names; the second ones only in slow runs."""
    each = (value if isinstance(value, tuple) else (value,) for value in slow)
    return [*quick, *(pytest.param(*values, marks=pytest.mark.slow) for values in each)]


def blocks(start: int, stop: int, size: int) -> list[range]:
    """The numbers from `start` up to `stop` in ranges of `size`."""
    return [range(first, first + size) for first in range(start, stop, size)]


def _columns(table: Table) -> str:
    return ", ".join('"' + column.name.replace('"', '""') + '"' for column in table.columns)


def _reader(table: Table) -> str:
    files = ", ".join("'" + str(file).replace("'", "''") + "'" for file in table.files)
    return _READERS[table.format].format(f"[{files}]")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write the golden files anew instead of checking them")


@pytest.hookimpl(tryfirst=True)  # before -m "not slow" is heeded
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --rewrite only what rewrites golden files runs, without it everything else.

    The tests of the pipeline come first: then one worker has them all, and Spark is started once.
    """
    wanted = config.getoption("--rewrite")
    items[:] = [item for item in items if bool(item.get_closest_marker("rewrites")) == wanted]
    items.sort(key=lambda item: "tests/pipeline/" not in item.nodeid)
    number: Counter[tuple[pytest.Item | pytest.Collector | None, str]] = Counter()  # of a test's cases so far
    for item in items:
        if (few := item.get_closest_marker("few")) is not None:
            test = (item.parent, item.name.partition("[")[0])
            if number[test] % few.args[0]:
                item.add_marker("slow")
            number[test] += 1


UNFREEZE = gc.unfreeze
_modules = count(1)


@pytest.fixture(scope="session", autouse=True)
def _stays_frozen() -> None:
    """Planning, which freezes and unfreezes (`optimizer.collector`), does not undo what `_kept` does."""
    gc.unfreeze = lambda: None


@pytest.fixture(scope="module", autouse=True)
def _kept() -> None:
    """What earlier modules left is passed over by the collector: looking through it took a fifth of all time. Garbage with
    cycles goes from time to time."""
    if next(_modules) % 50 == 0:
        UNFREEZE()
        gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _bound_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where texts are planned in many ways: see `tests/once.py`."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.relative_to(Path(__file__).parent).parts[0] in ("differential", "spark"):
            patch.setattr("optimizer.pipeline.bind", once.bound)
        yield


@pytest.fixture
def default_recursion_limit() -> Iterator[None]:
    """Python's own, whatever ran before (Hypothesis raises it)."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.fixture(scope="session")
def tpch() -> Catalog:
    """TPC-H at scale factor 0.01 (87,000 rows), made on first use; workers wait for the one that makes it."""
    return open_data("tpch:0.01")


@pytest.fixture(scope="session")
def tpch_duckdb(tpch: Catalog) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the tables of `tpch` as views over the same files."""
    connection = duckdb_over(tpch)
    yield connection
    connection.close()
