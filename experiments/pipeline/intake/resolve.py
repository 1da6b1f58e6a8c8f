"""Which columns a table gets: from what its files hold, and what schema.sql declares of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from experiments.pipeline.intake.frames import Opened, known_type
from experiments.pipeline.intake.values import can_become, read_type
from experiments.pipeline.spark.errors import PipelineError
from optimizer.algebra.columns import DataType
from optimizer.algebra.types import MAX_PRECISION, common_type, decimal_of, is_decimal, is_float, is_numeric, type_name
from optimizer.catalog.constraints import near
from optimizer.catalog.declarations import ColumnDeclaration, TableDeclaration
from optimizer.catalog.types import canonical_type


@dataclass(frozen=True, slots=True)
class Resolved:
    """`columns` of canonical types; `dropped`: columns of the source that are not imported, with the reason."""

    columns: list[ColumnDeclaration]
    dropped: dict[str, str]


def undeclared(name: str, files: Sequence[Opened], declared: TableDeclaration | None, merge: bool) -> list[str]:
    """The columns of table `name` whose values are texts of no declared type, in the order of first sight.

    `merge`: a column that some files lack is NULL there. Raises PipelineError: files that differ, declared columns that no
    file has.
    """
    for file in files:
        if (twins := _twins(file.types)) is not None:
            raise PipelineError(
                f'{file.label} has columns "{twins[0]}" and "{twins[1]}", the same to SQL; rename all but one of them'
            )
    names = _names(files)
    if (twins := _twins(names)) is not None:
        raise PipelineError(
            f'the files of table "{name}" differ: a column is "{twins[0]}" in some and "{twins[1]}" in others; rename one'
        )
    for column in names:
        missing = next((file for file in files if column not in file.types and not file.open), None)
        if missing is not None and not merge:
            having = next(file for file in files if column in file.types)
            raise PipelineError(
                f'the files of table "{name}" differ: {having.label} has a column "{column}", {missing.label} has none\n'
                "--merge-schema imports both, with NULLs for what is missing"
            )
    wanted, there = _wanted(declared), {column.lower() for column in names}
    for key, declaration in wanted.items():
        if key not in there:
            raise PipelineError(
                f'column "{declaration.name}" of table {name} is declared, but not there\n{near(declaration.name, names)}'
            )
    known = {key for key, one in wanted.items() if one.type is not None}
    return [c for c in names if c.lower() not in known and all(file.types.get(c) is None for file in files)]


def resolve(
    name: str, files: Sequence[Opened], declared: TableDeclaration | None, merge: bool, inferred: Mapping[str, DataType]
) -> Resolved:
    """The columns of table `name`, in the order of first sight; `inferred`: the types of those that are `undeclared`.

    `merge`: stored number types that differ meet in one that holds both. Raises PipelineError: columns whose values are of
    another kind than declared or differ between files, no column at all.
    """
    wanted = _wanted(declared)
    required = {column.lower() for column in declared.primary_key} if declared is not None else set()
    columns: list[ColumnDeclaration] = []
    dropped: dict[str, str] = {}
    for column in _names(files):
        declaration = wanted.get(column.lower())
        type = _type(name, column, files, declaration, merge, inferred)
        if isinstance(type, str):
            dropped[column] = type
        else:
            not_null = declaration is not None and (declaration.not_null or column.lower() in required)
            columns.append(ColumnDeclaration(column, type, type_name(type), not_null))
    if not columns:
        kinds = ", ".join(f"{column}: {reason}" for column, reason in dropped.items())
        raise PipelineError(f'table "{name}" ({files[0].label}) has no column to import: {kinds or "it has none at all"}')
    return Resolved(columns, dropped)


def _names(files: Sequence[Opened]) -> list[str]:
    return list(dict.fromkeys(column for file in files for column in file.types))


def _wanted(declared: TableDeclaration | None) -> dict[str, ColumnDeclaration]:
    return {column.name.lower(): column for column in declared.columns} if declared is not None else {}


def _twins(names: Sequence[str] | Mapping[str, object]) -> tuple[str, str] | None:
    """Two names that differ only by letter case."""
    spelled: dict[str, str] = {}
    return next(((other, name) for name in names if (other := spelled.setdefault(name.lower(), name)) != name), None)


def _type(
    table: str,
    column: str,
    files: Sequence[Opened],
    declared: ColumnDeclaration | None,
    merge: bool,
    inferred: Mapping[str, DataType],
) -> DataType | str:
    """The canonical type of a column, or why it is dropped."""
    wanted = declared.type if declared is not None else None
    if declared is not None and wanted is None:
        return f"declared as {declared.sql_type}, which planscope lacks"
    stored = [(file.label, type) for file in files if (type := file.types.get(column)) is not None]
    if not stored:
        known = known_type(files, column)
        if not isinstance(known, int) and pa.types.is_nested(known):
            return "has objects or arrays in it, which planscope lacks"
        return wanted or inferred[column]
    for file, found in stored:
        if read_type(found) is None:
            text = str(found)
            return f"is {text if len(text) <= 60 else f'{text[:59]}…'}, which planscope lacks"
        if declared is not None and wanted is not None and not can_become(found, wanted):
            raise PipelineError(
                f"{table}.{column} is declared as {declared.sql_type}, but {file} holds {found}\ncorrect the declaration"
            )
    return wanted or _stored_type(table, column, stored, merge)


def _stored_type(table: str, column: str, stored: Sequence[tuple[str, DataType]], merge: bool) -> DataType:
    present = [one for one in stored if not pa.types.is_null(one[1])] or stored[:1]
    types = [(file, pa.timestamp("us") if pa.types.is_timestamp(type) else canonical_type(type)) for file, type in present]
    first, type = types[0]
    meeting: DataType | None = type
    for file, other in types[1:]:
        if other != type:
            meeting = _meeting(meeting, other) if merge else None
        if meeting is None:
            here, there = f"{type_name(type)} in {first}", f"{type_name(other)} in {file}"
            raise PipelineError(
                f'the files of table "{table}" differ: column "{column}" is {here} and {there}\n'
                + ("declare its type in schema.sql" if merge else "declare its type in schema.sql, or try --merge-schema")
            )
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
