"""How fast queries run: planscope beside DuckDB and Polars, on the same files with as many threads, in one run.

In: names of queries, a dataset. Out: a row for each query with times, memory and ratios. Read `engines.py` (what an engine is),
`worker.py` (a process that runs one query again and again), `measure.py` (rounds, engines in turn), `report.py`.
"""
