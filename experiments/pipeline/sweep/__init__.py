"""Sweeps: many queries under many settings, planned and perhaps executed in Spark tasks, one row of figures each.

In: `spec`, what the user asks. `plan_sweep` makes it a `plan`, every item numbered. `run` has the items without a row made by
Spark (`task`); there a `keeper` runs them in a `child` process, where `measure` makes the rows. Out: `results`.
"""
