"""Cost models: what a physical operator costs, and what no plan of a group can undercut.

In: estimated rows and traits. Out: numbers the search adds up. `model` is the interface, `arrow` and `c_out` are models.
"""
