"""What subquery removal and decorrelation did, step by step, for people to follow."""

from __future__ import annotations

from typing import NamedTuple

from optimizer.algebra.columns import Columns, ColumnSet, column_ids
from optimizer.algebra.trees import Tree


class Step(NamedTuple):
    """`rule` replaced the subtree `before` by `after`; `note`: the free columns, the domain, the cover, or why an apply stays."""

    rule: str
    note: str
    before: Tree
    after: Tree


def named(columns: Columns, ids: ColumnSet) -> str:
    """A set of columns in words."""
    return ", ".join(columns.label(id) for id in column_ids(ids)) or "none"
