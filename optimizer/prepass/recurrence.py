"""Seeing that a tree has been in its present state before.

Rules are functions of the tree, so a state that comes back comes back for ever. Vertices are interned, so most often it is the
same object. A rule that computes a fresh column each time it fires makes states that differ in nothing but the ids of those
columns. Comparing shapes finds them, but costs a walk over the tree; so of a long sequence only stretches are compared, of 16
states from the 16th, the 32nd, the 64th on and so forth: a cycle of up to 16 firings is seen, at the latest when the sequence
is twice as long as it was before the cycle began.
"""

from optimizer.algebra.columns import Columns
from optimizer.algebra.trees import Tree
from optimizer.prepass.shapes import Shapes

_STRETCH = 16


class States:
    """The states that one place in the tree went through. Columns with ids from `fresh` on are told apart only at first."""

    def __init__(self, columns: Columns, fresh: int) -> None:
        self._columns, self._fresh = columns, fresh
        self._seen: dict[int, tuple[Tree, int]] = {}
        self._shapes = Shapes(fresh)
        self._stretch: dict[int, int] = {}  # shape -> when
        self._until = 0

    def add(self, tree: Tree, now: int) -> int | None:
        """Note a state with a time; the time at which the place was in that state before, if it was."""
        before = self._seen.get(id(tree))
        if before is not None:
            return before[1]
        self._seen[id(tree)] = (tree, now)
        count = len(self._seen)
        if count < _STRETCH or len(self._columns) == self._fresh:
            return None
        if count & (count - 1) == 0:
            self._shapes, self._stretch, self._until = Shapes(self._fresh), {}, count + _STRETCH
        if count >= self._until:
            return None
        first = self._stretch.setdefault(self._shapes.of(tree), now)
        return None if first == now else first
