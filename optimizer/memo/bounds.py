"""Lower bounds of groups that hold more than one kind of expression.

A group is made with a bound for its first expression. A rule that moves an aggregate below a join, or a semi-join into an
inner one, puts an expression there that can cost less than that: it need not produce the rows that the first one reads. So,
once a memo is explored,

    bound(G) = min over the expressions e of G of bound(e)
    bound(e) = what the cost model proves of e's operator over inputs that cost at least their bounds

where the joins of a region of inner joins count as one expression over the region's leaves, since they only add to what the
leaves cost. That is so of a join over these leaves whose inputs cost no less than their own regions do; any other join of the
group counts for itself, over its inputs: one that takes a leaf apart, or reads a group that can be had for less. Where the splits
of a region are no expressions, its bound is less by what all such groups of its leaves save. By induction over its height, no
plan of G costs less. It is the largest solution below the bounds that the groups were made with: bounds only fall, and where a
group may contain itself, a round costs something, so a fixpoint is reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.memo.goal import INFINITY
from optimizer.memo.group import Group
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr


def lower_bounds_fall(memo: Memo) -> list[Group]:
    """Lower the bound of every group to what all its expressions allow. Returns the groups whose bounds fell."""
    fallen: dict[int, Group] = {}
    groups = memo.live_groups()
    # a group's first expression gave it its bound, and merges are all that lowered bounds meanwhile
    waiting = dict.fromkeys(group.id for group in groups if memo.merges or len(group.logical) > 1)
    over: dict[int, list[int]] = {}  # group -> groups of inner joins that have it among their leaves
    for group in groups:
        for leaf in group.region.leaves if group.region is not None else ():
            over.setdefault(memo.find(leaf), []).append(group.id)
    kinds: dict[int, Kinds] = {}
    undercut: dict[int, _Undercut] = {}
    while waiting:
        group = memo.group(next(iter(waiting)))
        del waiting[group.id]
        each = kinds.get(group.id)
        if each is None:
            each = kinds[group.id] = kinds_of(memo, group)
        region = INFINITY
        leaves = () if group.region is None else group.region.leaves
        if each.region:
            region = _bound(memo, group, each.region[0], leaves)
        allowed, alone = region, each.others
        if undercut and any(isinstance(join.op, JoinGraph) and join.barred for join in each.region):  # splits are no expressions
            saved = sum(part.saved for part in undercut.values() if part.leaves < set(leaves))
            allowed = max(0.0, region - saved)
        if undercut and each.region:
            alone = [*alone, *(join for join in each.region if not undercut.keys().isdisjoint(join.inputs))]
        bound = min([allowed, *(_bound(memo, group, mexpr, mexpr.inputs) for mexpr in alone)])
        fell = bound < group.lower
        if fell:
            group.lower = bound
            fallen[group.id] = group
            waiting.update(dict.fromkeys(over.get(group.id, ())))
        known = undercut.get(group.id)
        cheaper = group.lower < region < INFINITY and (known is None or known.saved < region - group.lower)
        if cheaper:
            undercut[group.id] = _Undercut(frozenset(leaves), region - group.lower)
            waiting.update(dict.fromkeys(over[leaves[0]]))
        if fell or cheaper:
            waiting.update(dict.fromkeys(memo.find(parent.group) for parent in group.parents))
    return list(fallen.values())


class _Undercut(NamedTuple):
    """A group that can be had for less than the joins over its `leaves`, by as much as `saved`."""

    leaves: frozenset[int]
    saved: float


class Kinds(NamedTuple):
    """The expressions of a group: the joins over the leaves of its region, and all others."""

    region: list[LogicalExpr]
    others: list[LogicalExpr]


def kinds_of(memo: Memo, group: Group) -> Kinds:
    """The expressions of a group by what they are to its region."""
    if group.region is None:
        return Kinds([], group.logical)
    kinds = Kinds([], [])
    for mexpr in group.logical:
        joins = _is_inner(mexpr) and memo.leaves(mexpr.inputs) == group.region.leaves
        (kinds.region if joins else kinds.others).append(mexpr)
    return kinds


def _is_inner(mexpr: LogicalExpr) -> bool:
    return isinstance(mexpr.op, JoinGraph) or (isinstance(mexpr.op, Join) and mexpr.op.kind is JoinKind.INNER)


def _bound(memo: Memo, group: Group, mexpr: LogicalExpr, leaves: Sequence[int]) -> float:
    """What plans through an expression cost at least; for a join of the group's region, plans through any of its joins."""
    inputs = [memo.group(gid) for gid in mexpr.inputs]
    return memo.figures.lower_bound(mexpr.op, group.stats, inputs, [memo.group(gid) for gid in leaves])
