"""All join orders that an initial tree can be turned into by exchanging neighbouring joins: the oracle of conflict detection.

Every tree reachable by commutativity, associativity, left and right asscommutativity (`reorderability`) where each operator keeps
reading both its inputs, so that no cross product appears. Grows as the number of trees does: for a handful of relations.

Trees that differ by commuting inner and full joins only are one: the input with the lowest relation comes first in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from optimizer.algebra.kinds import JoinKind
from optimizer.joins.conflicts import TreeOperator
from optimizer.joins.graph import Relations
from optimizer.joins.reorderability import assoc, l_asscom, r_asscom


class Joined(NamedTuple):
    """Operator `number` over two trees; `relations` of both."""

    number: int
    left: OperatorTree
    right: OperatorTree
    relations: Relations


COMMUTATIVE = (JoinKind.INNER, JoinKind.FULL)  # kinds that are their own mirror images
OperatorTree = int | Joined  # a single relation (its bit), or a join


def relations_of(tree: OperatorTree) -> Relations:
    return tree if isinstance(tree, int) else tree.relations


def joined(operators: Sequence[TreeOperator], number: int, left: OperatorTree, right: OperatorTree) -> Joined:
    """The canonical tree of an operator over two trees."""
    a, b = relations_of(left), relations_of(right)
    if operators[number].kind in COMMUTATIVE and b & -b < a & -a:
        left, right = right, left
    return Joined(number, left, right, a | b)


def closure(operators: Sequence[TreeOperator], tree: OperatorTree) -> set[OperatorTree]:
    """Every order of a canonical tree, itself included."""
    found = {tree}
    waiting = [tree]
    while waiting:
        for other in _neighbours(operators, waiting.pop()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def _neighbours(operators: Sequence[TreeOperator], tree: OperatorTree) -> Iterator[OperatorTree]:
    """Trees one exchange away, at the root or below. Recursive: trees are small."""
    if isinstance(tree, int):
        return
    yield from _exchanges(operators, tree)
    for other in _neighbours(operators, tree.left):
        yield joined(operators, tree.number, other, tree.right)
    for other in _neighbours(operators, tree.right):
        yield joined(operators, tree.number, tree.left, other)


def _exchanges(operators: Sequence[TreeOperator], tree: Joined) -> Iterator[OperatorTree]:
    """The root changes places with one of its inputs."""
    top = operators[tree.number]
    for left, right in _orientations(operators, tree):
        if isinstance(left, Joined):
            low = operators[left.number]
            for x, y in _orientations(operators, left):  # (x low y) top right
                e1, e2, e3 = relations_of(x), relations_of(y), relations_of(right)
                if not top.ses & e1 and assoc(low, top, e1, e2, e3):
                    yield joined(operators, left.number, x, joined(operators, tree.number, y, right))
                if not top.ses & e2 and l_asscom(low, top, e1, e2, e3):
                    yield joined(operators, left.number, joined(operators, tree.number, x, right), y)
        if isinstance(right, Joined):
            low = operators[right.number]
            for x, y in _orientations(operators, right):  # left top (x low y)
                e1, e2, e3 = relations_of(left), relations_of(x), relations_of(y)
                if not top.ses & e3 and assoc(top, low, e1, e2, e3):
                    yield joined(operators, right.number, joined(operators, tree.number, left, x), y)
                if not top.ses & e2 and r_asscom(top, low, e1, e2, e3):
                    yield joined(operators, right.number, x, joined(operators, tree.number, left, y))


def _orientations(operators: Sequence[TreeOperator], tree: Joined) -> Iterator[tuple[OperatorTree, OperatorTree]]:
    yield tree.left, tree.right
    if operators[tree.number].kind in COMMUTATIVE:
        yield tree.right, tree.left
