"""Join graphs of n relations by the names of their shapes."""

from __future__ import annotations

from optimizer.joins.graph import chain, clique, cycle, star

SHAPES = {"chain": chain, "cycle": cycle, "star": star, "clique": clique}
