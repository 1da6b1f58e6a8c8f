"""Exact numbers of rows, found with as little work as they need.

In: a logical tree. Out: how many rows it gives. `factor` multiplies per-key counts instead of making joined rows, `region`
turns an inner join into factors, `counter` runs what has no such form, `kept` remembers counts on disk.
"""
