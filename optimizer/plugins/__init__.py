"""Rules, operators, cost models and estimators from files outside the project.

In: files that the setting `plugins` names. Out: a `Registry` of what they bring, which an `Optimizer` adds to its own. Read
`registry` (what can be brought, and how it says so), then `load` (from a file to a registry).
"""
