"""Which columns a table gets, and of which types: from what its files hold, and what schema.sql declares of it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from experiments.pipeline.intake.opened import Opened, batches, union
from experiments.pipeline.intake.values import NESTED, can_become, possible, read_type, trimmed, type_of
from experiments.pipeline.spark.errors import PipelineError
from optimizer.algebra.columns import DataType
from optimizer.algebra.types import MAX_PRECISION, common_type, decimal_of, is_decimal, is_float, is_numeric, type_name
from optimizer.catalog.constraints import near
from optimizer.catalog.declarations import ColumnDeclaration, TableDeclaration
from optimizer.catalog.types import canonical_type


class Resolved(NamedTuple):
    """`columns` of canonical types; `dropped`: columns of the source that are not imported, with the reason."""

    columns: list[ColumnDeclaration]
    dropped: dict[str, str]


def undeclared(name: str, files: Sequence[Opened], declared: TableDeclaration | None, merge: bool) -> list[str]:
    """The columns of table `name` whose values are texts of no declared type, in the order of first sight. `merge`: a column
    that some files lack is NULL there. Raises PipelineError: files that differ, declared columns that no file has."""
    names = _names(files)
    spelled: dict[str, str] = {}
    for column in names:
        if (twin := spelled.setdefault(column.lower(), column)) != column:
            places = dict.fromkeys(next(file.label for file in files if one in file.types) for one in (twin, column))
            where = " and ".join(places)
            raise PipelineError(f'{where}: columns "{twin}" and "{column}", the same to SQL; rename all but one of them')
    for column in names:
        missing = next((file for file in files if column not in file.types and not file.open), None)
        if missing is not None and not merge:
            having = next(file for file in files if column in file.types)
            raise PipelineError(
                f'the files of table "{name}" differ: {having.label} has a column "{column}", {missing.label} has none\n'
                "--merge-schema imports both, with NULLs for what is missing"
            )
    wanted = _wanted(declared)
    for key, declaration in wanted.items():
        if key not in spelled:
            one = declaration.name
            raise PipelineError(f'column "{one}" of table {name} is declared, but not there\n{near(one, names)}')
    known = {key for key, one in wanted.items() if one.type is not None}
    return [
        c for c in names if c.lower() not in known and all(file.types.get(c) is None and c not in file.said for file in files)
    ]


def inferred(tables: Mapping[str, tuple[Sequence[Opened], Sequence[str]]]) -> dict[str, dict[str, DataType]]:
    """By table, the type that all texts of each of the named columns of its files have. Looks at every value that was not looked
    at when its file was opened, of all tables in one query."""
    number = {column: i for i, column in enumerate((table, name) for table, (_, names) in tables.items() for name in names)}
    found: list[tuple[int, int | None]] = []
    frames: list[DataFrame] = []
    for table, (files, names) in tables.items():
        for file in files:
            found += [(number[table, name], file.masks[name]) for name in names if name in file.masks]
            if asked := [name for name in names if name in file.types and name not in file.masks]:
                # a row for each value, so that Spark compiles one expression for all columns
                values = ", ".join(f"{number[table, name]}, v{i}" for i, name in enumerate(asked))
                rows = file.rows(asked).where("_broken IS NULL")
                frames.append(rows.selectExpr(f"stack({len(asked)}, {values}) AS (i, text)"))
    for some in batches(frames):
        texts = union(some).selectExpr("i", f"{trimmed('text')} AS text")
        found += texts.groupBy("i").agg(F.expr(f"bit_and({possible('text')})")).collect()
    masks: dict[int, int] = {}
    for i, mask in found:
        if mask is not None:
            masks[i] = masks.get(i, -1) & mask
    return {table: {name: type_of(masks.get(number[table, name])) for name in names} for table, (_, names) in tables.items()}


def resolve(
    name: str, files: Sequence[Opened], declared: TableDeclaration | None, merge: bool, inferred: Mapping[str, DataType]
) -> Resolved:
    """The columns of table `name`, in the order of first sight; `inferred`: the types of those that are `undeclared`. `merge`:
    stored number types that differ meet in one that holds both. Raises PipelineError: columns whose values are of another kind
    than declared or differ between files."""
    wanted = _wanted(declared)
    required = {column.lower() for column in declared.primary_key} if declared is not None else set()
    found = Resolved([], {})
    for column in _names(files):
        one = wanted.get(column.lower(), ColumnDeclaration(column, None, "", False))
        stored = {file.label: type for file in files if (type := file.types.get(column) or file.said.get(column)) is not None}
        lacking = next((type for type in stored.values() if read_type(type) is None), None)
        if one.sql_type and one.type is None:
            found.dropped[column] = f"declared as {one.sql_type}, which imports lack"
        elif lacking is not None:
            text = str(lacking)
            found.dropped[column] = f"is {text if len(text) <= 60 else f'{text[:59]}…'}, which imports lack"
        elif any((file.masks.get(column) or 0) & NESTED for file in files):
            found.dropped[column] = "has objects or arrays in it, which imports lack"
        else:
            for file, type in stored.items():
                if one.type is not None and not can_become(type, one.type):
                    declared_as = f"{name}.{column} is declared as {one.sql_type}"
                    raise PipelineError(f"{declared_as}, but {file} holds {type}\ncorrect the declaration")
            type = one.type or (_stored_type(name, column, stored, merge) if stored else inferred[column])
            not_null = one.not_null or column.lower() in required
            found.columns.append(ColumnDeclaration(column, type, type_name(type), not_null))
    return found


def _names(files: Sequence[Opened]) -> list[str]:
    return list(dict.fromkeys(column for file in files for column in file.types))


def _wanted(declared: TableDeclaration | None) -> dict[str, ColumnDeclaration]:
    return {column.name.lower(): column for column in declared.columns} if declared is not None else {}


def _stored_type(table: str, column: str, stored: Mapping[str, DataType], merge: bool) -> DataType:
    present = {file: type for file, type in stored.items() if not pa.types.is_null(type)} or stored
    types = {file: pa.timestamp("us") if pa.types.is_timestamp(type) else canonical_type(type) for file, type in present.items()}
    first, meeting = next(iter(types.items()))
    for file, type in types.items():
        met = meeting if type == meeting else _meeting(meeting, type) if merge else None
        if met is None:
            raise PipelineError(
                f'the files of table "{table}" differ: column "{column}" is {type_name(types[first])} in {first} and '
                f"{type_name(type)} in {file}\n"
                + ("declare its type in schema.sql" if merge else "declare its type in schema.sql, or try --merge-schema")
            )
        meeting = met
    return meeting


def _meeting(one: DataType, other: DataType) -> DataType | None:
    """The type that holds the values of two number types exactly, or nearly as a DOUBLE; None for other types."""
    meeting = common_type(one, other)
    if meeting is None or not (is_numeric(one) and is_numeric(other)):
        return None
    if not is_decimal(meeting):
        return pa.float64() if is_float(meeting) else meeting
    digits = max(type.precision - type.scale for type in map(decimal_of, (one, other)))  # before the point
    return meeting if digits + meeting.scale <= MAX_PRECISION else None
