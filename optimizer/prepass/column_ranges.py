"""Between which values those of a column lie: found where the column is made, below an operator."""

from collections.abc import Sequence
from functools import reduce

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.logical import Aggregate, GroupingSets, Project, Scan, SetOp, Values, Window
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.series import Series
from optimizer.algebra.spools import CteReference
from optimizer.algebra.trees import Node, Tree
from optimizer.algebra.value_ranges import Range, Ranges, united
from optimizer.rules.interface import RuleContext

DEPTH = 30  # columns made of columns made of columns ... that are followed


class ColumnRanges:
    """The ranges of the columns that some trees give."""

    def __init__(self, trees: Sequence[Node], context: RuleContext, depth: int = DEPTH) -> None:
        self.trees, self.context, self.depth = trees, context, depth
        self._found: dict[ColumnId, Range | None] = {}
        self._below: dict[tuple[Node, ...], Ranges] = {}

    def __call__(self, id: ColumnId) -> Range | None:
        if id not in self._found:
            self._found[id] = self._made(id, self.trees) if self.depth else None
        return self._found[id]

    def _made(self, id: ColumnId, trees: Sequence[Node]) -> Range | None:
        """Follows the column through operators that pass it on to the one that makes it."""
        while (tree := next((each for each in trees if each.columns >> id & 1), None)) is not None and isinstance(tree, Tree):
            trees = tree.inputs
            match tree.op:
                case Scan(table=table, columns=columns):
                    bounds = self.context.bounds
                    found = bounds(table, dict(columns)[id]) if bounds is not None else None
                    return None if found is None else Range(*found)
                case CteReference(spool=spool, columns=columns):
                    id, trees = dict(columns)[id], [held] if (held := self.context.spools.get(spool)) is not None else ()
                case Project(items=items) if id in (values := dict(items)):
                    return self._of([values[id]], trees)
                case Values(columns=columns, rows=rows):
                    ends = (rows[0], rows[-1]) if rows and isinstance(rows, Series) else rows
                    return self._of([row[columns.index(id)] for row in ends], ())
                case Aggregate(aggregates=items) | GroupingSets(aggregates=items) | Window(items=items) if id in dict(items):
                    return self._of([dict(items)[id]], trees)
                case GroupingSets(keys=keys) if id in dict(keys):
                    id = dict(keys)[id]
                case SetOp(columns=columns, sources=sources):
                    place = columns.index(id)
                    parts = [self._made(source[place], (each,)) for source, each in zip(sources, trees, strict=True)]
                    return reduce(united, parts)
        return None

    def _of(self, scalars: Sequence[Scalar], trees: Sequence[Node]) -> Range | None:
        """Of a column that has the value of one of these scalars over trees."""
        below = tuple(trees)
        if below not in self._below:
            self._below[below] = Ranges(ColumnRanges(trees, self.context, self.depth - 1))
        return self._below[below].of_any(scalars)
