"""The ways in which a physical expression can meet a goal: pass-through of what is required, derive from what is offered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from optimizer.algebra.columns import ColumnSet, column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import HashJoin, MergeJoin, NestedLoopJoin, PhysicalOperator, StreamingAggregate
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import (
    ALL_PERMUTATIONS,
    ANY,
    Alternative,
    TraitSet,
    completed,
    grouping_orders,
    interposed,
    reduce_traits,
    satisfies,
)
from optimizer.memo.goal import Goal
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import PhysicalExpr


class Offered(NamedTuple):
    """What the inputs of an expression can have without a sort: orders, each with the number of its input. `leading`: the columns
    with which one may begin that helps where what is made of it begins alike."""

    output: LogicalProps
    inputs: list[LogicalProps]
    offers: list[tuple[int, TraitSet]]
    leading: ColumnSet


class Derived(NamedTuple):
    """What came of the order `offer` that input number `input` can have without a sort."""

    input: int
    offer: TraitSet
    alternatives: list[Alternative]


def alternatives(memo: Memo, goal: Goal, physical: PhysicalExpr) -> list[Alternative]:
    """All alternatives of `physical` that satisfy the goal's traits, without those that ask the same of the same inputs."""
    found = passed_through(memo, goal, physical)
    for derived in derive(goal, physical.op, found, offered(memo, goal, physical.inputs)):
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


def offered(memo: Memo, goal: Goal, inputs: tuple[int, ...]) -> Offered:
    """What the groups `inputs` offer to an expression of the goal's group."""
    output, groups = memo.groups[goal.group].props, [memo.groups[g] for g in inputs]
    offers = [(index, offer) for index, group in enumerate(groups) for offer in group.offers]
    leading = -1 if goal.required == ANY or not offers else _leading(goal.required, output)
    return Offered(output, [group.props for group in groups], offers, leading)


def derive(goal: Goal, op: PhysicalOperator, known: list[Alternative], by: Offered) -> list[Derived]:
    """Those that an order which an input can have without a sort gives beside the `known` ones; for each such order."""
    required, (output, inputs, offers, _) = goal.required, by
    if required == ANY:
        if type(op) is StreamingAggregate or any(all(traits == ANY for traits in each.inputs) for each in known):
            return []  # none is worth trying beside one that asks for nothing, or for groups in whatever order
        if type(op) is MergeJoin and len(op.keys) <= ALL_PERMUTATIONS:  # all orders that ascend were passed through
            offers = [each for each in offers if any(key.descending or key.nulls_first for key in each[1].collation)]
    helping = [_helping(op, index, by.leading) for index in range(len(inputs))]
    offers = [(index, offer) for index, offer in offers if helping[index] >> offer.collation[0].column & 1]
    if not offers:
        return []
    seen = {_key(alternative, inputs) for alternative in known}
    kept = list(known)
    result = []
    for index, offer in offers:
        ways = dict.fromkeys(_completed(offer, required, output, inputs[index]))
        if required.collation:
            begun = op.before_offers(required.collation, inputs[index])
            ways |= dict.fromkeys(TraitSet(start + offer.collation) for start in begun)
        if required.grouping and isinstance(op, MergeJoin) and index == 0:
            ways |= dict.fromkeys(map(TraitSet, grouping_orders(offer.collation, required.grouping, output, inputs[0])))
        found = tuple(each for way in ways for each in op.derive(way, index, output, inputs))
        if isinstance(op, NestedLoopJoin) and index == 1 and op.kind in (JoinKind.INNER, JoinKind.LEFT):
            found += tuple(op.right_offered(offer.collation, required, output, inputs))
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


def _helping(op: PhysicalOperator, index: int, leading: ColumnSet) -> ColumnSet:
    """The columns with which an order of input `index` may begin to be of use to an operator: the `leading` ones where what the
    operator makes of it begins, but for constants, with a column that equals the first of that order in the output. Nothing is
    known of operators that are derived from ours."""
    if type(op) is HashJoin:
        return 0 if index or op.build_left else leading
    if type(op) is MergeJoin:
        return leading if index == 0 or op.kind is JoinKind.INNER else -1
    return leading if type(op) is NestedLoopJoin and index == 0 else -1


def _completed(offer: TraitSet, required: TraitSet, output: LogicalProps, input: LogicalProps) -> Sequence[TraitSet]:
    """An offer, and how it goes on as the required order does, and no further: a sort by less is cheaper. Or its first keys stand
    between two that are required, if they are determined there."""
    wanted = required.collation
    if not wanted:
        return (offer,)
    key = (offer, required, output.other(input))
    known: Sequence[TraitSet] | None = output.answers.get(key)
    if known is None:  # kept, since the joins of one input ask alike
        ways = completed(offer.collation, wanted, input.columns, output, input)
        more = interposed(offer.collation, wanted, input.columns, output, input)
        known = output.answers[key] = [offer, *map(TraitSet, (*ways, *more))]
    return known


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
