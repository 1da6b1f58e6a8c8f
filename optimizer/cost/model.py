"""What the search asks of a cost model."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.traits import TraitSet
from optimizer.cost.joins import JoinCosts
from optimizer.stats.relation import RelationStats


class Bounded(Protocol):
    """A group as a cost model sees it: its estimate and the bound already known for it."""

    @property
    def stats(self) -> RelationStats: ...

    @property
    def lower(self) -> float: ...


class CostModel(Protocol):
    """Costs are additive: a plan costs the sum of its operators' local costs, none of them negative."""

    name: str

    def local(self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        """Cost of one operator without its inputs. Depends on nothing but the arguments."""
        ...

    def least(self, op: LogicalOperator, output: RelationStats, inputs: Sequence[RelationStats]) -> float:
        """A local cost that no implementation of a logical operator undercuts. Lets the search drop a logical
        expression before any physical one is made of it."""
        ...

    def lower_bound(
        self, op: LogicalOperator, output: RelationStats, inputs: Sequence[Bounded], leaves: Sequence[Bounded]
    ) -> float:
        """A cost that no plan of the group undercuts, whatever its shape and traits (admissible).

        `op` over `inputs` is the group's first expression; for a region of inner joins `leaves` are the relations joined.
        """
        ...


@runtime_checkable
class Reruns(Protocol):
    """A cost model that tells an operator's first run from further ones, in the right input of an Apply, which runs once for
    each binding. n runs cost `local` + (n - 1) · `rerun`; other models have each run cost `local`."""

    def rerun(
        self, op: PhysicalOperator, delivered: TraitSet, output: RelationStats, inputs: Sequence[RelationStats],
        kept: Sequence[bool],
    ) -> float:  # fmt: skip
        """Cost of one further run, without inputs. `kept[i]`: input i reads no outer column and is not volatile, so it was run
        once and its rows are kept."""
        ...

    def least_rerun(self, op: LogicalOperator) -> float:
        """A cost of a further run that no implementation of a logical operator undercuts."""
        ...


@runtime_checkable
class LinearJoins(Protocol):
    """A cost model whose inner joins are linear in rows may say so; the coefficients must agree with `local`."""

    def join_costs(self) -> JoinCosts: ...


def linear_joins(cost: CostModel) -> LinearJoins | None:
    """The model, if its inner joins are linear in rows. An inherited `join_costs` says nothing of a `local` that is not: the
    two need not agree."""
    if not isinstance(cost, LinearJoins):
        return None
    homes = [set(vars(each)) for each in type(cost).__mro__]
    says, costs = (next((i for i, home in enumerate(homes) if name in home), 0) for name in ("join_costs", "local"))
    return cost if says <= costs else None
