"""DuckDB's estimates of sub-plans, read off its EXPLAIN, over native tables with the same rows.

A sub-plan is a query of its own: `select count(*) from … where …` with the predicates among its relations. What DuckDB says of
the node below the aggregate is its estimate. DuckDB is no dependency of planscope: it comes with the extra `test`.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from experiments.duckdb_sql import load_table
from optimizer.algebra.props import united
from optimizer.catalog.table import Catalog

_PREDICATE = re.compile(r"\s+and\s+", re.IGNORECASE)
_EQUALITY = re.compile(r"(\w+\.\w+)\s*=\s*(\w+\.\w+)")
_QUERY = re.compile(r"select count\(\*\) from (.*?) where (.*?);?\s*", re.IGNORECASE | re.DOTALL)


class FlatQuery:
    """The text of `select count(*) from t as a, … where p and …`, none of whose predicates contains AND: `tables` by alias,
    `predicates` with the aliases each reads."""

    def __init__(self, sql: str) -> None:
        found = _QUERY.fullmatch(sql.strip())
        assert found is not None, f"not a flat query: {sql}"
        parts = [part.split() for part in found[1].split(",")]
        self.tables = {words[-1]: words[0] for words in parts}
        self.predicates = [(text, frozenset(re.findall(r"\b(\w+)\.", text))) for text in _PREDICATE.split(found[2])]
        assert all(aliases <= self.tables.keys() for _, aliases in self.predicates), f"not a flat query: {sql}"

    def sub_query(self, aliases: Iterable[str]) -> str:
        """The query of some relations under all predicates among them; if these leave some unconnected, also under the
        equalities that the predicates of the whole query imply."""
        wanted = sorted(aliases)
        within = [text for text, read in self.predicates if read <= set(wanted)]
        if not _connected(wanted, within):
            within += self._implied(set(wanted), within)
        tables = ", ".join(f"{self.tables[alias]} as {alias}" for alias in wanted)
        return f"select count(*) from {tables}" + (f" where {' and '.join(within)}" if within else "")

    def _implied(self, wanted: set[str], within: list[str]) -> list[str]:
        added = []
        for members in _classes(text for text, _ in self.predicates):
            here = [column for column in members if column.split(".")[0] in wanted]
            linked = _classes(within)
            for column in here[1:]:
                if not any({here[0], column} <= set(part) for part in linked):
                    added.append(f"{here[0]} = {column}")
                    linked = _classes([*within, *added])
        return added


def _classes(predicates: Iterable[str]) -> list[list[str]]:
    """Columns that equalities make equal, class by class."""
    pairs = [found.groups() for text in predicates if (found := _EQUALITY.fullmatch(text.strip())) is not None]
    bits = {column: 1 << number for number, column in enumerate(sorted({column for pair in pairs for column in pair}))}
    return [[column for column in bits if bits[column] & members] for members in united(bits[a] | bits[b] for a, b in pairs)]


def _connected(aliases: list[str], predicates: list[str]) -> bool:
    reached = {aliases[0]}
    pairs = [{a.split(".")[0] for a in members} for members in _classes(predicates)]
    for _ in aliases:
        for pair in pairs:
            if pair & reached:
                reached |= pair
    return reached >= set(aliases)


class DuckDBEstimates:
    """A database in memory with the rows of the tables of a catalog that have any."""

    def __init__(self, catalog: Catalog) -> None:
        """Raises ImportError when DuckDB is not installed."""
        import duckdb

        self._connection: Any = duckdb.connect(":memory:")
        for table in catalog.tables.values():
            if table.files:
                load_table(self._connection, table)

    def rows(self, sub_query: str) -> float:
        """Its estimate for a query `select count(*) from …`."""
        [(_, text)] = self._connection.execute(f"explain (format json) {sub_query}").fetchall()
        node = json.loads(text)[0]
        while "Estimated Cardinality" not in node["extra_info"] or node["name"] in ("UNGROUPED_AGGREGATE", "PROJECTION"):
            if not node["children"]:
                raise AssertionError(f"DuckDB gives no estimate for {sub_query}")
            node = node["children"][0]
        return float(node["extra_info"]["Estimated Cardinality"])
