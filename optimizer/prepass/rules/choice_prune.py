"""A choice is narrowed to the columns that are read of it, before its trees are simplified.

    πe(Choice(A, B))  ≡  πe(Choice(A', B'))        A' and B' = A and B without the columns that e, and no operator between, reads

As `column_prune`, but early: columns end at a choice, so what stands in its trees and is read by nobody, as the right side of a
left join, would look as if it were. Scans keep theirs, which another scan of the same row may be needed for.

Kinds, NULLs, rows, guards    those of `column_prune`
"""

from optimizer.algebra.flags import CHOICE
from optimizer.prepass.rules.column_prune import ColumnPrune


class ChoicePrune(ColumnPrune):
    name = "choice_prune"
    scans = False
    openings = CHOICE
