"""Join graphs of n relations by the names of their shapes."""

from optimizer.joins.graph import chain, clique, cycle, star

SHAPES = {"chain": chain, "cycle": cycle, "star": star, "clique": clique}
