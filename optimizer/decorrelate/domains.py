"""The domains that a method makes of left inputs, and how much of those it copies.

A left input may hold such copies itself, so that each of many Applies one above another would double the tree.
"""

from optimizer.algebra.columns import ColumnId, Columns, ColumnSet
from optimizer.algebra.domain import domain
from optimizer.algebra.trees import Tree, postorder
from optimizer.decorrelate.stays import Stays

MOST_COPIED = 1_000  # operators


class Domains:
    """`made`: how many."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.made = 0
        self._copied = 0

    def of(self, left: Tree, needed: ColumnSet, exact: bool) -> tuple[Tree, dict[ColumnId, ColumnId]]:
        """`domain`; raises Stays where too much has been copied."""
        found = domain(left, needed, self.columns, exact)
        self.made += 1
        self._copied += len(list(postorder(found[0])))
        if self._copied > MOST_COPIED:
            raise Stays("its left input, to be copied for a domain, is large by such copies")
        return found
