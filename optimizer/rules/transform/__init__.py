"""Transformation rules: logical expressions equivalent to a binding; both stay in the group."""
