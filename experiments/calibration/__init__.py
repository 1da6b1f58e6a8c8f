"""Fitting the coefficients of the cost model `arrow` to a machine: what `planscope calibrate` does.

In: this machine. Out: coefficients with the quality of their fit. Read `data` (synthetic tables), `cases` (queries that
exercise each operator), `recost` (what a plan that was run should have cost, in any model, and how often each coefficient
counts in it), `measure`, `nnls` (least squares without negative values), `fit`, `run`.
"""
