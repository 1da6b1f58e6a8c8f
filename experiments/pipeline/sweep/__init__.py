"""Sweeps: many queries under many settings, planned and perhaps executed in Spark tasks, one row of figures each.

In: `spec`, what the user asks. `plan_sweep` makes it a `plan`, every item numbered. `run` has the chunks of it made by Spark
(`chunk`); there a `keeper` runs the items in a `child` process, where `measure` makes the rows. Out: `results`.
"""
