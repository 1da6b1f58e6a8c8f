"""Runs a plan on Spark: the operators of one machine in the tasks of a cluster, and rows that move between these.

    plan --placing--> plan with exchanges --stages--> stages --engine--> a DataFrame, one Spark job --> rows

Spark splits, shuffles, schedules and repeats what died; what a task does with its rows is `executor.arrow`'s, so that a query
gives the same rows on either engine. Joins, their order and their algorithms are the plan's; `placing` adds where rows have to
move, at the least cost. Read `places` (where rows may lie), `placing`, `operators` (what it adds to plans), `stages`, `task`
(what a worker runs), `moving` (rows on their way), `engine`.
"""
