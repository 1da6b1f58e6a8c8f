"""Row counts with errors of known size: another estimator's times a random factor in [1/q, q].

log(factor) is uniform in [-log q, log q], drawn from the seed and the digest of the relation set alone: one set has one error,
in every expression, query and process. Tables without a filter, and rows that follow from those of an input, get no error of
their own.
"""

import hashlib
from collections.abc import Sequence

from optimizer.algebra.canonical import CanonicalTexts
from optimizer.algebra.columns import Columns
from optimizer.algebra.join_graph import is_inner_join
from optimizer.algebra.logical import Aggregate, Limit, LogicalOperator, Scan, SetOp, Values
from optimizer.algebra.predicates import combined
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.spools import CteReference, Recursion, Spool, With
from optimizer.catalog.table import Catalog
from optimizer.stats.estimator import Estimator
from optimizer.stats.known_rows import follows_from_input, narrowed
from optimizer.stats.relation import RelationStats, limited
from optimizer.stats.relation_set import RelationSet, expression, joined, under_columns


class PerturbedStats(RelationStats):
    """`exact`: what the other estimator said of the group."""

    __slots__ = ("exact",)
    exact: RelationStats


class Perturbed(Estimator):
    """`exact` says the rows, `q` ≥ 1 is the largest error."""

    def __init__(self, catalog: Catalog, columns: Columns, exact: Estimator, q: float, seed: int) -> None:
        super().__init__(catalog, columns)
        self._exact, self._q, self._seed = exact, max(1.0, q), seed
        self._texts = CanonicalTexts()

    def estimate(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        exact = self._exact.estimate(op, props, [_exact(stats) for stats in inputs])
        if isinstance(op, With | Spool | CteReference | Recursion):
            return self._spooled(op, props, inputs, exact)
        if is_inner_join(op):
            leaves = sorted((leaf for stats in inputs for leaf in stats.leaves), key=lambda leaf: min(leaf.columns, default=-1))
            predicate = combined([*op.predicate, *(s for stats in inputs for s in stats.predicate)])
            trees = [leaf.tree for leaf in leaves if leaf.tree is not None]
            tree = joined(trees, predicate)
            rows = exact.rows * self._error(RelationSet(tree, self._texts))
            stats = PerturbedStats(rows, narrowed(exact.columns, (), rows), None, props.keys, tuple(leaves), predicate)
        else:
            found = expression(op, inputs)
            assert found is not None, "every group made here has an expression"
            tree = found
            rows = self._rows(op, exact, inputs, RelationSet(tree, self._texts))
            base = rows if exact.base_rows == exact.rows else exact.base_rows
            stats = PerturbedStats(rows, narrowed(exact.columns, (), rows), base, props.keys)
        stats.tree, stats.exact = tree, exact
        return stats

    def _spooled(
        self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats], exact: RelationStats
    ) -> RelationStats:
        """No error but that of what a spool holds."""
        below = super().estimate(op, props, inputs)
        stats = PerturbedStats(below.rows, below.columns, None, props.keys)
        held = self._spools[op.spool].tree if isinstance(op, CteReference) else inputs[-1].tree
        held = expression(op, inputs) if isinstance(op, Recursion) else held
        assert held is not None, "every group made here has an expression"
        stats.tree = under_columns(held, op, self.columns) if isinstance(op, CteReference) else held
        stats.exact = exact
        return stats

    def _rows(self, op: LogicalOperator, exact: RelationStats, inputs: Sequence[RelationStats], relations: RelationSet) -> float:
        match op:
            case Scan(predicate=(), limit=None) | Values() | Aggregate(keys=()):
                return exact.rows
            case Limit():
                return limited(inputs[0].rows, op.offset, op.count)
        if follows_from_input(op):
            return sum(stats.rows for stats in (inputs if isinstance(op, SetOp) else inputs[:1]))
        return exact.rows * self._error(relations)

    def _error(self, relations: RelationSet) -> float:
        """The factor of a relation set: deterministic, from 1/q to q."""
        drawn = hashlib.sha256(f"{self._seed}/{relations.digest}".encode()).digest()
        share = int.from_bytes(drawn[:8], "big") / float(1 << 64)  # 0 to 1
        return float(self._q ** (2.0 * share - 1.0))


def _exact(stats: RelationStats) -> RelationStats:
    assert isinstance(stats, PerturbedStats), "perturbed rows are made of perturbed rows"
    return stats.exact
