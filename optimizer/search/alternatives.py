"""The ways in which a physical expression can meet a goal: pass-through of what is required, derive from what is offered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import ANY, Alternative, TraitSet, reduce_traits, satisfies
from optimizer.memo.goal import Goal
from optimizer.memo.group import PhysicalExpr

if TYPE_CHECKING:
    from optimizer.search.search import Search


def alternatives(search: Search, goal: Goal, physical: PhysicalExpr) -> list[Alternative]:
    """Alternatives of `physical` that satisfy the goal's traits, without those that ask the same of the same inputs."""
    memo, required = search.memo, goal.required
    output = memo.groups[goal.group].props
    groups = [memo.groups[g] for g in physical.inputs]
    inputs = [g.props for g in groups]
    found: list[Alternative] = []
    seen: set[tuple[tuple[TraitSet, ...], bool]] = set()

    def consider(alternative: Alternative, kind: str, offered: TraitSet | None) -> None:
        if not satisfies(alternative.delivered, required, output):
            return
        asks = tuple(reduce_traits(t, p) for t, p in zip(alternative.inputs, inputs, strict=True))
        key = (asks, alternative.delivered != ANY)
        if key in seen:
            return
        seen.add(key)
        found.append(alternative)
        if search.trace is not None and (required != ANY or offered is not None):
            label = search.context.columns.label
            search.trace.emit(
                kind, goal=goal.id, mexpr=physical.id, required=required.show(label),
                offered=offered.show(label) if offered is not None else None,
                delivered=alternative.delivered.show(label), inputs=[t.show(label) for t in alternative.inputs],
            )  # fmt: skip

    for alternative in physical.op.pass_through(required, output, inputs):
        consider(alternative, "pass_through", None)
    for index, group in enumerate(groups):
        for offer in group.offers:
            for alternative in physical.op.derive(offer, index, output, inputs):
                if required != ANY or _worth(alternative, found, inputs):
                    consider(alternative, "derive", offer)
    return found


def _worth(alternative: Alternative, found: list[Alternative], inputs: list[LogicalProps]) -> bool:
    """For a goal without traits: an alternative is worth trying unless another asks no more of every input."""
    return not any(all(map(satisfies, alternative.inputs, other.inputs, inputs)) for other in found)
