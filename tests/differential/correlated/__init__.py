"""Correlated subqueries, executed: DuckDB = naive evaluation of the bound tree = every decorrelation method.

tables.py       the small tables, several datasets of them
engines.py      one dataset under all engines, and when they agree
pitfalls.cases  the table of traps D1 to D25, each with its queries; named_bugs.cases: rewritings known to be wrong
matrix.py       the truth table of every subquery form, written down independently
generator.py    random correlated queries
"""
