"""Matches: what the iterative driver queues."""

from __future__ import annotations

from typing import NamedTuple

from optimizer.algebra.trees import Tree
from optimizer.memo.group import LogicalExpr
from optimizer.rules.interface import TransformationRule


class Match(NamedTuple):
    """A transformation rule at a binding of an expression; `rule` None: all implementation rules at the expression."""

    mexpr: LogicalExpr
    rule: TransformationRule | None = None
    bound: Tree | None = None
