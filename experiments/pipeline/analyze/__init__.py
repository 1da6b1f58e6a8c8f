"""Statistics of a dataset: sketched in Spark tasks, merged, checked against its declarations, written beside the data.

Read `analyze` (the whole of it), `pieces` (what one task reads, and makes of that), `scan` (the Spark job that sketches and
merges), `keys` (whether keys and foreign keys hold), `table_figures` (what becomes of the sketches).
"""
