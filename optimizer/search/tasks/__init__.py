"""The tasks of the search: one step each, popped from one stack."""
