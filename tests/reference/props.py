"""Whether the logical properties derived for a tree are true of its rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimizer.algebra import ColumnId, LogicalProps, column_ids
from optimizer.algebra.evaluate_order import group_key


def assert_props_hold(name: str, props: LogicalProps, rows: Sequence[Mapping[ColumnId, Any]]) -> None:
    """Columns, NOT NULL, keys (NULL as a value), constants, equivalences and dependencies; `name` says whose they are."""
    columns = set(column_ids(props.columns))
    for row in rows:
        assert set(row) == columns, f"{name} produces columns {sorted(row)}, its properties say {sorted(columns)}"
        null = [c for c in column_ids(props.not_null) if row[c] is None]
        assert not null, f"{name}: columns {null} are NULL in {row}, its properties say NOT NULL"
        for members in props.equivalences:
            values = {group_key(row[c]) for c in column_ids(members)}
            assert len(values) == 1, f"{name}: columns {list(column_ids(members))} differ in {row}, its properties say equal"
    for column in column_ids(props.constants):
        values = {group_key(row[column]) for row in rows}
        assert len(values) <= 1, f"{name}: column {column} has values {values}, its properties say constant"
    for key in props.keys:
        found = [tuple(group_key(row[c]) for c in column_ids(key)) for row in rows]
        assert len(set(found)) == len(found), f"{name}: key {list(column_ids(key))} repeats in {found}"
    for determinant, dependent, nulls in props.dependencies:
        follows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for row in rows:
            if all(row[c] is None for c in column_ids(determinant)):
                told = [c for c in column_ids(nulls) if row[c] is not None]
                assert not told, f"{name}: columns {told} are not NULL in {row}, though {list(column_ids(determinant))} are"
            given = tuple(group_key(row[c]) for c in column_ids(determinant))
            got = tuple(group_key(row[c]) for c in column_ids(dependent))
            assert follows.setdefault(given, got) == got, (
                f"{name}: columns {list(column_ids(determinant))} = {given} come with {list(column_ids(dependent))} = "
                f"{follows[given]} and {got}, its properties say one determines the other"
            )
