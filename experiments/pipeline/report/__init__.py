"""The results of a sweep, summed up: tables (`aggregate`) and figures (`figures`), written by `report`.

In: the Parquet files of one run (experiments/pipeline/sweep). Out: files that are the same for the same results.
"""
