"""Small CSV files without a fault are read without Spark, which takes ten times as long to start and to warm up.

They are read as queries read them. A table that is not plain, and one with a fault, be it in one value, is left to Spark, which
tells faults apart; what it makes of good files is the same.
"""

from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from experiments.pipeline.analyze.pieces import batches_of
from experiments.pipeline.intake.request import ImportRequest, Plan
from experiments.pipeline.intake.sources import Source
from experiments.pipeline.spark.session import SMALL
from optimizer.algebra.types import MAX_PRECISION, is_float, is_string, type_name
from optimizer.catalog.csv_files import csv_facts
from optimizer.catalog.declarations import ColumnDeclaration, TableDeclaration
from optimizer.catalog.table import Table
from optimizer.errors import CatalogError

_LIKE_SPARKS = r"^\s*(\d{4}-\d\d-\d\d|(?i:true|false)\s*$)"
_NUMBER = r"^\s*[+-]?(\.?\d[\d.eE+-]*|(?i:inf|infinity|nan))\s*$"


class Clean(NamedTuple):
    """`files`: the rows of each, in order."""

    columns: list[ColumnDeclaration]
    files: dict[str, pa.Table]


def read_clean(request: ImportRequest, plan: Plan) -> dict[str, Clean]:
    """By name, the tables that are plain and without a fault; none where plain ones are not small, all together."""
    plain = [one for one in plan.found.tables if _is_plain(one)]
    size = sum(plan.inputs[file]["bytes"] for one in plain for file in one.files)
    found: dict[str, Clean] = {}
    for one in plain if size <= SMALL and not request.options else ():
        with suppress(CatalogError, OSError, pa.ArrowException):
            found[one.name] = _read(one, plan.declared.get(one.name.lower(), TableDeclaration(one.name)))
    return found


def _is_plain(source: Source) -> bool:
    plain = source.format == "csv" and bool(source.files)
    return plain and all(path.lower().endswith(".csv") and not values for path, values in source.files.items())


def _read(source: Source, declared: TableDeclaration) -> Clean:
    """Raises CatalogError, OSError or ArrowException for faults, and for all that Spark may take for something else."""
    paths = [Path(path) for path in source.files]
    known = {column.name.lower(): column for column in declared.columns}
    types = [one.type for one in known.values()]
    if any(type is None or pa.types.is_binary(type) or getattr(type, "precision", 0) == MAX_PRECISION for type in types):
        raise CatalogError("types of which Spark reads other texts, such as 1e5 for the widest decimals")
    facts = csv_facts(paths, {name: one.type for name, one in known.items() if one.type is not None})
    names = [column.name for column in facts[0].columns]
    lower = [name.lower() for name in names]
    required = {*map(str.lower, declared.primary_key), *(name for name, one in known.items() if one.not_null)}
    alike = all([column.name for column in one.columns] == names for one in facts)
    if not alike or len({*lower}) < len(names) or not required | known.keys() <= {*lower}:
        raise CatalogError("columns that differ, are there twice, or are missing")
    table = Table(source.name, facts[0].columns, files=tuple(paths), format="csv")
    files = [pa.Table.from_batches(batches_of(table, path, None, names), table.schema) for path in paths]
    for name, rows in product(names, files):
        if (name.lower() in required and rows[name].null_count) or _is_odd(rows[name], name.lower() in known):
            raise CatalogError("a NULL that is forbidden, or texts that Spark may take for something else")
    columns = [ColumnDeclaration(c.name, c.type, type_name(c.type), c.name.lower() in required) for c in table.columns]
    return Clean(columns, dict(zip(source.files, files, strict=True)))


def _is_odd(values: pa.ChunkedArray, declared: bool) -> bool:
    """Whether Spark may take the texts for something else: -nan, times and BOOLEANs that Arrow does not know, or numbers with
    line breaks around them."""
    if is_float(values.type):
        return not pc.all(pc.is_finite(values)).as_py()
    texts = values.slice(0, 0) if declared or not is_string(values.type) else values.drop_null()

    def all_like(form: str) -> bool:
        return all(pc.all(pc.match_substring_regex(some, form)).as_py() for some in (texts[:1], texts))

    broken = len(texts) > 0 and all_like(_NUMBER) and pc.any(pc.match_substring_regex(texts, r"[\r\n]")).as_py()
    return broken or (len(texts) > 0 and all_like(_LIKE_SPARKS))
