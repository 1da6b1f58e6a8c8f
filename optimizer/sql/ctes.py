"""Common table expressions: each is bound once, when it is first used, and every use is a reference to its rows.

What reads columns of a query around its WITH has other rows for each of theirs, so it is bound anew for each use; so is what is
volatile in a WITH inside a subquery. Where that could be seen it is refused (`Context.refer`).
"""

from __future__ import annotations

from typing import Any

from optimizer.algebra.columns import ColumnId, column_ids, column_set
from optimizer.algebra.ctes import inlined, is_read_per_row, references, with_spools
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.spools import CteReference, Spool, SpoolColumn
from optimizer.algebra.trees import Tree
from optimizer.sql.context import Bound, Context, Ctes, Definition


def bind_reference(context: Context, cte: Ctes, node: Any) -> Bound:
    """The rows of a common table expression for the reference `node` to it."""
    from optimizer.sql.query import bind_query  # a query refers to expressions, which contain queries

    definition = context.definitions.get(id(cte))
    if definition is None:
        with context.inside(cte.enclosing):
            bound = bind_query(context, cte.body, cte.outer)
        if bound.tree.outer or (bound.tree.volatile and cte.enclosing is not None):
            context.refer(cte, bound.tree, node)
            return bound
        definition = context.definitions[id(cte)] = Definition(cte, bound, len(context.definitions))
    return _read(context, definition)


def _read(context: Context, definition: Definition) -> Bound:
    """The first reference has the columns of the definition, the others have columns of their own."""
    (tree, outputs, _), new = definition.bound, dict[ColumnId, ColumnId]()
    for id in dict.fromkeys(output.id for output in outputs):
        column = context.columns[id]
        again = definition.spool in context.read
        new[id] = context.columns.new(column.name, column.type, column.nullable, column.origin).id if again else id
    context.read.add(definition.spool)
    sources = column_set(new)
    keys = tuple(column_set(new[c] for c in column_ids(key)) for key in tree.props.keys if not key & ~sources)
    not_null = column_set(new[c] for c in column_ids(tree.props.not_null & sources))
    columns = tuple(SpoolColumn(id, source) for source, id in new.items())
    read = CteReference(definition.spool, definition.cte.name, columns, keys, not_null)
    return Bound(Tree(read), tuple(OutputColumn(output.name, new[output.id]) for output in outputs))


def with_definitions(context: Context, body: Tree) -> Tree:
    """The body of the whole query under a With of the expressions that it reads. One that is read once is put in its place, one
    that is NOT MATERIALIZED in all its places; not where it is volatile and would be computed more than once."""
    trees = [definition.bound.tree for definition in context.definitions.values()]
    spools: list[Tree] = []
    for number, (cte, _, spool) in enumerate(context.definitions.values()):
        definition, later = trees[number], [*trees[number + 1 :], body]
        reads = sum(op.spool == spool for tree in later for op in references(tree))
        once = reads == 1 and not (definition.volatile and any(is_read_per_row(tree, spool) for tree in later))
        if cte.materialized is not True and (once or (cte.materialized is False and not definition.volatile)):
            *trees[number + 1 :], body = (inlined(tree, spool, definition, context.columns) for tree in later)
        else:
            forced = cte.materialized is True or definition.volatile
            spools.append(Tree(Spool(spool, cte.name, forced), (definition,)))
    return with_spools(spools, body)
