"""From a tree of joins to what conflict detection asks for: relations (the leaves) and operators over them.

The region grows from the root through joins whose inputs are joins; everything else is a leaf. Right joins are read as left
joins with their inputs exchanged. An inner join gives one operator for each conjunct.

Guards  a join with a volatile conjunct is a leaf with all that is below it, or, at the root, one operator that is kept whole
        over leaves. So is a join with a conjunct that may raise, with one exception: the topmost inner one. Its conjuncts that
        may raise wait for all relations that were below it, whose other operators are then tested before them or with them,
        where those that cannot raise come first; so they see no row they did not see before. A second one would be tested on
        rows that the first had removed
Cross   where conjuncts leave a group of inner joins unconnected, or cross products are asked for, every two relations that come
        from two of its inputs get an edge that is always TRUE, unless a conjunct links them: so the order in which a query
        names them decides nothing. A conjunct over one input waits for all of the other
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from optimizer.algebra.columns import ColumnSet, column_ids, union
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.nulls import rejects_nulls
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.trees import Node, Tree
from optimizer.joins.conflicts import TreeOperator
from optimizer.joins.graph import Relations, bits, subsets, union_over

MANY = 6  # relations of one input read by one predicate


class RegionOperator(NamedTuple):
    """An operator of a region with its predicate. `reads`: relations that its predicate reads, or that an edge without a
    predicate connects: it links two sets where it has some in each."""

    operator: TreeOperator
    predicate: Predicate
    reads: Relations


class OperatorsOfTree(NamedTuple):
    leaves: tuple[Node, ...]
    columns: tuple[ColumnSet, ...]
    operators: tuple[RegionOperator, ...]  # of inputs before those of the joins above them


@dataclass(slots=True)
class _JoinNode:
    """A join of the region, right joins turned into left ones. `visible`: relations whose columns come out of it.

    `block`: number of the maximal group of inner joins it belongs to, or -1.
    """

    kind: JoinKind
    predicate: Predicate
    left: Relations
    right: Relations
    visible_left: Relations
    visible_right: Relations
    block: int


def operators_of(root: Tree, cross: bool = False) -> OperatorsOfTree:
    """Leaves in the order of the text and operators of the region at a join. `cross`: with all cross products. Iterative."""
    assert isinstance(root.op, Join), f"the root of a region is a join, not {root.op.name}"
    blocks = _blocks(root)
    leaves: list[Node] = []
    joins: list[_JoinNode] = []
    done: list[tuple[Relations, Relations]] = []  # relations of a finished input, and those that are visible
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) not in blocks:
            bit = 1 << len(leaves)
            leaves.append(node)
            done.append((bit, bit))
        elif not ready:
            stack += [(node, True), (node.inputs[1], False), (node.inputs[0], False)]
        else:
            assert isinstance(node, Tree) and isinstance(node.op, Join)
            second, first = done.pop(), done.pop()
            kind, predicate = node.op.kind, node.op.predicate
            if kind is JoinKind.RIGHT:
                kind, first, second = JoinKind.LEFT, second, first
            joins.append(_JoinNode(kind, predicate, first[0], second[0], first[1], second[1], blocks[id(node)]))
            done.append((first[0] | second[0], first[1] if kind.left_only else first[1] | second[1]))
    columns = tuple(leaf.columns for leaf in leaves)
    return OperatorsOfTree(tuple(leaves), columns, tuple(_operators(joins, columns, cross)))


def _blocks(root: Tree) -> dict[int, int]:
    """The joins of the region by identity, each with its block of inner joins (-1: it is not inner)."""
    found: dict[int, int] = {}
    blocks = 0
    raising = False  # whether the join whose conjuncts may raise was met
    stack: list[tuple[Node, int]] = [(root, -1)]
    while stack:
        node, block = stack.pop()
        if not isinstance(node, Tree) or not isinstance(node.op, Join):
            continue
        join = node.op
        inner = join.kind is JoinKind.INNER
        raises = any(s.raises for s in join.predicate)
        whole = any(s.volatile for s in join.predicate) or (raises and (raising or not inner))
        if whole and node is not root:
            continue
        raising = raising or raises
        if inner and block < 0:
            block, blocks = blocks, blocks + 1
        found[id(node)] = block if inner else -1
        if not whole:
            stack += [(child, block if inner else -1) for child in reversed(node.inputs)]
    return found


def _operators(joins: Sequence[_JoinNode], columns: Sequence[ColumnSet], cross: bool) -> list[RegionOperator]:
    home = {column: 1 << i for i, own in enumerate(columns) for column in column_ids(own)}
    operators = []
    linked, unconnected = _linked(joins, home)
    for join in joins:
        both = join.left | join.right
        if join.kind is not JoinKind.INNER or any(s.volatile for s in join.predicate):
            reads = _relations(join.predicate, home)
            rejects: tuple[Relations, ...] = ()
            if join.kind in (JoinKind.LEFT, JoinKind.FULL):
                rejects = tuple(s for side in (join.left, join.right) for s in _rejects(join.predicate, reads & side, columns))
            operator = TreeOperator(join.kind, join.left, join.right, reads, rejects)
            operators.append(RegionOperator(operator, join.predicate, operator.ses))
            continue
        for conjunct in join.predicate:
            reads = _relations((conjunct,), home)
            needs = both if conjunct.raises else reads
            operators.append(RegionOperator(TreeOperator(JoinKind.INNER, join.left, join.right, needs), (conjunct,), reads))
        if cross or join.block in unconnected:
            for left, right in itertools.product(bits(join.visible_left), bits(join.visible_right)):
                if left | right not in linked:
                    edge = TreeOperator(JoinKind.INNER, join.left, join.right, left | right)
                    operators.append(RegionOperator(edge, (), left | right))
    return operators


def _rejects(predicate: Predicate, reads: Relations, columns: Sequence[ColumnSet]) -> list[Relations]:
    """Least subsets of the relations read of one input whose NULLs the predicate rejects; of many relations single ones only."""
    found: list[Relations] = []
    candidates = subsets(reads) if reads.bit_count() <= MANY else bits(reads)
    for s in sorted(candidates, key=lambda s: (s.bit_count(), s)):
        if not any(not known & ~s for known in found) and rejects_nulls(predicate, union_over(s, columns)):
            found.append(s)
    return found


def _relations(predicate: Predicate, home: dict[int, Relations]) -> Relations:
    """Relations whose columns a predicate reads; columns of an outer query belong to none."""
    return union(home.get(column, 0) for conjunct in predicate for column in column_ids(conjunct.columns))


def _linked(joins: Sequence[_JoinNode], home: dict[int, Relations]) -> tuple[set[Relations], set[int]]:
    """The pairs of relations that a conjunct of inner joins links which waits for no third; and the blocks of inner joins whose
    inputs are not all connected by these and by what a join itself tests."""
    inputs: dict[tuple[int, Relations], Relations] = {}  # of a block: a relation -> the one that stands for its input
    parent: dict[tuple[int, Relations], Relations] = {}  # union-find

    def find(block: int, relation: Relations) -> Relations:
        at = inputs[block, relation]
        while parent[block, at] != at:
            at = parent[block, at]
        return at

    inner = [join for join in joins if join.block >= 0]
    for join in inner:
        for side, visible in ((join.left, join.visible_left), (join.right, join.visible_right)):
            for bit in bits(side):
                inputs.setdefault((join.block, bit), visible & -visible)
    parent = {(block, at): at for (block, _), at in inputs.items()}
    linked: set[Relations] = set()
    for join in inner:
        for conjunct in join.predicate:
            reads = _relations((conjunct,), home)
            touched = {inputs[join.block, bit] for bit in bits(reads)}
            waits = conjunct.raises or conjunct.volatile or not (reads & join.left and reads & join.right)
            if len(touched) == 2 and not waits:
                linked.add(reads)
                one, other = (find(join.block, bit) for bit in sorted(touched))
                parent[join.block, other] = one
    unconnected: set[int] = set()
    for join in inner:
        one, other = (find(join.block, side & -side) for side in (join.visible_left, join.visible_right))
        if one != other:
            parent[join.block, other] = one
            each = (_relations((conjunct,), home) for conjunct in join.predicate)
            if not any(r & join.left and r & join.right for r in each):
                unconnected.add(join.block)
    return linked, unconnected
