"""For each built-in JOB query rows that satisfy it whole, and where they stand in the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from experiments.workloads.imdb_like.columns import COLUMNS, Listed, Plain, Text
from experiments.workloads.imdb_like.figures import FOLDER, rows_at, tables, types
from experiments.workloads.imdb_like.infos import info_texts
from experiments.workloads.imdb_like.solve import Same, Value, compared_texts, witness
from experiments.workloads.imdb_like.texts import text
from experiments.workloads.job_data import job_catalog
from optimizer.algebra.query import BoundQuery
from optimizer.sql.bind import bind

_SAMPLES = 200
_SHARED = "keyword", "company_name", "char_name"


class Planted(NamedTuple):
    """Values of some columns of row `number` (from 0) of a table."""

    number: int
    values: dict[str, Value]


class _Place(NamedTuple):
    """The id of a planted row: the `place`-th of its table."""

    table: str
    place: int


def table_rows(scale: float) -> dict[str, int]:
    """Rows of every table: as `rows_at` says, but at least twice as many as are planted."""
    return {table: rows_at(table, scale, 2 * len(_places().get(table, ()))) for table in (*types(), *COLUMNS)}


def planted(scale: float) -> dict[str, list[Planted]]:
    """By table, the rows that answer the queries, evenly spread over the table and sorted by number."""
    rows = table_rows(scale)

    def number(at: _Place) -> int:
        return (2 * at.place + 1) * rows[at.table] // (2 * len(_places()[at.table]))

    def filled(values: dict[str, Value | _Place]) -> dict[str, Value]:
        return {name: number(value) + 1 if isinstance(value, _Place) else value for name, value in values.items()}

    return {
        table: [Planted(number(_Place(table, place)), filled(values)) for place, values in enumerate(all)]
        for table, all in _places().items()
    }


@cache
def planted_texts(table: str, column: str) -> frozenset[Value | _Place]:
    """The values that planted rows have in a column."""
    return frozenset(values[column] for values in _places().get(table, ()) if column in values)


@cache
def compared(table: str, column: str) -> tuple[str, ...]:
    """Texts that queries compare the column with, sorted."""
    found = {text for query in _queries().values() for name, of, text in compared_texts(query) if (name, of) == (table, column)}
    return tuple(sorted(found))


@cache
def _queries() -> dict[str, BoundQuery]:
    catalog = job_catalog()
    return {path.stem: bind(path.read_text(encoding="utf-8"), catalog) for path in sorted(FOLDER.glob("[0-9]*.sql"))}


@cache
def _places() -> dict[str, list[dict[str, Value | _Place]]]:
    """The rows of all queries, by table. Queries share rows of tables that refer to no other: a keyword is there once."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for query in _queries().values():
        rows = witness(query, types(), _samples)
        places: dict[str, _Place] = {}
        for alias, row in rows.items():
            there = found[row.table]
            known = there.index(row.values) if row.table in _SHARED and row.values in there else None
            places[alias] = _Place(row.table, len(there) if known is None else known)
            if known is None:
                there.append(dict(row.values))
        for alias, row in rows.items():
            values = found[row.table][places[alias].place]
            values.update((name, places[value.alias]) for name, value in row.values.items() if isinstance(value, Same))
    return dict(found)


@cache
def _samples(table: str, column: str) -> Sequence[Value]:
    """Values that the column has whatever the scale."""
    content, figures = COLUMNS[table][column], tables()[table][column]
    numbers = np.arange(_SAMPLES)
    match content:
        case Plain.ID:
            return [1]
        case Text(kind=kind, heads=heads):
            return [str(value) for value in text(kind, numbers, heads).to_pylist()]
        case Listed():
            return list(figures.values or ())[:_SAMPLES]
        case Plain.INFO:
            return [str(value) for value in info_texts(np.full(4, 9), np.linspace(0, 0.9, 4)).to_pylist()]
    return [round(value) for value in figures.deciles or (1,)]
