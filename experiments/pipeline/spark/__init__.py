"""What the pipeline needs of Spark, and of a folder that several processes may work on.

Read `session` (on this machine, a cluster or a server), `tasks` (a function on many tasks), `worker` (its other end), `errors`
(what Spark's failures mean), `paths`, `java`; then `make` (a dataset at its place), `publish` (it appears whole) and `manifest`
(what a stage did).
"""
