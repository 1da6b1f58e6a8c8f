"""Conflict detection (CD-C): where in a join order each operator of an initial tree of joins may stand.

In: the operators of the tree, as relation sets. Out: for each its total eligibility set (TES), the relations that must be
joined below it, and conflict rules `when → then`: if any relation of `when` is below it, all of `then` must be.

An operator b conflicts with an operator a below it where they may not change places (`reorderability`):

    a below the left of b     not assoc(a, b):     T(right of a) → T(left of a)
                              not l_asscom(a, b):  T(left of a)  → T(right of a)
    a below the right of b    not assoc(b, a):     T(left of a)  → T(right of a)
                              not r_asscom(b, a):  T(right of a) → T(left of a)

where T are the relations of the initial tree, and the right side of a rule shrinks to those that a's predicate reads. A rule
whose left side the TES meets becomes part of the TES. What is left is exact: the orders in which each operator is
applicable are those that the initial tree can be turned into, pair by pair (`closure`, the tests compare).

Inner joins come as one operator for each conjunct, which may be tested wherever its TES has met, whichever of its relations
came from the left. A split of s into a and b is a join when each operator that lies within s, and in neither part, is
applicable there, and at most one of them is not inner.

A condition "b rejects NULLs on e2" is asked of the relations that may be part of e2 by the time b meets a: all on a's side of
b but those of a's other input. Asked of the initial e2 only, it fails where b reads a relation that joined in between, and
orders are missed: a chain of four left joins on keys has 5, and would lose one.

Source  Moerkotte, Fender and Eich, On the Correct and Complete Enumeration of the Core Search Space, SIGMOD 2013
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from optimizer.algebra.kinds import JoinKind
from optimizer.joins.graph import Relations
from optimizer.joins.reorderability import assoc, l_asscom, r_asscom


@dataclass(frozen=True, slots=True)
class TreeOperator:
    """A join of the initial tree, or one conjunct of an inner join; any kind but RIGHT.

    `left`, `right`: all relations below each input. `references`: those its predicate reads. `rejects`: sets of relations such
    that the predicate is never TRUE when all columns of one set are NULL; needed of left and full joins only.
    """

    kind: JoinKind
    left: Relations
    right: Relations
    references: Relations
    rejects: tuple[Relations, ...] = ()

    @property
    def relations(self) -> Relations:
        return self.left | self.right

    @property
    def ses(self) -> Relations:
        """Syntactic eligibility set: what the predicate reads, and all of an input that it does not read."""
        ses = self.references
        if not ses & self.left:
            ses |= self.left
        if not self.references & self.right:
            ses |= self.right
        return ses


class Conflict(NamedTuple):
    """If any of `when` is below the operator, so must be `then`. `narrow`: the part of `then` that CD-C asks for."""

    when: Relations
    then: Relations
    narrow: Relations


class Rule(NamedTuple):
    when: Relations
    then: Relations

    def allows(self, s: Relations) -> bool:
        return not self.when & s or not self.then & ~s


class Edge(NamedTuple):
    """An operator with what it needs below it. No rule of `rules` is decided by `tes` alone."""

    operator: TreeOperator
    tes: Relations
    rules: tuple[Rule, ...]

    @property
    def tes_left(self) -> Relations:
        return self.tes & self.operator.left

    @property
    def tes_right(self) -> Relations:
        return self.tes & self.operator.right


def detect(operators: Sequence[TreeOperator]) -> list[Edge]:
    """The operators with their TES and rules, in the same order. O(|operators| · |operators that are not inner|)."""
    outer = [a for a in operators if a.kind is not JoinKind.INNER]
    edges = []
    for b in operators:
        # two inner joins never conflict
        below = outer if b.kind is JoinKind.INNER else operators
        edges.append(settle(b, {Rule(c.when, c.narrow): None for c in conflicts(b, below)}))
    return edges


def conflicts(b: TreeOperator, others: Sequence[TreeOperator]) -> Iterator[Conflict]:
    """The conflicts of `b` with those of `others` that are below it in the initial tree."""
    for a in others:
        if not a.relations & ~b.left:
            without_left, without_right = b.left & ~a.left, b.left & ~a.right
            swaps_right = assoc(a, b, a.left, without_left, b.right)
            swaps_left = l_asscom(a, b, without_right, a.right, b.right)
        elif not a.relations & ~b.right:
            without_left, without_right = b.right & ~a.left, b.right & ~a.right
            swaps_left = assoc(b, a, b.left, without_right, a.right)
            swaps_right = r_asscom(b, a, b.left, a.left, without_left)
        else:
            continue
        if not swaps_right:
            yield _conflict(a, a.right, a.left)
        if not swaps_left:
            yield _conflict(a, a.left, a.right)


def _conflict(a: TreeOperator, when: Relations, then: Relations) -> Conflict:
    return Conflict(when, then, a.references & then or then)


def settle(operator: TreeOperator, rules: dict[Rule, None]) -> Edge:
    """Rules decided by the TES become part of it, which may decide others; those it fulfils are dropped."""
    tes = operator.ses
    waiting = list(rules)
    growing = True
    while growing:
        growing = False
        undecided = []
        for rule in waiting:
            if not rule.then & ~tes:
                continue
            if rule.when & tes:
                tes |= rule.then
                growing = True
            else:
                undecided.append(rule)
        waiting = undecided
    return Edge(operator, tes, tuple(rule for rule in waiting if rule.then & ~tes))
