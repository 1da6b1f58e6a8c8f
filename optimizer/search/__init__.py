"""The search: a stack of tasks that fills the memo, costs it and leaves a winner for every goal it had to settle.

In: a normalized tree, required traits, rules, an estimator, a cost model. Out: the root goal with its winner.
Read `search` (driver and shared state), then `tasks/` in the order explore_input, optimize_mexpr, apply_rules, apply_rule,
derive_traits, optimize_group, optimize_inputs, group_optimized; `group_ways` and `region_ways` (where ways come from), `forms`
(what need not be searched), `extract`.
"""
