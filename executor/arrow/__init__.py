"""The Arrow executors: a physical plan in, a stream of Arrow record batches out.

In: a `PlanNode` of the Arrow engine, the query's `Columns`, a `TableSource` per scanned table. Out: record batches with
exactly the columns `node.columns`, ascending by id, column 12 under the name "c12". Nothing else of planscope is known
here but `optimizer.algebra` and the error classes.

A plan is cut into pipelines. A pipeline reads one source and sends each batch through the stages above it (filter,
project, the probe side of joins) on a pool of threads, in order; a stage sees one batch at a time and knows no other.
Sources are scans and the operators that hold rows back: sorts, aggregates, merge joins, set operations. Batches are
pulled, never pushed: a consumer that stops reading stops everything below it, and nothing is read ahead beyond a few
batches or row groups. A build side of a join that is done filters the scans below the probe side
(`runtime_filters`). No operator loops over rows in Python, but for an Apply, aggregates for which Arrow
has no kernel, and DISTINCT ones over window frames with EXCLUDE.

Why joins are not Acero's: measured on this engine's workloads, a vectorized index in NumPy joins as fast on two threads
(dense integer keys several times faster), while Acero's streaming sources have no back pressure (a LIMIT above would
still read the whole probe side into memory), lose the order of the probe side, and cannot count rows between operators.
Acero and Arrow's kernels do the rest: decoding, grouping, sorting, all expressions.

Read in this order: `run` (plan to pipelines), `pipeline`, `context`, `counters`, `watch`, `batches`, `failures`, `memory`;
`expressions` with `comparisons`, `arithmetic`, `decimals`, `decimal_trees`, `casts`, `strings`, `dates`, `days`, `spans`,
`intervals`, `distinct`; the operators without memory `scan`, `parquet_rows`, `selection`, `constant_rows`, `filter_rows`,
`project_rows`, `limit_rows`, `union_all`, `own_operators`; the joins `key_words`, `key_places`, `key_index`, `join_pairs`,
`marks`, `key_filter`, `runtime_filters`, `hash_join`, `merge_join`, `narrow_pairs`, `nested_loop_join`, `counted_rows`; what
runs more than once `parameters`, `kept_rows`, `rerun`, `nested_apply`, `lookup_rows`, `range_lookup`, `recurse`, and `spools`;
the breakers `aggregates` with `grouping`, `place_groups`, `key_parts`, `kept_aggregates`, `segments`, `moments`, `quantiles`,
`picked`, `encoded_texts`; `hash_aggregate`, `hash_grouping_sets`, `whole_groups`, `streaming_aggregate`, `ordering`, `sort`,
`partial_sort`, `top_k`, `merge_union`, `hash_set_op`; windows: `window_rows`, `window_layout`, `window_frames`,
`window_ranges`, `window_values`, `window_aggregates`, `window_sums`, `window_scans`.
"""
