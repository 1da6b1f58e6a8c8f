"""A bound query: what the SQL front end hands on."""

from typing import NamedTuple

from optimizer.algebra.columns import ColumnId, Columns
from optimizer.algebra.traits import Collation
from optimizer.algebra.trees import Tree


class OutputColumn(NamedTuple):
    """Result column `name` (as the user sees it, repeats allowed) is column `id` of the tree's root."""

    name: str
    id: ColumnId


class BoundQuery(NamedTuple):
    """`tree` produces at least the `outputs` and the columns of `order`, the order required of the result."""

    tree: Tree
    columns: Columns
    outputs: tuple[OutputColumn, ...]
    order: Collation
