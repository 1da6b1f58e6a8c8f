"""The truth table of subqueries, exhaustively: Python's definition = naive evaluation = DuckDB = every method.

By default all bags are asked about in one correlated query for every fifth form and position, the methods taking turns; the slow
tests ask every method about all, and about each bag on its own too, correlated and not.
"""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.differential.correlated.engines import METHODS, Engines, Failed, assert_rows
from tests.differential.correlated.matrix import (
    FORMS,
    POSITIONS,
    TABLES,
    Form,
    Position,
    Question,
    TooMany,
    all_bags_at_once,
    one_bag,
)
from tests.differential.datasets import Dataset
from tests.reference.compare import Row, rows_of

QUESTIONS = {f"{q.form.name}, {q.position.name}": q for q in all_bags_at_once()}


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Engines:
    folder: Path = tmp_path_factory.mktemp("matrix")
    tables = {}
    for name, (columns, rows) in TABLES.items():
        tables[name] = pa.table([pa.array([row[i] for row in rows], pa.int32()) for i in range(len(columns))], names=columns)
        pq.write_table(tables[name], folder / f"{name}.parquet")
    return Engines(Dataset(folder, tables))


@pytest.mark.parametrize(("number", "name"), list(enumerate(QUESTIONS))[::5])
def test_all_bags_at_once(number: int, name: str, engines: Engines) -> None:
    ask(QUESTIONS[name], engines, (METHODS[number // 5 % len(METHODS)],))


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_all_bags_at_once_by_every_method(name: str, engines: Engines) -> None:
    ask(QUESTIONS[name], engines, METHODS)


@pytest.mark.few(3)
@pytest.mark.parametrize("position", POSITIONS, ids=lambda p: p.name)
@pytest.mark.parametrize("correlated", [True, False], ids=["correlated", "uncorrelated"])
def test_two_rows_fail(position: Position, correlated: bool, engines: Engines) -> None:
    """The last bag has two rows: whoever asks for its scalar fails, by every method."""
    scalar = next(form for form in FORMS if form.name == "scalar")
    question = list(one_bag(scalar, position))[-1]._replace(correlated=correlated)
    with pytest.raises(TooMany):
        question.rows()
    ask(question, engines, METHODS)


@pytest.mark.few(2)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.name)
def test_one_bag(form: Form, engines: Engines) -> None:
    """Without correlation: a bag for every other position, another method each."""
    for i, position in list(enumerate(POSITIONS))[FORMS.index(form) % 2 :: 2]:
        questions = list(one_bag(form, position))
        if questions:
            ask(questions[(3 * i) % len(questions)], engines, (METHODS[i % len(METHODS)],))


@pytest.mark.slow
@pytest.mark.parametrize("position", POSITIONS, ids=lambda p: p.name)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.name)
def test_each_bag(form: Form, position: Position, engines: Engines) -> None:
    for i, question in enumerate(one_bag(form, position)):
        ask(question._replace(correlated=False), engines, (METHODS[i % len(METHODS)],))
        ask(question._replace(correlated=True), engines, tuple(dict.fromkeys((METHODS[i % len(METHODS)], "general"))))


def ask(question: Question, engines: Engines, methods: tuple[str, ...]) -> None:
    try:
        expected: list[Row] | None = question.rows()
    except TooMany:
        expected = None
    by_duckdb = engines.by_duckdb(question.sql)
    if not (isinstance(by_duckdb, Failed) and isinstance(by_duckdb.error, duckdb.NotImplementedException)):
        if not (question.form.pairs and not question.correlated):  # to DuckDB a NULL in a row makes all of it unknown
            verify(expected, by_duckdb if isinstance(by_duckdb, Failed) else rows_of(by_duckdb), question.sql, "DuckDB")
    verify(expected, engines.by_definition(question.sql), question.sql, "naive")
    for method in methods:
        verify(expected, engines.by_method(question.sql, method), question.sql, method)


def verify(expected: list[Row] | None, actual: pa.Table | list[Row] | Failed, sql: str, name: str) -> None:
    try:
        if expected is None:
            assert isinstance(actual, Failed), f"rows instead of an error: {actual}"
        else:
            assert_rows(expected, actual)
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}\n\n{sql}") from error
