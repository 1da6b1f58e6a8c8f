"""A filter becomes a vectorized filter that keeps its input's order."""

from __future__ import annotations

from optimizer.algebra.logical import Filter
from optimizer.algebra.physical import FilterRows
from optimizer.rules.interface import ANY, ImplementationRule, node


class FilterToFilterRows(ImplementationRule):
    name = "filter_to_filter_rows"
    pattern = node(Filter, ANY)
    to = FilterRows
