"""A query expression: SELECT, a set operation, VALUES or one of these in parentheses, with its WITH, ORDER BY and LIMIT."""

from typing import Any

from sqlglot import exp

from optimizer.sql.context import Bound, Context, Ctes
from optimizer.sql.ctes import refers_to
from optimizer.sql.instead import PIVOTS
from optimizer.sql.ordering import limited, order_by_outputs
from optimizer.sql.select import bind_select
from optimizer.sql.set_operations import bind_set_operation
from optimizer.sql.values import bind_values


def bind_query(context: Context, node: Any, ctes: Ctes | None, derived: bool = False) -> Bound:
    """The tree of a query. ORDER BY at its end is `Bound.order`; with LIMIT it is part of the tree as well.

    With `derived`, outer parentheses may have an alias, which the caller has seen to.
    """
    context.enter(node)
    outer: list[Any] = []  # parentheses with clauses of their own, outermost first
    while isinstance(node, exp.Subquery):
        context.source.only(node, "this", "with_", "order", "limit", "offset", *(("alias", "joins") if derived else ()))
        derived = False
        ctes = with_ctes(context, node, ctes)
        if any(node.args.get(k) is not None for k in ("order", "limit", "offset")):
            outer.append(node)
        node = node.this
    ctes = with_ctes(context, node, ctes)
    match node:
        case exp.Select():
            bound = bind_select(context, node, ctes)
        case exp.SetOperation():
            bound = finished(context, node, ctes, bind_set_operation(context, node, ctes))
        case exp.Values():
            bound = finished(context, node, ctes, bind_values(context, node, ctes))
        case exp.Pivot():
            form, hint = PIVOTS[bool(node.args.get("unpivot"))]
            raise context.source.unsupported(form, node, hint, word=form)
        case _:
            raise context.source.unsupported(f"{node.key.upper()} as a query", node, "write SELECT * FROM ...")
    for clauses in reversed(outer):
        bound = finished(context, clauses, ctes, bound)
    return bound


def finished(context: Context, node: Any, ctes: Ctes | None, bound: Bound) -> Bound:
    """ORDER BY, LIMIT and OFFSET of something that is not a SELECT: they see its output columns, by what its parts write too."""
    order_clause = node.args.get("order")
    return limited(context, node, bound if order_clause is None else order_by_outputs(context, order_clause, bound, ctes), ctes)


def with_ctes(context: Context, node: Any, ctes: Ctes | None) -> Ctes | None:
    """The common table expressions in reach inside `node`: its own WITH first. They are bound where they are used."""
    clause = node.args.get("with_")
    if clause is None:
        return ctes
    source = context.source
    source.only(clause, "expressions", "recursive")
    names: set[str] = set()
    for cte in clause.expressions:
        source.only(cte, "this", "alias", "materialized")
        alias = cte.args["alias"]
        source.name(alias.this)
        if not isinstance(cte.this, exp.Query | exp.Values):
            raise source.unsupported(f"{cte.this.key.upper()} as a CTE", cte, "write WITH name AS (SELECT ...)")
        if alias.name.lower() in names:
            raise source.error(f'CTE "{alias.name}" is defined twice', alias.this)
        names.add(alias.name.lower())
        columns, materialized = tuple(alias.args.get("columns") or ()), cte.args.get("materialized")
        recursive = bool(clause.args.get("recursive")) and refers_to(cte.this, alias.name)
        ctes = Ctes(alias.name, cte.this, columns, ctes, context.enclosing, recursive or materialized, recursive)
    return ctes
