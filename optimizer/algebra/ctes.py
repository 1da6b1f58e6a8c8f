"""Trees with references to common table expressions: how often each is read, and references replaced by what they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

from optimizer.algebra.columns import Columns
from optimizer.algebra.logical import Choice
from optimizer.algebra.rebuild import copy_tree, map_everywhere
from optimizer.algebra.spools import CteReference, Recursion, Spool, With
from optimizer.algebra.subqueries import operators_of, subqueries_of
from optimizer.algebra.trees import Node, Tree


def references(root: Node) -> Iterator[CteReference]:
    """Those in a tree and in the subqueries of its scalars."""
    for op in operators_of(root) if isinstance(root, Tree) and root.has_reference else ():
        if isinstance(op, CteReference):
            yield op


def spools_of(root: Tree) -> dict[int, Tree]:
    """The spools of a query, by id; those that only recursions read are not among them."""
    forms = root.inputs if isinstance(root.op, Choice) else (root,)
    parts = [part for form in forms if isinstance(form, Tree) and isinstance(form.op, With) for part in form.inputs]
    return {part.op.spool: part for part in parts if isinstance(part, Tree) and isinstance(part.op, Spool)}


def is_read_per_row(root: Tree, spool: int) -> bool:
    """Whether a reference stands in what is evaluated again and again: what reads columns of a query around it, or the step of a
    recursion."""
    pending: list[Node] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Tree):
            again = node.inputs[1] if isinstance(node.op, Recursion) else node
            if (node.outer or again is not node) and any(op.spool == spool for op in references(again)):
                return True
            pending += [*node.inputs, *(part.tree for part in subqueries_of(node.op.scalars()))]
    return False


def inlined(root: Tree, spool: int, definition: Tree, columns: Columns) -> Tree:
    """`root` with the references to a spool replaced by what it holds: one that has the columns of the definition by the
    definition itself, others by copies under columns of their own."""

    def change(tree: Tree) -> Tree:
        op = tree.op
        if not isinstance(op, CteReference) or op.spool != spool:
            return tree
        new = {c.source: c.id for c in op.columns}
        if all(source == id for source, id in new.items()):
            return definition
        return copy_tree(definition, columns, new)[0]

    return map_everywhere(root, change) if root.has_reference else root


def inlined_spools(root: Tree, spools: Collection[int], columns: Columns) -> Tree:
    """A With without these spools: what they hold takes the place of the references to them."""
    parts = [each for each in root.inputs if isinstance(each, Tree)]
    kept: list[Tree] = []
    while len(parts) > 1:
        spool, *parts = parts
        match spool:
            case Tree(Spool(id), (Tree() as held,)) if id in spools:
                parts = [inlined(each, id, held, columns) for each in parts]
            case _:
                kept.append(spool)
    return with_spools(kept, parts[0])


def operators_inlined(root: Tree) -> int:
    """How many operators a With would have if all its spools were put in place of the references to them."""
    sizes: dict[int, int] = {}
    total = 0
    for part in root.inputs:
        total = sum(1 for _ in operators_of(part)) + sum(sizes.get(op.spool, 1) - 1 for op in references(part))
        if isinstance(part, Tree) and isinstance(part.op, Spool):
            sizes[part.op.spool] = total - 1
    return total


def with_spools(spools: Iterable[Tree], body: Tree) -> Tree:
    """The body with those of the spools that something reads; each stands before those that read it."""
    kept: list[Tree] = []
    read = Counter(op.spool for op in references(body))
    for spool in reversed(list(spools)):
        assert isinstance(spool.op, Spool)
        if read[spool.op.spool]:
            kept.insert(0, spool)
            read.update(op.spool for op in references(spool))
    return Tree(With(), (*kept, body)) if kept else body


def map_parts(root: Tree, change: Callable[[Tree, Spool | None], Tree]) -> Tree:
    """`change` made to each part of a query that has no With in it: to what a spool holds, and to bodies (None); readers come
    before what they read. A spool that nothing reads any more is gone."""
    if isinstance(root.op, Choice) and any(isinstance(each, Tree) and isinstance(each.op, With) for each in root.inputs):
        return root.with_inputs(tuple(map_parts(each, change) for each in root.inputs if isinstance(each, Tree)))
    if not isinstance(root.op, With):
        return change(root, None)
    *spools, body = (each for each in root.inputs if isinstance(each, Tree))
    body, made = change(body, None), list[Tree]()
    for each in reversed(spools):
        match each:
            case Tree(Spool() as spool, (Tree() as held,)):
                made.append(each.with_inputs((change(held, spool),)))
    return with_spools(reversed(made), body)
