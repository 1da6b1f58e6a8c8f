"""Row counts with errors of known size: another estimator's times a random factor in [1/q, q].

log(factor) is uniform in [-log q, log q], drawn from the seed and the digest of the relation set alone: one set has one error,
in every expression, query and process. Tables without a filter, and rows that follow from those of an input, get no error of
their own.
"""

import hashlib

from optimizer.algebra.columns import Columns
from optimizer.algebra.logical import Scan
from optimizer.algebra.trees import Node, postorder
from optimizer.catalog.table import Catalog
from optimizer.stats.estimator import Estimator
from optimizer.stats.known_rows import KnownRows
from optimizer.stats.relation import RelationStats
from optimizer.stats.relation_set import RelationSet


class Perturbed(KnownRows):
    """`exact` says the rows, `q` ≥ 1 is the largest error."""

    def __init__(self, catalog: Catalog, columns: Columns, exact: Estimator, q: float, seed: int) -> None:
        super().__init__(catalog, columns)
        self._exact, self._q, self._seed = exact, max(1.0, q), seed
        self._said: dict[Node, RelationStats] = {}  # by the other estimator, of the trees that rows were asked of

    def known(self, relations: RelationSet) -> float:
        tree, said = relations.tree, self._said
        for node in postorder(tree):
            if node not in said:
                assert node.op is not None, "an expression is made of operators alone"
                said[node] = self._exact.estimate(node.op, node.props, [said[below] for below in node.inputs])
        rows = said[tree].rows
        stored = isinstance(tree.op, Scan) and not tree.op.predicate and tree.op.limit is None
        return rows if stored else rows * self._error(relations)

    def _error(self, relations: RelationSet) -> float:
        """The factor of a relation set: deterministic, from 1/q to q."""
        drawn = hashlib.sha256(f"{self._seed}/{relations.digest}".encode()).digest()
        share = int.from_bytes(drawn[:8], "big") / float(1 << 64)  # 0 to 1
        return float(self._q ** (2.0 * share - 1.0))
