"""Kinds of joins and set operations, named in logical and physical operators alike."""

from __future__ import annotations

from enum import Enum


class JoinKind(Enum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def keeps_left(self) -> bool:
        """Rows of the left input without a match survive."""
        return self in (JoinKind.LEFT, JoinKind.FULL)

    @property
    def keeps_right(self) -> bool:
        return self in (JoinKind.RIGHT, JoinKind.FULL)

    @property
    def left_only(self) -> bool:
        """The output has the left input's columns only."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)

    @property
    def mirrored(self) -> JoinKind | None:
        """The kind that gives the same rows with the inputs exchanged; None where there is none."""
        if self.left_only:
            return None
        return {JoinKind.LEFT: JoinKind.RIGHT, JoinKind.RIGHT: JoinKind.LEFT}.get(self, self)


class SetOpKind(Enum):
    UNION = "union"
    INTERSECT = "intersect"
    EXCEPT = "except"
