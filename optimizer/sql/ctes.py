"""Common table expressions: each is bound once, when it is first used, and every use is a reference to its rows.

What reads columns of a query around its WITH has other rows for each of theirs, so it is bound anew for each use; so is what is
volatile in a WITH inside a subquery. Where that could be seen it is refused (`Context.refer`).
"""

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from optimizer.algebra.building import reference
from optimizer.algebra.columns import ColumnId, column_ids, column_set
from optimizer.algebra.ctes import inlined, is_read_per_row, references, with_spools
from optimizer.algebra.logical import Project, ProjectItem
from optimizer.algebra.query import OutputColumn
from optimizer.algebra.spools import CteReference, Recursion, Spool, SpoolColumn
from optimizer.algebra.trees import Tree
from optimizer.sql.context import Bound, Context, Ctes, Definition
from optimizer.sql.set_operations import cast_outputs


def bind_reference(context: Context, cte: Ctes, node: Any) -> Bound:
    """The rows of a common table expression for the reference `node` to it."""
    from optimizer.sql.query import bind_query  # a query refers to expressions, which contain queries

    definition = context.working.get(id(cte)) or context.definitions.get(id(cte))
    if definition is None:
        with context.inside(cte.enclosing):
            bound = _recursive(context, cte) if cte.recursive else bind_query(context, cte.body, cte.outer)
        inner = {each.spool for each in context.working.values()}
        changing = any(op.spool in inner for op in references(bound.tree))
        if bound.tree.outer or changing or (bound.tree.volatile and cte.enclosing is not None):
            if cte.recursive:
                form = f'a recursive CTE ("{cte.name}") that reads a query around it'
                raise context.source.unsupported(form, node, "define it at the top of the query")
            context.refer(cte, bound.tree, node)
            return bound
        definition = context.definitions[id(cte)] = Definition(cte, bound._replace(written=()), context.new_spool())
    return read(context, cte, definition.bound, definition.spool)


def refers_to(node: Any, name: str) -> bool:
    """Whether a query reads a table of this name, which none of its own WITHs defines: such a WITH hides it from what follows,
    and WITH RECURSIVE from the definition too."""
    for each in node.walk(prune=lambda query: name.lower() in _defined(query)):
        if name.lower() in _defined(each):
            place, with_ = _defined(each).index(name.lower()), each.args["with_"]
            if any(refers_to(cte.this, name) for cte in with_.expressions[: place if with_.args.get("recursive") else place + 1]):
                return True
        elif isinstance(each, exp.Table) and each.name.lower() == name.lower() and each.args.get("db") is None:
            return True
    return False


def _defined(query: Any) -> list[str]:
    with_ = query.args.get("with_")
    return [] if with_ is None else [cte.alias.lower() for cte in with_.expressions]


def _recursive(context: Context, cte: Ctes) -> Bound:
    """start UNION [ALL] step, where the step refers to the expression. It has the columns and the types of the start."""
    from optimizer.sql.query import bind_query, with_ctes

    source, body = context.source, cte.body
    if not isinstance(body, exp.Union) or refers_to(body.this, cte.name):
        hint = f"write SELECT ... UNION ALL SELECT ... FROM {cte.name}, where only the last part refers to it"
        raise source.unsupported(f'a recursive CTE ("{cte.name}") without a part to start from', body, hint)
    source.only(body, "this", "expression", "distinct", "with_")
    within = with_ctes(context, body, cte.outer)
    bound = bind_query(context, body.this, within)
    columns = context.columns
    first = [columns.like(output.id) for output in bound.outputs]
    items = tuple(ProjectItem(id, reference(output.id, columns)) for id, output in zip(first, bound.outputs, strict=True))
    start = Bound(Tree(Project(items), (bound.tree,)), _outputs(bound, first))
    itself = Ctes(cte.name, body, cte.columns, within, cte.enclosing)
    spool = context.new_spool()
    context.working[id(itself)] = Definition(itself, start, spool)
    context.read.add(spool)
    step = bind_query(context, body.expression, itself)
    del context.working[id(itself)]
    if len(step.outputs) != len(first):
        message = f"UNION of {len(first)} and {len(step.outputs)} columns"
        raise source.error(message, body.expression, "all parts must have the same number of columns")
    tree, then = cast_outputs(context, step, [columns[id].type for id in first])
    ids = [columns.like(id) for id in first]
    recursion = Recursion(spool, cte.name, not body.args.get("distinct"), tuple(ids), (tuple(first), then))
    return Bound(Tree(recursion, (Tree(Spool(spool, cte.name, True), (start.tree,)), tree)), _outputs(bound, ids))


def _outputs(bound: Bound, ids: Sequence[ColumnId]) -> tuple[OutputColumn, ...]:
    return tuple(OutputColumn(output.name, id) for output, id in zip(bound.outputs, ids, strict=True))


def read(context: Context, cte: Ctes, bound: Bound, spool: int) -> Bound:
    """The first reference has the columns of the definition, the others have columns of their own."""
    tree, outputs, new = bound.tree, bound.outputs, dict[ColumnId, ColumnId]()
    working = any(each.spool == spool for each in context.working.values())  # of it only the columns are known
    again = spool in context.read
    order = () if working else bound.order
    durations = {output.id: duration for output in outputs if (duration := context.duration(output.id, tree)) is not None}
    for id in dict.fromkeys((*(output.id for output in outputs), *durations.values(), *(key.column for key in order))):
        new[id] = context.columns.copy(id) if again else id
        if id in context.untyped:
            context.untyped.add(new[id])
    context.durations.update((new[id], new[duration]) for id, duration in durations.items())
    context.read.add(spool)
    sources = column_set(new)
    known = () if working else tree.props.keys
    keys = tuple(column_set(new[c] for c in column_ids(key)) for key in known if not key & ~sources)
    not_null = 0 if working else column_set(new[c] for c in column_ids(tree.props.not_null & sources))
    columns = tuple(SpoolColumn(id, source) for source, id in new.items())
    read = CteReference(spool, cte.name, columns, keys, not_null)
    order = tuple(key._replace(column=new[key.column]) for key in order)
    return Bound(Tree(read), tuple(OutputColumn(output.name, new[output.id]) for output in outputs), order)


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
