"""SQL text to a bound logical tree: the only place that imports sqlglot.

In: the text and a catalog. Out: a `BoundQuery`; or `SqlError` with a caret, or `Unsupported` naming the form.

    from optimizer.sql.bind import bind
    query = bind("select count(*) from lineitem", catalog)

Read in this order: `parse` (text to AST) with `tokens`, `source` (positions, errors, the guard against unhandled AST parts),
`bind` (the way in), `context` (what is carried along), `query` (WITH, parentheses), `select` with `stars`, `grouping`,
`ordering` and `names` (of results), `from_clause`, `stored` (which columns of a table a text can mean), `joins`, `values`,
`scope` (which column a name means), `set_operations`; then expressions: `expressions` (dispatch), `coerce` and `literals`
(where types meet), `casts`, `arithmetic`, `comparisons`, `rows`, `conditionals`, `dates`, `calls`, `aggregates`, and
`subqueries` with `same_subquery`. Apart from all this, `schema` reads a dataset's schema.sql.
"""
