"""Matches: what the iterative driver queues."""

from typing import NamedTuple

from optimizer.algebra.trees import Tree
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.interface import TransformationRule


class Match(NamedTuple):
    """A transformation rule that applies to a binding of an expression, with what it makes of it (None: not asked yet, the
    rule looks at one operator); `rule` None: all implementation rules at the expression."""

    mexpr: LogicalExpr
    rule: TransformationRule | None = None
    produced: list[Tree] | None = None
