"""A recursive common table expression is a loop."""

from __future__ import annotations

from optimizer.algebra.physical import Recurse
from optimizer.algebra.spools import Recursion
from optimizer.rules.interface import ImplementationRule, node


class RecursionToRecurse(ImplementationRule):
    name = "recursion_to_recurse"
    pattern = node(Recursion)
    to = Recurse
