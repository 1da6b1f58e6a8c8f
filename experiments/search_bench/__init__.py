"""What `planscope bench search` measures with: rates, bytes and the price of a trace.

Read `settings` (which searches are compared), `clock` (how time is taken), `stages` (a query cut before its search), then
`rates`, `memory` and `tracing`, each a measure of one search of one query. The experiment is `experiments.bench.search`.
"""
