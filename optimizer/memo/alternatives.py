"""The ways in which a physical expression can meet a goal: pass-through of what is required, derive from what is offered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from optimizer.algebra.columns import ColumnSet, column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import HashJoin, MergeJoin, NestedLoopJoin, PhysicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import ANY, Alternative, TraitSet, completed, grouping_orders, interposed, reduce_traits, satisfies
from optimizer.memo.goal import Goal
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import PhysicalExpr


class Derived(NamedTuple):
    """What came of the order `offer` that input number `input` can have without a sort."""

    input: int
    offer: TraitSet
    alternatives: list[Alternative]


def alternatives(memo: Memo, goal: Goal, physical: PhysicalExpr) -> list[Alternative]:
    """All alternatives of `physical` that satisfy the goal's traits, without those that ask the same of the same inputs."""
    found = passed_through(memo, goal, physical)
    for derived in derive(memo, goal, physical, found):
        found += derived.alternatives
    return found


def passed_through(memo: Memo, goal: Goal, physical: PhysicalExpr) -> list[Alternative]:
    """Those that ask the inputs for what the goal requires."""
    output, groups = memo.groups[goal.group].props, [memo.groups[g] for g in physical.inputs]
    inputs = [group.props for group in groups]
    found = physical.op.pass_through(goal.required, output, inputs)
    if len(found) > 1:
        return _new(found, goal.required, output, inputs, set())
    return [each for each in found if satisfies(each.delivered, goal.required, output)]


def derive(memo: Memo, goal: Goal, physical: PhysicalExpr, known: list[Alternative]) -> list[Derived]:
    """Those that an order which an input can have without a sort gives beside the `known` ones; for each such order."""
    required = goal.required
    if required == ANY and any(all(traits == ANY for traits in each.inputs) for each in known):
        return []  # none is worth trying beside one that asks for nothing
    output, groups = memo.groups[goal.group].props, [memo.groups[g] for g in physical.inputs]
    leading = -1 if required == ANY else _leading(required, output)
    offers = []
    for index, group in enumerate(groups):
        if group.offers:
            helps = leading if _first_is_kept(physical.op, index) else -1
            offers += [(index, offer) for offer in group.offers if helps >> offer.collation[0].column & 1]
    if not offers:
        return []
    inputs = [group.props for group in groups]
    seen = {_key(alternative, inputs) for alternative in known}
    kept = list(known)
    result = []
    for index, offer in offers:
        ways = dict.fromkeys((offer, *_completed(offer, required, output, inputs[index])))
        if required.collation:
            begun = physical.op.before_offers(required.collation, inputs[index])
            ways |= dict.fromkeys(TraitSet(start + offer.collation) for start in begun)
        if required.grouping and isinstance(physical.op, MergeJoin) and index == 0:
            ways |= dict.fromkeys(map(TraitSet, grouping_orders(offer.collation, required.grouping, output, inputs[0])))
        found = tuple(each for way in ways for each in physical.op.derive(way, index, output, inputs))
        if isinstance(physical.op, NestedLoopJoin) and index == 1 and physical.op.kind in (JoinKind.INNER, JoinKind.LEFT):
            found += tuple(physical.op.right_offered(offer.collation, required, output, inputs))
        if required == ANY:
            found = tuple(each for each in found if _worth(each, kept, inputs))
        new = _new(found, required, output, inputs, seen)
        if new:
            kept += new
            result.append(Derived(index, offer, new))
    return result


def _leading(required: TraitSet, output: LogicalProps) -> ColumnSet:
    """The columns with which an offer may begin that helps an order which has what is required: its first, or what it determines
    before its last."""
    if required.grouping:
        return output.closure(required.grouping)
    known: ColumnSet | None = output.answers.get(("leading", required))
    if known is None:
        *before, _ = required.collation
        known = output.closure(column_set(key.column for key in before))
        for key in before:
            known &= ~output.equivalents(key.column)
        known |= output.equivalents(required.collation[0].column)
        output.answers["leading", required] = known
    return known


def _first_is_kept(op: PhysicalOperator, index: int) -> bool:
    """Whether what an operator derives from an order of input `index` begins, but for constants, with a column that equals the
    first of that order in the output."""
    if index == 0:
        return isinstance(op, HashJoin | MergeJoin | NestedLoopJoin)
    return isinstance(op, HashJoin | MergeJoin) and op.kind is JoinKind.INNER


def _completed(offer: TraitSet, required: TraitSet, output: LogicalProps, input: LogicalProps) -> Iterable[TraitSet]:
    """An offer goes on as the required order does, and no further: a sort by less is cheaper. Or its first keys stand between
    two that are required, if they are determined there."""
    if not required.collation:
        return ()
    ways = completed(offer.collation, required.collation, input.columns, output, input)
    return map(TraitSet, (*ways, *interposed(offer.collation, required.collation, input.columns, output, input)))


Key = tuple[tuple[TraitSet, ...], bool]


def _key(alternative: Alternative, inputs: list[LogicalProps]) -> Key:
    return tuple(map(reduce_traits, alternative.inputs, inputs)), alternative.delivered != ANY


def _new(
    found: Iterable[Alternative], required: TraitSet, output: LogicalProps, inputs: list[LogicalProps], seen: set[Key]
) -> list[Alternative]:
    """Those that satisfy what is required and were not `seen`, to which they are added."""
    new = []
    for alternative in found:
        if satisfies(alternative.delivered, required, output):
            key = _key(alternative, inputs)
            if key not in seen:
                seen.add(key)
                new.append(alternative)
    return new


def _worth(alternative: Alternative, others: list[Alternative], inputs: list[LogicalProps]) -> bool:
    """For a goal without traits: an alternative is worth trying unless another asks no more of every input."""
    return not any(all(map(satisfies, alternative.inputs, other.inputs, inputs)) for other in others)
