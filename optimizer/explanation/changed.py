"""Figures that are changed on purpose: row counts of relation sets, and factors on the cost of operators."""

from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from optimizer.algebra.columns import Columns
from optimizer.algebra.logical import LogicalOperator, Scan
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.traits import TraitSet
from optimizer.cost.joins import JoinCosts
from optimizer.cost.model import Bounded, CostModel, LinearJoins, Reruns, linear_joins
from optimizer.errors import SettingsError
from optimizer.joins.graph import Relations
from optimizer.stats.estimator import Estimator
from optimizer.stats.known_rows import KnownRows
from optimizer.stats.region import RegionRows
from optimizer.stats.relation import RelationStats
from optimizer.stats.relation_set import RelationSet

Rows = Mapping[frozenset[str], float]
"""Rows by set of aliases, in lower case: of a table after its filters, or of the inner join of several."""

IN_ARITHMETIC = ("hash_join", "merge_join", "nested_loop_join", "sort", "partial_sort")  # operators that `JoinCosts` is about


def changed_estimator(base: Estimator, rows: Rows) -> Estimator:
    """The estimator with other row counts for some sets. Every inner join that holds a changed one changes by the same factor;
    an estimator that looks rows up goes on knowing the rows that it knows. Raises SettingsError for one that does neither."""
    if not rows:
        return base
    own, made = type(base), copy(base)
    if isinstance(base, KnownRows):
        made.__class__ = type(f"Changed{own.__name__}", (_ChangedKnown, own), {})
    elif own.estimate is Estimator.estimate and own.inner_region is Estimator.inner_region:
        made.__class__ = type(f"Changed{own.__name__}", (_Changed, own), {})
    else:
        raise SettingsError(f"row counts cannot be changed under the estimator {own.__name__}: it estimates joins by itself")
    vars(made).update(changed=rows, applied=set[frozenset[str]]())
    return made


def unheeded(estimator: Estimator) -> list[frozenset[str]]:
    """The sets whose rows were changed and that nothing asked for: the query has no such scan or inner join."""
    applied: set[frozenset[str]] = getattr(estimator, "applied", set())
    return [aliases for aliases in getattr(estimator, "changed", ()) if aliases not in applied]


def names_of(columns: Columns, stats: RelationStats) -> frozenset[str]:
    """The aliases that the columns of a relation come from, in lower case."""
    return frozenset(columns[c].alias.lower() for c in stats.columns) - {""}


def inside(aliases: frozenset[str], names: Sequence[frozenset[str]]) -> Relations:
    """The relations, by their names, that a set of aliases is; 0 where it is none of them, not whole ones, or several share an
    alias, as those of two query blocks may."""
    found = [i for i, own in enumerate(names) if own and own <= aliases]
    whole = sorted(name for i in found for name in names[i]) == sorted(aliases)
    return sum(1 << i for i in found) if whole else 0


class _ChangedKnown(KnownRows):
    changed: Rows
    applied: set[frozenset[str]]

    def known(self, relations: RelationSet) -> float | None:
        aliases = relations.aliases
        if aliases is None or aliases not in self.changed:
            return super().known(relations)
        self.applied.add(aliases)
        return self.changed[aliases]


class _Changed(Estimator):
    changed: Rows
    applied: set[frozenset[str]]

    def _scan(self, op: Scan, props: LogicalProps) -> RelationStats:
        stats = super()._scan(op, props)
        aliases = frozenset((op.alias.lower(),))
        given = self.changed.get(aliases)
        if given is not None:
            self.applied.add(aliases)
            stats.rows, stats.base_rows = given, max(given, stats.base_rows)
        return stats

    def region(self, leaves: Sequence[RelationStats], predicate: Predicate) -> RegionRows:
        region = super().region(leaves, predicate)
        names = [names_of(self.columns, leaf) for leaf in leaves]
        factors: list[tuple[Relations, float]] = []
        for aliases in sorted(self.changed, key=len):
            s = inside(aliases, names)
            if s & (s - 1):
                self.applied.add(aliases)
                now = _ChangedRegion(region, factors).rows(s)
                factors.append((s, self.changed[aliases] / now if now > 0.0 else 1.0))
        return _ChangedRegion(region, factors) if factors else region


class _ChangedRegion(RegionRows):
    """The rows of a region, times the factor of each changed set that a set holds."""

    def __init__(self, region: RegionRows, factors: list[tuple[Relations, float]]) -> None:
        self._region, self._factors = region, factors

    def rows(self, s: Relations) -> float:
        rows = self._region.rows(s)
        for within, factor in self._factors:
            if not within & ~s:
                rows *= factor
        return rows

    def vector(self, sets: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        rows = self._region.vector(sets)
        for within, factor in self._factors:
            rows = np.where(sets & within == within, rows * factor, rows)
        return rows


def changed_cost(base: CostModel, factors: Mapping[str, float]) -> CostModel:
    """The cost model with the local cost of some operators, by name, times a factor."""
    if not factors:
        return base
    made = ScaledCost(base, factors) if not isinstance(base, Reruns) else _ScaledReruns(base, factors)
    linear = linear_joins(base) is not None and not any(name in factors for name in IN_ARITHMETIC)
    if linear:  # the arithmetic of joins is the base's
        made.__class__ = type("Linear" + type(made).__name__, (_LinearScaled, type(made)), {})
    return made


class ScaledCost:
    """Bounds are the base's times the least factor, if that is below 1: each operator costs at least so much of what it did."""

    def __init__(self, base: CostModel, factors: Mapping[str, float]) -> None:
        self.base, self.factors, self.name = base, factors, base.name
        self.least_factor = min(1.0, *factors.values())

    def local(self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        return self.base.local(op, delivered, output, inputs) * self.factors.get(op.name, 1.0)

    def least(self, op: LogicalOperator, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        return self.base.least(op, output, inputs) * self.least_factor

    def lower_bound(
        self, op: LogicalOperator, output: RelationStats, inputs: Sequence[Bounded], leaves: Sequence[Bounded]
    ) -> float:
        return self.base.lower_bound(op, output, inputs, leaves) * self.least_factor


class _ScaledReruns(ScaledCost):
    def rerun(
        self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Sequence[RelationStats],
        kept: Sequence[bool],
    ) -> float:  # fmt: skip
        assert isinstance(self.base, Reruns)
        return self.base.rerun(op, delivered, output, inputs, kept) * self.factors.get(op.name, 1.0)

    def least_rerun(self, op: LogicalOperator) -> float:
        assert isinstance(self.base, Reruns)
        return self.base.least_rerun(op) * self.least_factor


class _LinearScaled(ScaledCost):
    def join_costs(self) -> JoinCosts:
        assert isinstance(self.base, LinearJoins)
        return self.base.join_costs()
