"""The heuristic pre-pass: rewrites that are always at least as good, applied before there is a memo.

In: the bound tree. Out: a normalized tree: predicates at the lowest place, only needed columns, no cross product that the
predicates can avoid. `hep` runs a program, `program` is the program, `rules/` holds one rewrite a file.
"""
