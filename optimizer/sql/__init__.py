"""SQL text to a bound logical tree: the only place that imports sqlglot.

In: the text and a catalog. Out: a `BoundQuery`; or `SqlError` with a caret, or `Unsupported` naming the form.

    from optimizer.sql.bind import bind
    query = bind("select count(*) from lineitem", catalog)

Read in this order: `parse` (text to AST), `source` (positions, errors, the guard against unhandled AST parts), `bind`
(the way in), `query` (WITH, parentheses, ORDER BY, LIMIT), `select`, `from_clause`, `joins`, `scope` (names), `grouping`,
`set_operations`; then expressions: `expressions` (dispatch), `coerce` and `literals` (types meet), `arithmetic`,
`comparisons`, `conditionals`, `dates`, `calls`, `aggregates`; `names` words the result columns.
"""
