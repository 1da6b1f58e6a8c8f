"""What the readers of a spool need of it: columns, and rows.

    W(S [A], … σp(S) … σq(S) …)  ≡  W(S [σp∨q(A)], … σp(S) … σq(S) …)        p, q: the filters right above all readers of S

A row that no reader keeps need not be computed. The filters stay where they are.

Kinds   any; a reader's filter is of its own rows, below whatever join it stands in
NULLs   safe: a filter keeps a row for which it is TRUE, and then p ∨ q is TRUE
Rows    what each reader keeps is the same bag
Guards  every reader has a filter; of it counts what reads columns of the spool only, is not volatile and cannot raise. Not where
        several are long together: each of many spools above each other might double them
Source  El-Helw, Raghavan, Soliman et al., Optimization of Common Table Expressions in MPP Database Systems, VLDB 2015
"""

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set
from optimizer.algebra.ctes import references
from optimizer.algebra.logical import Filter
from optimizer.algebra.predicates import conjunction, junction, predicate_scalar
from optimizer.algebra.rebuild import renamed_scalar
from optimizer.algebra.scalars import Predicate, Scalar
from optimizer.algebra.spools import CteReference
from optimizer.algebra.trees import Tree, postorder
from optimizer.prepass.movable import is_long


class Readers:
    """What those parts of a query that were looked at read of its spools."""

    def __init__(self) -> None:
        self._columns: dict[int, ColumnSet] = {}
        self._filters: dict[int, dict[Scalar, None]] = {}
        self._whole: set[int] = set()  # spools of which somebody reads all rows

    def add(self, part: Tree) -> None:
        if not part.has_reference:
            return
        for reference in references(part):
            read = column_set(column.source for column in reference.columns)
            self._columns[reference.spool] = self._columns.get(reference.spool, 0) | read
        if isinstance(part.op, CteReference):
            self._whole.add(part.op.spool)
        for node in postorder(part):  # a reference may have several readers, one of them without a filter
            for child in node.inputs:
                if isinstance(child, Tree) and isinstance(child.op, CteReference):
                    kept = _of_spool(node.op.predicate, child.op) if isinstance(node.op, Filter) else ()
                    if kept:
                        self._filters.setdefault(child.op.spool, {})[predicate_scalar(kept)] = None
                    else:
                        self._whole.add(child.op.spool)

    def columns(self, spool: int) -> list[ColumnId] | None:
        """The columns of a spool that somebody reads, None where nobody reads it."""
        return list(column_ids(self._columns[spool])) if spool in self._columns else None

    def filter(self, spool: int) -> Predicate:
        """TRUE for every row of a spool that some reader keeps, in the spool's columns; empty where all rows are read."""
        different = list(self._filters.get(spool, ()))
        if spool in self._whole or not different or (len(different) > 1 and is_long(different)):
            return ()
        return conjunction([junction("or", different)])


def _of_spool(predicate: Predicate, reference: CteReference) -> Predicate:
    """The conjuncts that can be tested on the rows of the spool, in its columns."""
    sources = {column.id: column.source for column in reference.columns}
    return conjunction(renamed_scalar(s, sources) for s in predicate if not (s.outer or s.volatile or s.raises))
