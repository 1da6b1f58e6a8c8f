"""Rare forms that stand in a scalar or a tree, as bits: those that have none of a form need not be looked through for it.

Bits 15 to 23 are in `prepass.openings`.
"""

AGGREGATE, SUBQUERY, WINDOW, GROUPING = 1, 2, 4, 8  # of scalars
REFERENCE, NOT_TRUE = 16, 32  # of scalars and trees: reads a spool, has a literal FALSE or NULL
APPLY, OUTER_JOIN, CROSS_PRODUCT, MARK, CHOICE = 64, 128, 256, 512, 1024  # of trees
RAISES = 1 << 24  # of trees: something may raise for some row or binding; what a group may raise is not known
GROUPED, PROJECTED, LIMITED, LISTED = 2048, 4096, 8192, 16384  # of trees: Aggregate, Project, Limit (also of a scan), Values
