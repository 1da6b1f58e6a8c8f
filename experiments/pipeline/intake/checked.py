"""Values of the right types, or the reason why a row has none: what Spark is to compute of opened files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from experiments.pipeline.intake.opened import Opened, batches, union
from experiments.pipeline.intake.values import NO_TEXT, converted, literal, possible, quoted, trimmed, type_of
from optimizer.algebra.columns import DataType
from optimizer.algebra.types import type_name
from optimizer.catalog.declarations import ColumnDeclaration


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


def checked(file: Opened, targets: Sequence[ColumnDeclaration]) -> DataFrame:
    """`c0`, `c1` …: the targets' values of all rows; `reason`, NULL for good rows, `column`, `value`, `record`; `file`.

    Bytes that are no text are a mark in `value` and `record`."""
    stored = [file.types.get(target.name) for target in targets]
    both = list(enumerate(zip(targets, stored, strict=True)))
    values = [f"{converted(f'v{i}', type, target.type)} AS c{i}" for i, (target, type) in both]
    frame = file.rows([target.name for target in targets]).selectExpr("*", *values)
    faults = [f"WHEN _broken IS NOT NULL THEN struct(_broken AS reason, {literal(None)} AS column, {literal(None)} AS value)"]
    record = []
    for i, (target, type) in both:
        shown = f"lower(hex(v{i}))" if type is not None and pa.types.is_binary(type) else f"CAST(v{i} AS string)"
        record.append(f"{shown} AS {quoted(target.name)}")
        conditions = [(f"v{i} IS NOT NULL AND c{i} IS NULL", f"not a {type_name(target.type)}")]
        if (file.marked and type is None) or (type is not None and pa.types.is_string(type)):
            conditions.insert(0, (f"contains(v{i}, '\ufffd')" if type is None else f"NOT is_valid_utf8(v{i})", NO_TEXT))
        if target.not_null:
            conditions.append((f"c{i} IS NULL", "NULL, which is forbidden here"))
        for condition, reason in conditions:
            told = f"{literal(reason)} AS reason, {literal(target.name)} AS column, {shown} AS value"
            faults.append(f"WHEN {condition} THEN struct({told})")
    line = f"coalesce(_line, to_json(struct({', '.join(record)}), map('ignoreNullFields', 'false')))"
    return frame.selectExpr("*", f"CASE {' '.join(faults)} END AS fault").selectExpr(
        *(f"c{i}" for i in range(len(targets))),
        "fault.reason",
        "fault.column",
        "make_valid_utf8(fault.value) AS value",
        f"make_valid_utf8(CASE WHEN fault IS NOT NULL THEN {line} END) AS record",
        f"{literal(file.label)} AS file",
    )
