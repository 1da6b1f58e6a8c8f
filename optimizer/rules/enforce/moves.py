"""All moves by which enforcers meet a goal from weaker goals of the same group."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import TraitSet
from optimizer.rules.enforce import partial_sort, sort


class Move(NamedTuple):
    """`op` over a plan of the same group with `needs` has `delivers`."""

    op: PhysicalOperator
    needs: TraitSet
    delivers: TraitSet


def enforcers(required: TraitSet, offers: Sequence[TraitSet], props: LogicalProps, enabled: Collection[str]) -> tuple[Move, ...]:
    """The moves that meet `required`, which was reduced in the group with `props`; () when nothing is required.

    `enabled` names the enforcers that may be used. Each move needs strictly weaker traits than it delivers, so no chain of
    moves comes back to where it began.
    """
    moves: list[Move] = []
    if sort.name in enabled and (sorting := sort.enforce(required)) is not None:
        op, needs = sorting
        moves.append(Move(op, needs, TraitSet(op.order)))
    if partial_sort.name in enabled:
        moves += [Move(op, needs, required) for op, needs in partial_sort.enforce(required, offers, props)]
    return tuple(moves)
