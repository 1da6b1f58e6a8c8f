"""From subqueries to joins: subquery removal (scalars become Apply), and decorrelation (Apply becomes a join)."""
