"""A VALUES list becomes constant rows."""

from __future__ import annotations

from optimizer.algebra.logical import Values
from optimizer.algebra.physical import ConstantRows
from optimizer.rules.interface import ImplementationRule, node


class ValuesToConstantRows(ImplementationRule):
    name = "values_to_constant_rows"
    pattern = node(Values)
    to = ConstantRows
