"""Rare forms that stand in a scalar or a tree, as bits: those that have none of a form need not be looked through for it."""

from __future__ import annotations

AGGREGATE, SUBQUERY, WINDOW, GROUPING = 1, 2, 4, 8  # of scalars
REFERENCE, APPLY, OUTER_JOIN, CROSS_PRODUCT, MARK, CHOICE = 16, 32, 64, 128, 256, 512  # of trees; subqueries have the first
