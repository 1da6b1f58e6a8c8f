"""Mergeable summaries of columns: a batch of rows in, what `optimizer.catalog` wants to know of a column out.

Read `counts` (distinct values of a batch, all else is made of them), the summaries `hyperloglog`, `frequent` and `ranks`, then
`column` (all of them together), `figures` (what they say) and `stored` (as bytes).
"""
