"""Scripts of other databases' tests, run by planscope and compared with DuckDB and with what the scripts expect.

    FOLDER/**/*.test, *.iq  --read-->  steps  --run-->  verdicts  --write-->  a table of what does not pass

Read in this order: `steps` (what a script is), `sqllogictest` and `iq` (the two formats), `database` (the script's tables
in DuckDB and as a planscope dataset), `ranges` (table functions as tables), `printed` (rows as a script writes them), `ties`
(what ORDER BY and LIMIT leave open), `judge` (one query), `suite` (a folder).

    python -m tests.differential.scripts FOLDER [--set name=value] [--table FILE]
"""
