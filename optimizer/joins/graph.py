"""Join graphs: relations are bits 0 … n - 1, a set of relations is an int, and edges are pairs of such sets.

Most edges join two single relations; they are kept as adjacency bitsets. A hyperedge joins two disjoint sets, at least one
of them of several relations: it holds between A and B when one set lies in A and the other in B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import or_
from typing import Any, NamedTuple, TypeVar

Relations = int  # a set of relations
N = TypeVar("N")
V = TypeVar("V")


def bits(s: Relations) -> Iterator[Relations]:
    """The singletons of a set, lowest first."""
    while s:
        low = s & -s
        yield low
        s ^= low


def subsets(s: Relations) -> Iterator[Relations]:
    """Non-empty subsets in increasing order, `s` itself last."""
    part = 0
    while True:
        part = (part - s) & s
        if not part:
            return
        yield part


def one_by_one_splits(s: Relations, parts: Iterable[Relations]) -> list[Relations]:
    """Of splits of `s`, each as one of the two parts, those with a single relation in one of them."""
    return [a for a in parts if not a & (a - 1) or not (s ^ a) & ((s ^ a) - 1)]


def union_over(s: Relations, sets: Sequence[int]) -> int:
    """The union of what each relation of a set has in `sets`."""
    found = 0
    while s:
        low = s & -s
        found |= sets[low.bit_length() - 1]
        s ^= low
    return found


class Blocks(NamedTuple):
    """The blocks of a graph (`partition.blocks`). The side of a relation in a block: itself and all that is connected to it
    outside the block."""

    bridges: tuple[tuple[Relations, Relations], ...]  # (the two relations, the side of one of them)
    complete: tuple[tuple[Relations, ...], ...]  # the sides of its relations, of blocks with an edge between any two
    others: tuple[tuple[Relations, tuple[tuple[Relations, Relations], ...]], ...]  # (its relations, (relation, side) pairs)


class JoinGraph:
    """`adjacency[i]`: the relations that share a simple edge with relation i. `hyperedges`: pairs of disjoint sets.

    A graph does not change; what partitioning has found out about it: its `blocks`, None before it was asked, the
    `connectivity` of sets, and its `skeletons` by the hyperedges in them (`partition.hypergraph`).
    """

    __slots__ = ("adjacency", "all", "blocks", "connectivity", "hyperedges", "n", "skeletons")

    def __init__(
        self, n: int, edges: Iterable[tuple[int, int]] = (), hyperedges: Iterable[tuple[Relations, Relations]] = ()
    ) -> None:
        """`edges` pairs relation numbers, `hyperedges` pairs sets; a hyperedge between two single relations is an edge."""
        adjacency = [0] * n
        for u, v in edges:
            assert u != v, f"relation {u} is joined to itself"
            adjacency[u] |= 1 << v
            adjacency[v] |= 1 << u
        wide = []
        for left, right in hyperedges:
            assert left and right and not left & right, f"hyperedge {left:b} - {right:b} is not between disjoint sets"
            if left & (left - 1) or right & (right - 1):
                wide.append((left, right))
            else:
                adjacency[left.bit_length() - 1] |= right
                adjacency[right.bit_length() - 1] |= left
        self.n = n
        self.all: Relations = (1 << n) - 1
        self.adjacency: tuple[Relations, ...] = tuple(adjacency)
        self.hyperedges: tuple[tuple[Relations, Relations], ...] = tuple(dict.fromkeys(wide))
        self.blocks: Blocks | None = None
        self.connectivity: dict[Relations, bool] = {}
        self.skeletons: dict[tuple[tuple[Relations, Relations], ...], JoinGraph] = {}

    def neighbours(self, s: Relations) -> Relations:
        """Relations outside `s` that share a simple edge with one in it."""
        found = 0
        rest = s
        while rest:
            low = rest & -rest
            found |= self.adjacency[low.bit_length() - 1]
            rest ^= low
        return found & ~s

    def reach(self, within: Relations, start: Relations) -> Relations:
        """Relations of `within` reachable from `start` (a subset of it) by simple edges inside `within`."""
        adjacency = self.adjacency
        reached = frontier = start
        while frontier:
            found = 0
            while frontier:
                low = frontier & -frontier
                found |= adjacency[low.bit_length() - 1]
                frontier ^= low
            frontier = found & within & ~reached
            reached |= frontier
        return reached

    def joined(self, a: Relations, b: Relations) -> bool:
        """Whether an edge or a hyperedge holds between two disjoint sets."""
        if self.neighbours(a) & b:
            return True
        return any((not u & ~a and not v & ~b) or (not u & ~b and not v & ~a) for u, v in self.hyperedges)

    def connected(self, s: Relations) -> bool:
        """Whether `s` can be joined without a cross product by simple edges (for graphs with hyperedges see
        `partition.hypergraph`)."""
        return bool(s) and self.reach(s, s & -s) == s

    def components(self, s: Relations) -> list[Relations]:
        """Connected parts of `s` by simple edges, by lowest relation."""
        parts = []
        while s:
            part = self.reach(s, s & -s)
            parts.append(part)
            s ^= part
        return parts

    def edges(self) -> list[tuple[int, int]]:
        """Simple edges as pairs of relation numbers, the lower first."""
        return [(u, v.bit_length() - 1) for u in range(self.n) for v in bits(self.adjacency[u] >> u + 1 << u + 1)]


JoinTree = int | tuple["JoinTree", "JoinTree"]  # a relation number, or two joined trees


def folded(root: N, parts: Callable[[N], tuple[N, N] | None], leaf: Callable[[Any], V], join: Callable[[Any, Any], V]) -> V:
    """What `leaf` makes of the nodes without parts, and `join` of what was made of the two parts of any other, inputs first.
    Iterative: a left-deep tree of many relations is deep."""
    made: list[V] = []
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        both = parts(node)
        if both is None:
            made.append(leaf(node))
        elif ready:
            right = made.pop()
            made.append(join(made.pop(), right))
        else:
            stack += [(node, True), (both[1], False), (both[0], False)]
    return made[0]


def parts_of(tree: Any) -> Any:
    """The two parts of a tree of pairs, None of a leaf."""
    return tree if isinstance(tree, tuple) else None


def rebuilt(root: N, parts: Callable[[N], tuple[N, N] | None], leaf: Callable[[Any], JoinTree]) -> JoinTree:
    """The join tree with the two parts of each node as a pair, and `leaf` of those without parts."""
    return folded(root, parts, leaf, lambda left, right: (left, right))


def relations_of(tree: JoinTree) -> Relations:
    """The set of relations of a join tree."""
    found: Relations = folded(tree, parts_of, lambda relation: 1 << relation, or_)
    return found


def joins_of(tree: JoinTree) -> Sequence[tuple[Relations, Relations]]:
    """The joins of a tree as (left set, right set), inputs before the joins that use them. Iterative."""
    done: list[tuple[Relations, Relations]] = []

    def join(left: Relations, right: Relations) -> Relations:
        done.append((left, right))
        return left | right

    folded(tree, parts_of, lambda relation: 1 << relation, join)
    return done


def one_by_one(tree: JoinTree) -> bool:
    """Whether each join of a tree has a single relation on one side: no other may be a seed where only such are searched."""
    return all(not a & (a - 1) or not b & (b - 1) for a, b in joins_of(tree))
