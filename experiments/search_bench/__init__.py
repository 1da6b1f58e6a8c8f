"""What `planscope bench search` measures with: rates, bytes and the price of a trace.

Read `settings` (which searches are compared), `stages` (a query cut before its search), then `rates`, `memory` and `tracing`,
each a measure of one search of one query: rows with `figure`, `value` and `unit`, and where there are such what the value should
be at most (`target`) and a `note`. The experiment is `experiments.bench.search`.
"""
