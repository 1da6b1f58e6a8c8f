"""Experiments: queries × settings × seeds, measured item by item, as tables and figures for a paper.

In: options of the command line. Out: a folder of results that a killed run goes on with.

    DIR/_items/ID.parquet      the rows of one item, as soon as it is done
    DIR/results.parquet        all rows, once the run ends
    DIR/environment.json       commands, versions, machine: what the results depend on
    DIR/report.html            the report, in one file; tables/ (CSV, LaTeX) and figures/ (SVG, PDF, CSV) beside it
    DIR/_report.txt            the files in those two, which the next report may remove

An experiment is a module of this folder (`experiment.py` says what it has to define) that `registry.py` lists. Read `experiment`,
then `runner` with `child`, `on_spark`, `store` and `results`, then `report` with `figures` and `tables`, `compare`, and `pruning`
for an experiment.
"""
