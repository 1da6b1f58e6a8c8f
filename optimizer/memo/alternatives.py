"""The ways in which a physical expression can meet a goal: pass-through of what is required, derive from what is offered."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from optimizer.algebra.columns import ColumnSet, column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.physical import HashJoin, MergeJoin, NestedLoopJoin, PhysicalOperator, StreamingAggregate
from optimizer.algebra.physical.joins import RIGHT_ORDER
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
    sayable,
)
from optimizer.memo.goal import Goal
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import PhysicalExpr

Offers: TypeAlias = list[tuple[int, TraitSet]]  # orders, each with the number of the input that offers it


class Offered(NamedTuple):
    """What the inputs of an expression can have without a sort: orders of each. `leading`: the columns with which one may begin
    that helps where what is made of it begins alike; `before`: what the keys of a required order but its last determine."""

    output: LogicalProps
    inputs: list[LogicalProps]
    offers: list[tuple[TraitSet, ...]]
    leading: ColumnSet
    before: ColumnSet


class Derived(NamedTuple):
    """What came of the order `offer` that input number `input` can have without a sort."""

    input: int
    offer: TraitSet
    alternatives: list[Alternative]


def alternatives(memo: Memo, goal: Goal, physical: PhysicalExpr) -> list[Alternative]:
    """All alternatives of `physical` that satisfy the goal's traits, without those that ask the same of the same inputs."""
    found = passed_through(memo, goal, physical)
    by = offered(memo, goal, physical.inputs)
    if by is not None:
        for derived in derive(goal, physical.op, found, by, helpful(goal, physical.op, found, by)):
            found += derived.alternatives
    return found


def passed_through(memo: Memo, goal: Goal, physical: PhysicalExpr) -> list[Alternative]:
    """Those that ask the inputs for what the goal requires."""
    required, output, groups = goal.required, memo.groups[goal.group].props, memo.groups
    inputs = [groups[g].props for g in physical.inputs]
    found = list(physical.op.pass_through(required, output, inputs))
    if required != ANY:
        found = [each for each in found if satisfies(each.delivered, required, output)]
    return _new(found, inputs, set()) if len(found) > 1 else found


def offered(memo: Memo, goal: Goal, inputs: tuple[int, ...]) -> Offered | None:
    """What the groups `inputs` offer to an expression of the goal's group; None where that is nothing."""
    groups = [memo.groups[g] for g in inputs]
    offers = [group.offers for group in groups]
    if not any(offers):
        return None
    output = memo.groups[goal.group].props
    leading, before = (-1, 0) if goal.required == ANY else _leading(goal.required, output)
    if not sayable(goal.required.collation, groups[0].props.columns, output):
        leading = 0  # no order of the left input is as required
    return Offered(output, [group.props for group in groups], offers, leading, before)


def helpful(goal: Goal, op: PhysicalOperator, known: list[Alternative], by: Offered) -> Offers:
    """The offers that may give an operator an alternative beside the `known` ones."""
    if goal.required == ANY:
        if type(op) is StreamingAggregate or any(all(traits == ANY for traits in each.inputs) for each in known):
            return []  # none is worth trying beside one that asks for nothing, or for groups in whatever order
        if type(op) is MergeJoin and len(op.keys) <= ALL_PERMUTATIONS:  # all orders that ascend were passed through
            unlike = [(n, offer) for n, offers in enumerate(by.offers) for offer in offers]
            return [each for each in unlike if any(key.descending or key.nulls_first for key in each[1].collation)]
    found = []
    for index, offers in enumerate(by.offers):
        helping = _helping(goal, op, index, by) if offers else 0
        if helping:
            open_ = [offer for offer in offers if helping >> offer.collation[0].column & 1]
            found += [(index, offer) for offer in open_ if not _asked(op, index, offer, known, by)]
    return found


def _asked(op: PhysicalOperator, index: int, offer: TraitSet, known: list[Alternative], by: Offered) -> bool:
    """Whether the only alternative of a join asks for an order that begins as the offer: however that goes on, it is this."""
    follows = index == 0 if type(op) is not MergeJoin else len(op.keys) == 1
    joins = type(op) is HashJoin or type(op) is NestedLoopJoin or type(op) is MergeJoin
    return joins and follows and len(known) == 1 and satisfies(known[0].inputs[index], offer, by.inputs[index])


def derive(goal: Goal, op: PhysicalOperator, known: list[Alternative], by: Offered, offers: Offers) -> list[Derived]:
    """What each of `offers` gives beside the `known` alternatives, where that is something."""
    required, output, inputs = goal.required, by.output, by.inputs
    seen: set[Key] = set()
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
        if isinstance(op, NestedLoopJoin) and index == 1 and op.kind in RIGHT_ORDER:
            found += tuple(op.right_offered(offer.collation, required, output, inputs))
        new = [each for each in found if satisfies(each.delivered, required, output)]
        if required == ANY:
            new = [each for each in new if _worth(each, kept, inputs)]
        if new:
            seen = seen or {_key(alternative, inputs) for alternative in known}
            new = _new(new, inputs, seen)
        if new:
            kept += new
            result.append(Derived(index, offer, new))
    return result


def _leading(required: TraitSet, output: LogicalProps) -> tuple[ColumnSet, ColumnSet]:
    """`leading` and `before` of what is offered: an order helps that begins with the first required, or with what is determined
    before the last, though not with what equals a key before that."""
    if required.grouping:
        return output.closure(required.grouping), 0
    known: tuple[ColumnSet, ColumnSet] | None = output.answers.get(("leading", required))
    if known is None:
        *keys, _ = required.collation
        before = leading = output.closure(column_set(key.column for key in keys))
        for key in keys:
            leading &= ~output.equivalents(key.column)
        leading |= output.equivalents(required.collation[0].column)
        known = output.answers["leading", required] = leading, before
    return known


def _helping(goal: Goal, op: PhysicalOperator, index: int, by: Offered) -> ColumnSet:
    """The columns with which an order of input `index` may begin to be of use to an operator: the `leading` ones where what the
    operator makes of it begins, but for constants, with a column that equals the first of that order in the output. Nothing is
    known of operators that are derived from ours."""
    if type(op) is HashJoin:
        return 0 if index or op.build_left else by.leading
    if type(op) is MergeJoin:
        return by.leading if index == 0 or op.kind is JoinKind.INNER else -1
    if type(op) is not NestedLoopJoin:
        return 0 if type(op).derive is PhysicalOperator.derive else -1
    if index == 0:
        return by.leading
    if op.kind not in RIGHT_ORDER:
        return 0
    reach = by.leading if goal.required.grouping else by.before
    if not any(not key & ~reach for key in by.inputs[0].keys):  # rows of several left rows would be mixed
        return 0
    return -1 if by.output.unique_on(0, by.inputs[0].keys) else reach


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


def _new(found: Iterable[Alternative], inputs: list[LogicalProps], seen: set[Key]) -> list[Alternative]:
    """Those that were not `seen`, to which they are added."""
    new = []
    for alternative in found:
        key = _key(alternative, inputs)
        if key not in seen:
            seen.add(key)
            new.append(alternative)
    return new


def _worth(alternative: Alternative, others: list[Alternative], inputs: list[LogicalProps]) -> bool:
    """For a goal without traits: an alternative is worth trying unless another asks no more of every input."""
    return not any(all(map(satisfies, alternative.inputs, other.inputs, inputs)) for other in others)
