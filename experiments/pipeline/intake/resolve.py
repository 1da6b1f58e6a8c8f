"""Which columns a table gets: from what its files hold, and what schema.sql declares of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from experiments.pipeline.intake.frames import Opened
from experiments.pipeline.intake.target import Target
from experiments.pipeline.intake.values import can_become, read_type
from experiments.pipeline.spark.errors import PipelineError
from optimizer.algebra.columns import DataType
from optimizer.algebra.types import type_name
from optimizer.catalog.constraints import near
from optimizer.catalog.declarations import ColumnDeclaration, TableDeclaration
from optimizer.catalog.types import canonical_type


@dataclass(frozen=True, slots=True)
class Resolved:
    """`dropped`: columns of the source that are not imported, with the reason."""

    targets: tuple[Target, ...]
    dropped: dict[str, str] = field(default_factory=dict)


def undeclared(name: str, files: Sequence[Opened], declared: TableDeclaration | None, merge: bool) -> list[str]:
    """The columns of table `name` whose values are texts of no declared type, in the order of first sight.

    `merge`: a column that some files lack is NULL there. Raises PipelineError: files that differ, declared columns that no
    file has.
    """
    for file in files:
        _check_names(file)
    names = _names(files)
    spelled: dict[str, str] = {}
    for column in names:
        other = spelled.setdefault(column.lower(), column)
        if other != column:
            raise PipelineError(
                f'the files of table "{name}" differ: a column is "{other}" in some and "{column}" in others; rename one'
            )
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
            raise PipelineError(
                f'column "{declaration.name}" of table {name} is declared, but not there\n{near(declaration.name, names)}'
            )
    known = {key for key, one in wanted.items() if one.type is not None}
    return [
        c for c in names
        if c.lower() not in known and all(file.types[c] is None for file in files if c in file.types)
    ]  # fmt: skip


def resolve(
    name: str, files: Sequence[Opened], declared: TableDeclaration | None, merge: bool, inferred: Mapping[str, DataType]
) -> Resolved:
    """The columns of table `name`, in the order of first sight; `inferred`: the types of those that are `undeclared`.

    `merge`: stored number types that differ meet in one that holds both. Raises PipelineError: columns whose values are of
    another kind than declared or differ between files, no column at all.
    """
    wanted = _wanted(declared)
    required = {column.lower() for column in declared.primary_key} if declared is not None else set()
    targets: list[Target] = []
    dropped: dict[str, str] = {}
    for column in _names(files):
        declaration = wanted.get(column.lower())
        type, reason = _type(name, column, files, declaration, merge, inferred)
        if type is None:
            dropped[column] = reason
        else:
            not_null = declaration is not None and (declaration.not_null or column.lower() in required)
            targets.append(Target(column, type, not_null))
    if not targets:
        kinds = ", ".join(f"{column}: {reason}" for column, reason in dropped.items())
        raise PipelineError(f'table "{name}" ({files[0].label}) has no column to import: {kinds or "it has none at all"}')
    return Resolved(tuple(targets), dropped)


def _names(files: Sequence[Opened]) -> list[str]:
    return list(dict.fromkeys(column for file in files for column in file.types))


def _wanted(declared: TableDeclaration | None) -> dict[str, ColumnDeclaration]:
    return {column.name.lower(): column for column in declared.columns} if declared is not None else {}


def _check_names(file: Opened) -> None:
    spelled: dict[str, str] = {}
    for name in file.types:
        other = spelled.setdefault(name.lower(), name)
        if other != name:
            raise PipelineError(f'{file.label} has columns "{other}" and "{name}", the same to SQL; rename all but one of them')


def _type(
    table: str,
    column: str,
    files: Sequence[Opened],
    declared: ColumnDeclaration | None,
    merge: bool,
    inferred: Mapping[str, DataType],
) -> tuple[DataType | None, str]:
    """The canonical type of a column, or None and why it is dropped."""
    if declared is not None and declared.type is None:
        return None, f"declared as {declared.sql_type}, which planscope lacks"
    having = [file for file in files if column in file.types]
    stored = [(file.label, type) for file in having if (type := file.types[column]) is not None]
    if not stored:
        hint = next((file.hints[column] for file in having if column in file.hints), None)
        if hint is not None and pa.types.is_nested(hint):
            return None, "has objects or arrays in it, which planscope lacks"
        return declared.type if declared is not None else inferred[column], ""
    if declared is not None and declared.type is not None:
        return _declared_type(table, column, stored, declared)
    return _stored_type(table, column, stored, merge)


def _declared_type(
    table: str, column: str, stored: Sequence[tuple[str, DataType]], declared: ColumnDeclaration
) -> tuple[DataType | None, str]:
    type = declared.type
    assert type is not None
    for file, found in stored:
        if read_type(found) is None:
            return None, f"is {_short(found)}, which planscope lacks"
        if not can_become(found, type):
            raise PipelineError(
                f"{table}.{column} is declared as {declared.sql_type}, but {file} holds {_short(found)}\ncorrect the declaration"
            )
    return type, ""


def _stored_type(table: str, column: str, stored: Sequence[tuple[str, DataType]], merge: bool) -> tuple[DataType | None, str]:
    types = [(file, found, _canonical(found)) for file, found in stored]
    lacking = next((found for _, found, type in types if type is None), None)
    if lacking is not None:
        return None, f"is {_short(lacking)}, which planscope lacks"
    first, type, meeting = types[0][0], types[0][2], types[0][2]
    for file, found, other in types[1:]:
        if other == type or pa.types.is_null(found):
            continue
        if pa.types.is_null(types[0][1]):
            first, type, meeting = file, other, other
            continue
        meeting = _meeting(meeting, other) if merge else None
        if meeting is None:
            here, there = f"{type_name(type)} in {first}", f"{type_name(other)} in {file}"
            raise PipelineError(
                f'the files of table "{table}" differ: column "{column}" is {here} and {there}\n'
                + ("declare its type in schema.sql" if merge else "declare its type in schema.sql, or try --merge-schema")
            )
    return meeting, ""


def _canonical(stored: DataType) -> DataType | None:
    if read_type(stored) is None:
        return None
    return pa.timestamp("us") if pa.types.is_timestamp(stored) else canonical_type(stored)


def _meeting(one: DataType, other: DataType) -> DataType | None:
    """The type that holds the values of two number types exactly, or nearly as a DOUBLE; None for other types."""
    kinds = pa.types
    if one == other:
        return one
    if kinds.is_integer(one) and kinds.is_integer(other):
        return one if one.bit_width > other.bit_width else other
    numbers = (kinds.is_integer, kinds.is_floating, kinds.is_decimal)
    if not all(any(test(type) for test in numbers) for type in (one, other)):
        return None
    if kinds.is_floating(one) or kinds.is_floating(other):
        return pa.float64()
    (left, a), (right, b) = (_digits(one), _digits(other))
    return pa.decimal128(max(left, right) + max(a, b), max(a, b)) if max(left, right) + max(a, b) <= 38 else None


def _digits(type: DataType) -> tuple[int, int]:
    """Digits before and after the point."""
    if pa.types.is_decimal(type):
        return type.precision - type.scale, type.scale
    return {8: 3, 16: 5, 32: 10}.get(type.bit_width, 19), 0


def _short(type: DataType) -> str:
    text = str(type)
    return text if len(text) <= 60 else f"{text[:59]}…"
