"""Lower bounds of groups, once all their expressions are known.

A group is made with a bound for its first expression. A rule that moves an aggregate below a join, or a semi-join into an
inner one, puts an expression there that can cost less than that: it need not produce the rows that the first one reads. So,
once a memo is explored,

    bound(G) = min over the expressions e of G of bound(e)
    bound(e) = the least that e's operator costs by itself, and the bounds of its inputs

where the inner joins over the same leaves, relations that are no regions of inner joins themselves, count as one expression
over these, since they only add to what the leaves cost. That is so of a join whose inputs cost no less than their own joins
over leaves do; one that reads a group that can be had for less also counts for itself, over its inputs. Where the splits of a
region are no expressions, its bound is less by what all such groups of its leaves save. By induction over its height, no plan
of G costs less. It is the largest solution below the bounds that the groups were made with: bounds only fall, and where a group
may contain itself, a round costs something, so a fixpoint is reached.

Then they rise: with bounds that hold for the inputs, the least that any of all expressions costs over them holds for the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from optimizer.algebra.join_graph import JoinGraph, is_inner_join
from optimizer.algebra.region_graph import RegionGraph
from optimizer.memo.goal import ROUNDING
from optimizer.memo.group import Group
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr

Leaves: TypeAlias = tuple[int, ...]
Least: TypeAlias = Callable[[LogicalExpr], float]  # what an expression costs at least by itself


def lower_bounds_fall(memo: Memo, least: Least) -> list[Group]:
    """Lower the bound of every group to what all its expressions allow. Returns the groups whose bounds fell."""
    fallen: dict[int, Group] = {}
    groups = memo.live_groups()
    kinds = {group.id: kinds_of(memo, group) for group in groups if len(group.logical) > 1 or group.region is not None}
    # a group's first expression gave it its bound; only a merge has lowered it meanwhile, or changed the rows that a parent reads
    waiting = dict.fromkeys(gid for gid, (regions, others) in kinds.items() if len(regions) + len(others) > 1)
    over: dict[int, list[int]] = {}  # group -> groups of inner joins that have it among their leaves
    for gid, (regions, _) in kinds.items():
        for leaf in {leaf for leaves in regions for leaf in leaves}:
            over.setdefault(leaf, []).append(gid)
    for gid in set(map(memo.find, memo.grown)):
        waiting.update(dict.fromkeys((gid, *over.get(gid, ()), *(memo.find(above.group) for above in memo.group(gid).parents))))
    saved: dict[int, dict[Leaves, float]] = {}  # by groups that can be had for less than the joins over some leaves
    parts: set[int] = set()  # those of them that are no leaves themselves
    while waiting:
        group = memo.group(next(iter(waiting)))
        del waiting[group.id]
        each = kinds.get(group.id) or kinds_of(memo, group)
        regions, others = each
        wholes = {leaves: _bound(memo, group, joins[0], leaves) for leaves, joins in regions.items()}
        bounds = [*wholes.values()]
        for mexpr in others:
            graph = isinstance(mexpr.op, RegionGraph)  # which no join implements
            bounds.append(_bound(memo, group, mexpr, mexpr.inputs) if graph else _over_inputs(memo, mexpr, least))
        if saved:
            bounds += _undercut(memo, group, each, wholes, saved, parts)
        bound = min(bounds)
        fell = bound < group.lower
        if fell:
            group.lower = bound
            fallen[group.id] = group
            waiting.update(dict.fromkeys(over.get(group.id, ())))
        for leaves, whole in wholes.items():
            known = saved.get(group.id, {}).get(leaves, 0.0)
            if whole - group.lower > known:
                saved.setdefault(group.id, {})[leaves] = whole - group.lower
                waiting.update(dict.fromkeys(over.get(leaves[0], ())))
                if group.region is not None:
                    parts.add(group.id)
                    fell = True
        if fell:
            waiting.update(dict.fromkeys(memo.find(parent.group) for parent in group.parents))
    return list(fallen.values())


def lower_bounds_rise(memo: Memo, root: int, least: Least) -> list[Group]:
    """Raise the bounds of the groups below `root`, inputs first, to what the cheapest of their expressions costs over the bounds
    of its inputs: near what their best plans cost. Returns the groups whose bounds rose.

    Groups to which expressions may still come keep theirs: joins of relations of a graph that no rule has split, which its region
    makes when they are reached.
    """
    graphs = [m for group in memo.live_groups() for m in group.logical if m.op.unordered]
    unsplit = {frozenset(_leaves(memo, mexpr.inputs)) for mexpr in graphs if mexpr.barred or not mexpr.applied}
    risen, entered, left = list[Group](), set[int](), set[int]()
    stack = [memo.find(root)]
    while stack:
        group = memo.group(stack[-1])
        if group.id not in entered:
            entered.add(group.id)
            stack += {memo.find(gid) for mexpr in group.logical for gid in mexpr.inputs} - entered
            continue
        stack.pop()
        if group.id in left:
            continue
        left.add(group.id)
        if unsplit and group.region is not None:
            leaves = _leaves(memo, group.region.leaves)
            if any(each.issuperset(leaves) for each in unsplit):
                continue
        joined = [m for m in group.logical if not m.op.unordered]
        bound = min([_over_inputs(memo, mexpr, least) for mexpr in joined], default=0.0) * ROUNDING
        if bound > group.lower:
            group.lower = bound
            risen.append(group)
    return risen


def _undercut(
    memo: Memo, group: Group, kinds: Kinds, wholes: Mapping[Leaves, float], saved: Mapping[int, Mapping[Leaves, float]],
    parts: set[int],
) -> Iterator[float]:  # fmt: skip
    """What joins over the leaves of regions cost at least that read groups that can be had for less."""
    for leaves, joins in kinds.regions.items():
        if any(join.barred for join in joins if isinstance(join.op, JoinGraph)):  # splits are no expressions
            inside = set(leaves)
            less = sum(by for part in saved.values() for read, by in part.items() if inside > set(read))
            yield max(0.0, wholes[leaves] - less)
        for join in joins if parts else ():
            if not parts.isdisjoint(join.inputs):
                yield _bound(memo, group, join, join.inputs)


class Kinds(NamedTuple):
    """The expressions of a group: the inner joins over each set of leaves, and all others."""

    regions: dict[Leaves, list[LogicalExpr]]
    others: list[LogicalExpr]


def kinds_of(memo: Memo, group: Group) -> Kinds:
    """The expressions of a group, its inner joins by their leaves."""
    kinds = Kinds({}, [])
    for mexpr in group.logical:
        if is_inner_join(mexpr.op):
            kinds.regions.setdefault(_leaves(memo, mexpr.inputs), []).append(mexpr)
        else:
            kinds.others.append(mexpr)
    return kinds


def _leaves(memo: Memo, inputs: Sequence[int]) -> Leaves:
    """The leaves of a join of groups, none of them a region itself: some became one after they were leaves."""
    leaves, seen = list[int](), set[int]()
    below = list(memo.leaves(inputs))
    while below:
        gid = below.pop()
        if memo.groups[gid].region is None or gid in seen:
            leaves.append(gid)
        else:
            seen.add(gid)
            below += memo.leaves((gid,))
    return tuple(sorted(leaves))


def _over_inputs(memo: Memo, mexpr: LogicalExpr, least: Least) -> float:
    """What plans through an expression cost at least; added up as the bound of a group's first expression is."""
    below = 0.0
    for gid in mexpr.inputs:
        below += memo.group(gid).lower
    return below + least(mexpr)


def _bound(memo: Memo, group: Group, mexpr: LogicalExpr, leaves: Sequence[int]) -> float:
    """What plans through any of the joins over some leaves cost at least, of which `mexpr` is one."""
    inputs = [memo.group(gid) for gid in mexpr.inputs]
    return memo.figures.lower_bound(mexpr.op, group.stats, inputs, [memo.group(gid) for gid in leaves])
