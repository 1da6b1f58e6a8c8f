"""A reference to a common table expression reads its spool."""

from __future__ import annotations

from optimizer.algebra.physical import ReadSpool
from optimizer.algebra.spools import CteReference
from optimizer.rules.interface import ImplementationRule, node


class CteReferenceToReadSpool(ImplementationRule):
    name = "cte_reference_to_read_spool"
    pattern = node(CteReference)
    to = ReadSpool
