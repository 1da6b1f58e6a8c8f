"""The heuristic pre-pass: rewrites that are always at least as good, applied before there is a memo.

In: the tree without subqueries. Out: a normalized one: predicates at the lowest place, only needed columns, no cross product that
the predicates can avoid. `instructions` says what a program is, `program` is the default one, `rules/` holds one rewrite a file;
`hep` carries programs out, by way of `passes`, `run` and `dag`, and tells in a `report` what fired.
"""
