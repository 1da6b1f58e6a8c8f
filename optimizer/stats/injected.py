"""Row counts from a table: of a query, of sets of its aliases.

    query | aliases            | cardinality
    ------+--------------------+------------
    017   | [b, u]             |       79851

In a CSV file the aliases are a text: `017,b u,79851`, or `b+u`. A query is named as on the command line: `q` for q.sql.

A cardinality is that of the inner join of these tables with all that the query asks of them alone: their filters, and the
conjuncts between them. So it is given to every set of relations with these aliases that is an inner join and linked by conjuncts,
filters included. Sets not in the table are estimated from those that are (`known_rows`), and so are groupings, outer and
semi-joins: a table of all sets up to k relations gives the exactness up to k of Leis et al. (VLDB 2015).
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from optimizer.algebra.columns import Columns
from optimizer.catalog.table import Catalog
from optimizer.errors import SettingsError, many
from optimizer.settings import Settings
from optimizer.stats.known_rows import KnownRows
from optimizer.stats.relation_set import RelationSet

Cardinalities = Mapping[frozenset[str], float]
"""Rows by set of aliases, in lower case."""

_NO_NAME = ""  # of the query of a file without a column `query`


class Injected(KnownRows):
    """`cardinalities`: of one query."""

    def __init__(self, catalog: Catalog, columns: Columns, cardinalities: Cardinalities) -> None:
        super().__init__(catalog, columns)
        self._cardinalities = cardinalities

    def known(self, relations: RelationSet) -> float | None:
        aliases = relations.aliases
        return None if aliases is None else self._cardinalities.get(aliases)


def injected(setting: str, catalog: Catalog, columns: Columns) -> Injected:
    """The estimator that the setting `injected` asks for. Raises SettingsError, also when its file names a relation that the
    query does not have."""
    cardinalities = injected_cardinalities(setting)
    aliases = {column.alias.lower() for column in columns if column.origin}
    unknown = sorted(frozenset().union(*cardinalities) - aliases)
    if unknown:
        raise SettingsError(
            f'{setting} has cardinalities of "{unknown[0]}", and the query has no relation of that name\n'
            f"its relations are {', '.join(sorted(aliases)) or 'none'}"
        )
    return Injected(catalog, columns, cardinalities)


def injected_cardinalities(setting: str) -> Cardinalities:
    """What the setting `injected` names: `FILE`, or `FILE:QUERY` for a file with several queries. Raises SettingsError."""
    file, query = _parts(setting)
    queries = _queries(file)
    if query is None and len(queries) == 1:
        return next(iter(queries.values()))
    if query is None:
        raise _not_among(queries, file)
    if query not in queries:
        raise SettingsError(
            f'{file} has no cardinalities of query "{query}"\nit has {many(len(queries), "query")}: {_names(queries)}'
        )
    return queries[query]


def for_query(settings: Settings, name: str) -> Settings:
    """The settings for a query of that name ("": none): where `injected` is a file of named queries, it says which one is meant.

    `stats/001` is called that in the file, or 001. Raises SettingsError for a bad file, and for one that has neither.
    """
    if settings.estimator != "injected":
        return settings
    file, query = _parts(settings.injected)
    queries = _queries(file)
    if not name or query is not None or list(queries) == [_NO_NAME]:
        return settings
    found = next((each for each in (name, name.rpartition("/")[2]) if each in queries), None)
    if found is None:
        raise _not_among(queries, file, f", {name}")
    return settings.replace(injected=f"{file}:{found}")


def _not_among(queries: Collection[str], file: str, name: str = "") -> SettingsError:
    return SettingsError(
        f"{file} has cardinalities of {many(len(queries), 'query')} ({_names(queries)}), and none of the name of this one{name}\n"
        f"write injected={file}:QUERY"
    )


def _names(queries: Iterable[str]) -> str:
    """Those of the first queries."""
    names = list(queries)
    return f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}"


def injected_file(setting: str) -> str:
    """The file that the setting `injected` names. Raises SettingsError for none."""
    return _parts(setting)[0]


def _parts(setting: str) -> tuple[str, str | None]:
    """The file, and the query where the setting names one."""
    if not setting:
        raise SettingsError("estimator=injected needs a file\n--set injected=FILE names it, injected=FILE:QUERY a query in it")
    if not os.path.isfile(setting) and ":" in setting:
        file, _, query = setting.rpartition(":")
        return file, query
    return setting, None


def _queries(file: str) -> dict[str, Cardinalities]:
    try:
        found = Path(file).stat()
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot read injected cardinalities {file}: {getattr(error, 'strerror', error)}") from None
    return _read(Path(file), found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, changed_ns: int, size: int) -> dict[str, Cardinalities]:
    """Cardinalities by query; a file without a column `query` is of one query."""
    try:
        rows = _rows(path)
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        raise SettingsError(f"cannot read injected cardinalities {path}: {str(error).splitlines()[0]}") from None
    queries: dict[str, dict[frozenset[str], float]] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not {"aliases", "cardinality"} <= row.keys():
            raise SettingsError(f"{path}, row {number}: it needs aliases and cardinality, and query where there are several")
        aliases = _aliases(row["aliases"])
        value = _number(row["cardinality"])
        if not aliases or value is None:
            raise SettingsError(
                f"{path}, row {number}: aliases {row['aliases']!r}, cardinality {row['cardinality']!r}\n"
                "aliases are a list or a text such as a+b, a cardinality is a number from 0 up"
            )
        query = queries.setdefault(str(row.get("query", _NO_NAME)), {})
        if query.setdefault(aliases, value) != value:
            names = " ".join(sorted(aliases))
            raise SettingsError(f"{path}, row {number}: {names} has {value:g} rows here and {query[aliases]:g} in another row")
    if not queries:
        raise SettingsError(f"{path} has no rows")
    return dict(queries)


def _rows(path: Path) -> Iterable[Any]:
    match path.suffix.lower():
        case ".parquet":
            file = pq.ParquetFile(path)
            wanted = [name for name in ("query", "aliases", "cardinality") if name in file.schema_arrow.names]
            return list(file.read(wanted).to_pylist())
        case ".csv":
            texts = {"query": pa.string(), "aliases": pa.string(), "cardinality": pa.string()}
            return list(pacsv.read_csv(path, convert_options=pacsv.ConvertOptions(column_types=texts)).to_pylist())
        case ".json" | ".jsonl":
            text = path.read_text(encoding="utf-8")
            if text.lstrip().startswith("["):
                return list(json.loads(text))
            return [json.loads(line) for line in text.splitlines() if line.strip()]
    raise ValueError("it must end in .parquet, .csv, .json or .jsonl")


def _aliases(value: Any) -> frozenset[str]:
    parts = re.split(r"[\s,;+]+", value) if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return frozenset()
    return frozenset(part.lower() for part in parts if part)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0.0 <= number < float("inf") else None
