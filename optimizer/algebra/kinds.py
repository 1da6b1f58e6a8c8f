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

    def __init__(self, value: str) -> None:
        """`keeps_left`: rows of the left input without a match survive, with NULLs for the right; `keeps_right` likewise.
        `drops_left`: the result is the same without the rows of the left input that match nothing; `drops_right` likewise (not of
        a mark join: it tells UNKNOWN from FALSE). `left_only`: the output has the left input's columns only."""
        self.keeps_left = value in ("left", "full", "single")
        self.keeps_right = value in ("right", "full")
        self.drops_left = value in ("inner", "right", "semi")
        self.drops_right = value in ("inner", "left", "semi", "anti", "single")
        self.left_only = value in ("semi", "anti")

    __hash__ = object.__hash__  # an operator's hash asks for it; that of an Enum is a call of Python

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
