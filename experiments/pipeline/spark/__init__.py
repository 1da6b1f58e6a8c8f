"""What the pipeline needs of Spark, and of a folder that several processes may work on.

Read `session` (on this machine, a cluster or a server), `tasks` (a function on many tasks), `worker` (its other end), `errors`
(what Spark's failures mean), `java`; then `publish` (a dataset appears whole), `manifest` (what a stage did) and `lock`
(one process at a time).
"""
