"""A limit passes the first rows of an input that comes in its order, then stops it."""

from __future__ import annotations

from optimizer.algebra.logical import Limit
from optimizer.algebra.physical import LimitRows
from optimizer.rules.interface import ANY, ImplementationRule, node


class LimitToLimitRows(ImplementationRule):
    name = "limit_to_limit_rows"
    pattern = node(Limit, ANY)
    to = LimitRows
