"""Sweeps: many queries under many settings, planned and perhaps executed, one row of figures each.

In: `spec`, what the user asks. `plan_sweep` makes it a `plan`, every item numbered. `run` has the items without a row measured by
the runner of experiments (experiments/bench), on Spark; `measure` makes a row. Out: the folder of the run.
"""
