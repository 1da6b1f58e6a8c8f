"""The typed relational algebra: data and checks, no search.

In: nothing of planscope. Out: what every other part speaks.
Read in this order: `columns` (a column is an id, a column set an int), `types` (Arrow types), `functions` (what a call
may name), `scalars`, `logical` and `physical` (operators), `trees` (operator plus inputs), `props` (what holds of every
row a tree produces), `traits` (physical properties), `plan` (the chosen physical plan), `printing`.
"""
