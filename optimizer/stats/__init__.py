"""Cardinality: how many rows an expression gives, before anything runs.

In: the catalog's statistics. Out: `RelationStats` for every group. `relation` is the data, `selectivity` estimates
predicates, `estimator` and, for joins, `join_estimator` combine them per operator; estimates belong to a set of relations with
its predicates, never to one expression, so every expression of a group gets the same.
"""
