"""The texts of the 99 TPC-DS queries, as DuckDB's `tpcds` extension gives them; only their index is a file here."""

import importlib.util
from functools import cache

from optimizer.errors import SqlError


def tpcds_query(name: str) -> str:
    """The text of `q01` … `q99`. Raises SqlError where the extension is not installed."""
    return _texts()[int(name.removeprefix("q"))]


@cache
def _texts() -> dict[int, str]:
    if any(importlib.util.find_spec(module) is None for module in ("duckdb", "duckdb_extension_tpcds")):
        raise SqlError(
            "the texts of the TPC-DS queries come from an extension of DuckDB, which is not installed",
            hint="pip install 'planscope[tpcds]'",
        )
    import duckdb

    from experiments.pipeline.generate.tpcds import extension

    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{extension()}'")
        return dict(connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall())
