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
    MARK = "mark"  # every left row once, with a column that says whether it has a match: TRUE, FALSE or UNKNOWN
    SINGLE = "single"  # as LEFT, but a left row with two matches is an error

    @property
    def keeps_left(self) -> bool:
        """Rows of the left input without a match survive, with NULLs for the right."""
        return self in (JoinKind.LEFT, JoinKind.FULL, JoinKind.SINGLE)

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
        if self.left_only or self in (JoinKind.MARK, JoinKind.SINGLE):
            return None
        return {JoinKind.LEFT: JoinKind.RIGHT, JoinKind.RIGHT: JoinKind.LEFT}.get(self, self)


PLAIN_JOINS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI)
"""The kinds of `Join`; mark and single joins are operators of their own, so that no rule on joins takes them for another kind."""


class SetOpKind(Enum):
    UNION = "union"
    INTERSECT = "intersect"
    EXCEPT = "except"
