"""The keys and foreign keys of the tables at hand, checked one after the other; what cannot hold is left out, with the reason.

Keys come first. Then foreign keys: rows that refer to no row are counted or, if so wished, removed; since other rows may
have referred to those, that goes on until no foreign key loses a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.intake.keys import RawTable, first_place, write_dangling, write_duplicates
from experiments.pipeline.intake.target import Declared, Reference, Target
from experiments.pipeline.spark.errors import PipelineError
from optimizer.catalog.declarations import ForeignKeyDeclaration, TableDeclaration
from optimizer.catalog.types import type_family

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def declared_tables(
    targets: Mapping[str, tuple[Target, ...]], declarations: Mapping[str, TableDeclaration]
) -> dict[str, Declared]:
    """By table name: the constraints whose columns and tables are there. Raises PipelineError for ill-formed foreign keys."""
    spelled = {name.lower(): name for name in targets}
    result: dict[str, Declared] = {}
    for name, columns in targets.items():
        declaration = declarations.get(name.lower())
        if declaration is None:
            result[name] = Declared(name, columns)
            continue
        left_out: list[str] = []
        keys = []
        for key in [declaration.primary_key, *declaration.unique]:
            found = _names(columns, key)
            if found is None:
                left_out.append(f"key ({', '.join(key)}): not all of its columns are imported")
            keys.append(found or ())
        references = []
        for foreign in declaration.foreign_keys:
            reference = _reference(name, foreign, targets, spelled, declarations, left_out)
            references += [reference] if reference is not None else []
        unique = tuple(key for key in keys[1:] if key and key != keys[0])
        result[name] = Declared(name, columns, keys[0], unique, tuple(references), tuple(left_out))
    return result


def _reference(
    name: str,
    foreign: ForeignKeyDeclaration,
    targets: Mapping[str, tuple[Target, ...]],
    spelled: Mapping[str, str],
    declarations: Mapping[str, TableDeclaration],
    left_out: list[str],
) -> Reference | None:
    shown = f"foreign key ({', '.join(foreign.columns)}) of {name}"
    parent = spelled.get(foreign.table.lower())
    if parent is None:
        left_out.append(f"{shown}: table {foreign.table} is not imported with it")
        return None
    other = declarations.get(parent.lower())
    referenced = foreign.referenced or (other.primary_key if other is not None else ())
    if len(referenced) != len(foreign.columns):
        raise PipelineError(f"{shown} refers to {len(referenced)} columns of {parent}, not {len(foreign.columns)}")
    here, there = _names(targets[name], foreign.columns), _names(targets[parent], referenced)
    if here is None or there is None:
        left_out.append(f"{shown}: not all of its columns are imported")
        return None
    for a, b in zip(here, there, strict=True):
        mine, theirs = (next(t.type for t in targets[table] if t.name == c) for table, c in ((name, a), (parent, b)))
        if type_family(mine) != type_family(theirs) and {type_family(mine), type_family(theirs)} != {"integer", "decimal"}:
            raise PipelineError(f"{shown}: {a} is {mine}, but {parent}.{b} is {theirs}")
    return Reference(here, parent, there)


def _names(columns: Sequence[Target], wanted: Sequence[str]) -> tuple[str, ...] | None:
    spelled = {column.name.lower(): column.name for column in columns}
    return tuple(spelled[name.lower()] for name in wanted) if all(name.lower() in spelled for name in wanted) else None


def check_constraints(
    spark: SparkSession,
    tables: Mapping[str, Declared],
    raw: Mapping[str, RawTable],
    folder: Path,
    reject_dangling: bool,
    progress: Callable[[str], None],
) -> dict[str, dict[str, Any]]:
    """By table: {"removed": [{"folder", "reason", "column", "rows"}], "dangling": [{"key", "rows", "first"}]}.

    What is found goes into new folders in `folder`. `removed` in the order of the checks; `column`: names joined by NUL;
    `first`: (part, place) of the first dangling row.
    """
    found: dict[str, dict[str, Any]] = {name: {"removed": [], "dangling": []} for name in tables}
    numbers = count()
    for name, table in tables.items():
        for key in filter(None, (table.primary_key, *table.unique)):
            progress(f"{name}: checking key ({', '.join(key)})")
            target = folder / str(next(numbers))
            rows = write_duplicates(spark, raw[name], key, target)
            if rows:
                _remove(found[name], raw[name], target, "a row before it has the same key", key, rows)
    lost = True
    while lost:
        lost = False
        for name, table in tables.items():
            for reference in table.references:
                progress(f"{name}: checking foreign key {reference.text()}")
                target = folder / str(next(numbers))
                parent = raw[reference.table]
                rows = write_dangling(spark, raw[name], reference.columns, parent, reference.referenced, target)
                if rows and reject_dangling:
                    lost = True
                    _remove(found[name], raw[name], target, f"refers to no row of {reference.table}", reference.columns, rows)
                elif rows:
                    found[name]["dangling"].append({"key": reference.text(), "rows": rows, "first": first_place(target)})
    return found


def _remove(found: dict[str, Any], raw: RawTable, folder: Path, reason: str, columns: Sequence[str], rows: int) -> None:
    raw.removed.append(folder)
    found["removed"].append({"folder": str(folder), "reason": reason, "column": "\0".join(columns), "rows": rows})
