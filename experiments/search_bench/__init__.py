"""The speed of the search: what `planscope bench search` and `make bench-search` measure.

In: nothing but the built-in workloads. Out: rows and figures, as tables and as files. A benchmark, not a test: it fails when
two ways of searching disagree on a cost, never because a machine is slow.

Read `settings` (which searches are compared), `clock` (how time is taken), then a part each: `graphs`, `rates`, `job` with
`duckdb_plans`, `memory`, `tracing`; `report` has the tables and the files.
"""
