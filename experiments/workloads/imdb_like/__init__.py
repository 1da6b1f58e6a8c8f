"""Synthetic rows for the schema of the Join Order Benchmark, so that its queries run and find something.

No row is IMDB's. Rows, NULLs, distinct values, deciles, value lists and keys follow the published statistics
(experiments/workloads/job); texts are made of word lists and of the constants of the 113 built-in queries. Columns are
independent of each other but for texts that go with a type. For each query a few rows satisfy all its conditions together.

Read in this order: `figures` (what is published, at a scale), `ranks` (from row numbers to values with exactly these counts),
`words` and `texts` (from numbers to texts), `infos` (texts that go with a type), `columns` (which column has what), `solve` and
`witnesses` (rows that answer the queries), `tables` (all of it together). experiments/pipeline/generate makes a dataset of it.
"""
