"""Replay bundles: one zip file with all that planning a query needs, and what came of it.

    bundle.json     what it is: query, settings, program of the pre-pass, versions, environment, the error if there was one
                    and, where the query asks, what now() was
    catalog.json    schema and statistics of the tables that the query reads or their foreign keys name; no rows
    plan.json       the plan that was chosen
    trace.jsonl     every event of the search, without times
    files/…         what settings name: coefficients, injected cardinalities

No member holds a path. Read `bundle` (what is in one, reading and writing), then `replay`, `mask` and `shrink`.
"""
