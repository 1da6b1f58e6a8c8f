"""DuckDB, the naive evaluator and every decorrelation method over one dataset; when their answers agree."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from optimizer.algebra.query import BoundQuery
from optimizer.errors import InternalError, PlanscopeError, SqlError
from optimizer.prepass.program import PROGRAM
from optimizer.rules.interface import RuleContext
from optimizer.stages import STAGES, Given
from planscope import Session, Settings
from tests import once
from tests.differential import engines
from tests.differential.correlated.tables import dataset
from tests.reference.compare import Row, assert_same_bag, assert_same_kinds, assert_same_list, rows_of
from tests.reference.naive import run_query

METHODS = ("none", "quick", "value_generator", "general", "cost")


class Failed(NamedTuple):
    """What an engine gave instead of rows."""

    error: Exception

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {str(self.error).splitlines()[0]}"


class Engines(engines.Engines):
    def by_duckdb(self, sql: str) -> pa.Table | Failed:
        try:
            return self.duckdb.execute(sql).to_arrow_table()
        except duckdb.Error as error:
            return Failed(error)

    def by_definition(self, sql: str) -> list[Row] | Failed:
        """The naive evaluation of the bound tree, whose subqueries are still scalars. What cannot be bound is raised."""
        return self._naively(once.bound(sql, self.catalog))

    def by_trees(self, sql: str, method: str) -> dict[str, list[Row] | Failed]:
        """The naive evaluation of the tree after each stage: CTEs in their places, without subqueries, filters moved,
        decorrelated, after the pre-pass.

        Where a tree has a choice, all its trees are evaluated and must give the same rows.
        """
        query = once.bound(sql, self.catalog)
        given = Given(query, PROGRAM, RuleContext(query.columns, Settings(decorrelate=method)))
        tree, trees = query.tree, {}
        for name, rewrite in STAGES:
            done = rewrite(tree, given)
            tree = tree if done is None else done.tree
            trees[name] = self._naively(query._replace(tree=tree))
        return trees

    def _naively(self, query: BoundQuery) -> list[Row] | Failed:
        try:
            return run_query(query, self.data.tables)
        except InternalError:
            raise
        except PlanscopeError as error:
            return Failed(error)

    def by_method(self, sql: str, method: str, **settings: Any) -> pa.Table | Failed:
        try:
            return once.rows(Session(self.catalog, {"decorrelate": method, **settings}), sql)
        except (InternalError, SqlError):
            raise
        except PlanscopeError as error:
            return Failed(error)

    def reproducer(self, sql: str) -> str:
        """The statement and the tables it reads, as SQL."""
        used = {name for name in self.data.tables if re.search(rf"\b{name}\b", sql)}
        return f"{sql}\n\n{self.data.show(used)}"


def engines_over(root: Path, number: int) -> Engines:
    return Engines(dataset(root, number))


def assert_rows(expected: list[Row], actual: pa.Table | list[Row] | Failed, ordered: bool = False) -> None:
    assert not isinstance(actual, Failed), f"{actual} instead of {len(expected)} rows"
    rows = rows_of(actual) if isinstance(actual, pa.Table) else actual
    (assert_same_list if ordered else assert_same_bag)(expected, rows)


def assert_agree(expected: pa.Table, actual: pa.Table | list[Row] | Failed, ordered: bool = False) -> None:
    """The same rows of the same kinds."""
    assert_rows(rows_of(expected), actual, ordered)
    if isinstance(actual, pa.Table):
        assert_same_kinds(expected, actual)
