"""Binary inner joins of several inputs, in the order of the text as far as their predicate connects them."""

from itertools import combinations

from optimizer.algebra.building import tree_of
from optimizer.algebra.columns import column_ids, union
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.props import united
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Node, Tree


def connect(leaves: list[Node], predicate: list[Scalar]) -> Tree:
    """A tree of inner joins over `leaves`, each conjunct at the lowest join that has its columns, one without any at some join;
    those that may raise above all that are over some of the same leaves and do not.

    Below, sets of leaves are bitsets of their numbers.
    """
    if not any(conjunct.raises for conjunct in predicate):
        return _connected(leaves, predicate)
    needs = _leaves_needed(leaves, predicate)
    early = [n for n, needed in enumerate(needs) if needed & needed - 1 and not predicate[n].raises]
    late = [conjunct for n, conjunct in enumerate(predicate) if n not in early]
    parts: list[Node] = []
    for part in united([*(1 << number for number in range(len(leaves))), *(needs[n] for n in early)]):
        within = [leaves[i] for i in column_ids(part)]
        parts.append(_connected(within, [predicate[n] for n in early if needs[n] & part]) if len(within) > 1 else within[0])
    if len(parts) > 1:
        return _connected(parts, late)
    (root,) = map(tree_of, parts)
    return Tree(Join(JoinKind.INNER, conjunction((*root.op.scalars(), *late))), root.inputs)


def _connected(leaves: list[Node], predicate: list[Scalar]) -> Tree:
    needs = _leaves_needed(leaves, predicate)
    joined = _Parts(leaves, predicate, needs)
    waiting = list(range(len(leaves)))
    parts: list[int] = []
    while waiting:
        part = 1 << waiting.pop(0)
        while (leaf := joined.first_linked(part, waiting)) is not None:
            waiting.remove(leaf)
            part = joined.join(part, 1 << leaf)
        parts.append(part)
    while len(parts) > 1:  # a conjunct over three relations may still link parts that no pair of them is linked by
        pairs = combinations(range(len(parts)), 2) if joined.waits_for_several() else ()
        i, j = next(((i, j) for i, j in pairs if joined.linked_widely(parts[i], parts[j])), (0, 1))
        parts[i] = joined.join(parts[i], parts.pop(j))
    return tree_of(joined.trees[parts[0]])


def _leaves_needed(leaves: list[Node], predicate: list[Scalar]) -> list[int]:
    """For each conjunct the leaves whose columns it reads."""
    owner = {column: 1 << number for number, leaf in enumerate(leaves) for column in column_ids(leaf.columns)}
    return [union(owner[column] for column in column_ids(conjunct.columns)) for conjunct in predicate]


class _Parts:
    """Joins made so far. `trees`: by the leaves they join; `rest`: conjuncts (by number) that no join tests yet."""

    def __init__(self, leaves: list[Node], predicate: list[Scalar], needs: list[int]) -> None:
        self.trees: dict[int, Node] = {1 << number: leaf for number, leaf in enumerate(leaves)}
        self._predicate, self._needs = predicate, needs
        self.rest = dict.fromkeys(range(len(predicate)))
        self._neighbours = dict.fromkeys(self.trees, 0)
        self._at_leaf: dict[int, list[int]] = {leaf: [] for leaf in self.trees}
        self._wide = [n for n in self.rest if needs[n].bit_count() > 2]
        self._unbound = [n for n in self.rest if not needs[n]]  # say something of an outer row only
        for number, needed in enumerate(needs):
            for leaf in column_ids(needed):
                self._at_leaf[1 << leaf].append(number)
                if needed.bit_count() == 2:
                    self._neighbours[1 << leaf] |= needed ^ 1 << leaf

    def first_linked(self, part: int, waiting: list[int]) -> int | None:
        """The first leaf that a conjunct over it and `part`, and no other leaf, links to `part`."""
        reach = self._neighbours[part]
        return next((leaf for leaf in waiting if reach >> leaf & 1 or self.linked_widely(part, 1 << leaf)), None)

    def waits_for_several(self) -> bool:
        """Whether a conjunct over three leaves or more is not tested yet."""
        return any(n in self.rest for n in self._wide)

    def linked_widely(self, a: int, b: int) -> bool:
        needs = self._needs
        return any(needs[n] & a and needs[n] & b and not needs[n] & ~(a | b) for n in self._wide)

    def join(self, left: int, right: int) -> int:
        """Join two parts on every conjunct of `rest` that they can test; those are taken from `rest`."""
        within = left | right
        grows = left not in self._at_leaf and right in self._at_leaf  # then what is new reads the leaf on the right
        candidates = [*self._unbound, *self._at_leaf[right]] if grows else list(self.rest)
        usable = [n for n in candidates if n in self.rest and not self._needs[n] & ~within]
        for number in usable:
            del self.rest[number]
        self.trees[within] = Tree(
            Join(JoinKind.INNER, conjunction(self._predicate[n] for n in usable)), (self.trees[left], self.trees[right])
        )
        self._neighbours[within] = (self._neighbours[left] | self._neighbours[right]) & ~within
        return within
