"""Enforcers: operators that only add a trait, used as moves from a goal to a weaker goal of the same group."""
