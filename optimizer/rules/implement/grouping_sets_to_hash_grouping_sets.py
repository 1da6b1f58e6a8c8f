"""Grouping sets become one operator that hashes; it needs no order and delivers none."""

from __future__ import annotations

from optimizer.algebra.logical import GroupingSets
from optimizer.algebra.physical import HashGroupingSets
from optimizer.rules.interface import ANY, ImplementationRule, node


class GroupingSetsToHashGroupingSets(ImplementationRule):
    name = "grouping_sets_to_hash_grouping_sets"
    pattern = node(GroupingSets, ANY)
    to = HashGroupingSets
