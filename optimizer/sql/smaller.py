"""Smaller queries: an SQL text without some of its parts, for delta debugging.

Parts are relations of FROM with all that reads their columns, conjuncts of WHERE, HAVING and ON, outputs, keys of GROUP BY and
ORDER BY, limits, DISTINCT, and common table expressions that nothing reads. A smaller text need not make sense.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from sqlglot import exp

from optimizer.catalog.table import Catalog
from optimizer.sql.parse import DIALECT, parse

Removal = Callable[[], None]


def count_parts(sql: str, catalog: Catalog) -> int:
    """How many parts a query has that may be left out. Raises SqlError."""
    tree, _ = parse(sql)
    return sum(1 for _ in _parts(tree, catalog))


def without(sql: str, parts: Collection[int], catalog: Catalog) -> str:
    """The query without the parts of these numbers. Raises SqlError."""
    tree, _ = parse(sql)
    chosen = [remove for number, remove in enumerate(list(_parts(tree, catalog))) if number in parts]
    for remove in chosen:
        remove()
    return str(tree.sql(dialect=DIALECT, comments=False))


def _parts(tree: exp.Expr, catalog: Catalog) -> Iterator[Removal]:
    """What takes each part out. The order is the same each time: outer queries first, relations before what reads them."""
    for select in list(tree.find_all(exp.Select, bfs=True)):
        yield from _relations(select, catalog)
        for name in ("where", "having", "qualify"):
            clause = select.args.get(name)
            if clause is not None:
                yield from _conjuncts(clause)
        for join in select.args.get("joins") or ():
            if isinstance(join.args.get("on"), exp.And):
                yield from _conjuncts(join, "on")
        yield from (_remover(select, each) for each in select.expressions)
        group = select.args.get("group")
        if group is not None:
            yield from (_remover(group, each, select, "group") for each in group.expressions)
        if select.args.get("distinct") is not None:
            yield _setter(select, "distinct")
    for query in list(tree.find_all(exp.Query, bfs=True)):
        order = query.args.get("order")
        if order is not None:
            yield from (_remover(order, each, query, "order") for each in order.expressions)
        yield from (_setter(query, name) for name in ("limit", "offset") if query.args.get(name) is not None)
        with_ = query.args.get("with_")
        if with_ is not None:
            for cte in with_.expressions:
                if not any(t.name.lower() == cte.alias.lower() for t in tree.find_all(exp.Table)):
                    yield _remover(with_, cte, query, "with_")


def _relations(select: exp.Select, catalog: Catalog) -> Iterator[Removal]:
    """Each relation of FROM, with the conjuncts, outputs and keys that read it."""
    clause = select.args.get("from_")
    joins = list(select.args.get("joins") or ())
    if clause is None or not joins:
        return
    for item in [clause.this, *(join.this for join in joins)]:

        def remove(item: exp.Expr = item) -> None:
            own = list(select.args.get("joins") or ())
            place = next((i for i, entry in enumerate([clause, *own]) if entry.this is item), None)
            if place is None or not own:
                return
            left = own.pop(max(place - 1, 0))
            if place == 0:  # the first one that is joined takes its place
                clause.set("this", left.this)
            conjuncts = _split(left.args.get("on"))
            select.set("joins", own)
            _drop_readers(select, item, catalog)
            for conjunct in conjuncts:
                if not _reads(conjunct, item, catalog):
                    select.where(conjunct.copy(), copy=False)

        yield remove


def _drop_readers(select: exp.Select, item: exp.Expr, catalog: Catalog) -> None:
    for owner in [*(select.args.get("joins") or ()), *filter(None, (select.args.get(name) for name in ("where", "having")))]:
        name = "on" if isinstance(owner, exp.Join) else "this"
        _keep(owner, [each for each in _split(owner.args.get(name)) if not _reads(each, item, catalog)], name)
    outputs = [each for each in select.expressions if not _reads(each, item, catalog)]
    select.set("expressions", outputs or [exp.Literal.number(1)])
    for name in ("group", "order"):
        clause = select.args.get(name)
        if clause is not None:
            clause.set("expressions", [each for each in clause.expressions if not _reads(each, item, catalog)])
            if not clause.expressions:
                select.set(name, None)


def _keep(owner: exp.Expr, kept: list[exp.Expr], name: str = "this") -> None:
    """Leave these of the conjuncts of a clause or a join. Where none is left the join is one ON TRUE, and the clause goes."""
    if len(kept) == len(_split(owner.args.get(name))):
        return
    if kept:
        owner.set(name, exp.and_(*kept, copy=False))
    elif isinstance(owner, exp.Join):
        owner.set(name, exp.true())
    elif owner.parent is not None:
        owner.pop()


def _reads(node: exp.Expr, item: exp.Expr, catalog: Catalog) -> bool:
    """Whether an expression names a relation, or a column that its table has."""
    alias = item.alias_or_name.lower()
    table = catalog.table(item.name) if isinstance(item, exp.Table) else None
    for column in node.find_all(exp.Column):
        if column.table.lower() == alias:
            return True
        if not column.table and table is not None and table.column(column.name) is not None:
            return True
    return False


def _split(condition: exp.Expr | None) -> list[exp.Expr]:
    """The conjuncts of a condition; none where there is none."""
    return list(condition.flatten()) if isinstance(condition, exp.And) else [] if condition is None else [condition]


def _conjuncts(owner: exp.Expr, name: str = "this") -> Iterator[Removal]:
    for conjunct in _split(owner.args.get(name)):

        def remove(conjunct: exp.Expr = conjunct) -> None:
            _keep(owner, [each for each in _split(owner.args.get(name)) if each is not conjunct], name)

        yield remove


def _remover(owner: exp.Expr, node: exp.Expr, above: exp.Expr | None = None, clause: str = "") -> Removal:
    """Takes a node out of a list of expressions; with the last one goes the clause, and a list of outputs keeps a constant."""

    def remove() -> None:
        kept = [each for each in owner.expressions if each is not node]
        if not kept and above is not None:
            above.set(clause, None)
        else:
            owner.set("expressions", kept or [exp.Literal.number(1)])

    return remove


def _setter(owner: exp.Expr, name: str) -> Removal:
    return lambda: owner.set(name, None)
