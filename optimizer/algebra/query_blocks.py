"""How many relations count towards the limits of a search: those of a query block count as one where it is joined as a whole.

A query block is what is below a group, a window, a limit or a set operation of the query as it enters the search. The count of
a set of relations depends on that alone. It does not depend on what joined them first, or on how joins were cut into regions.
"""

from optimizer.algebra.columns import ColumnSet, union
from optimizer.algebra.logical import Aggregate, GroupingSets, Limit, SetOp, Window
from optimizer.algebra.trees import Tree, postorder

Blocks = tuple[ColumnSet, ...]  # the relations of each block (`Tree.relations`), outer ones first


def with_blocks_of(tree: Tree, known: Blocks = ()) -> Blocks:
    """The blocks of another tree too."""
    relations = dict[int, ColumnSet]()
    found = set(known)
    for node in postorder(tree):
        below = [relations[id(each)] for each in node.inputs]
        relations[id(node)] = union(below) if below else node.relations  # a leaf's
        if isinstance(node.op, Aggregate | GroupingSets | Window | Limit | SetOp):
            found.add(relations[id(node)])
    return tuple(sorted(found, key=lambda block: (-block.bit_count(), block)))


def count_relations(s: ColumnSet, within: ColumnSet, blocks: Blocks) -> int:
    """How many relations the set `s` has beside the others of `within`: those of a block that is in it as a whole, and is not all
    of it, are one. A block with relations outside may be of another form of the query."""
    count = 0
    for block in blocks:
        if s & block and within & ~block and not block & ~within:
            s &= ~block
            count += 1
    return count + s.bit_count()
