"""Lower bounds of groups that hold more than one kind of expression.

A group is made with a bound for its first expression. A rule that moves an aggregate below a join, or a semi-join into an
inner one, puts an expression there that can cost less than that: it need not produce the rows that the first one reads. So,
once a memo is explored,

    bound(G) = min over the expressions e of G of bound(e)
    bound(e) = what the cost model proves of e's operator over inputs that cost at least their bounds

where all joins of a region of inner joins count as one expression over the region's leaves. By induction over its height,
no plan of G costs less. It is the largest solution below the bounds that the groups were made with: bounds only fall, and
where a group may contain itself, a round costs something, so a fixpoint is reached.
"""

from __future__ import annotations

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
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
    while waiting:
        group = memo.group(next(iter(waiting)))
        del waiting[group.id]
        bound = min((expression_bound(memo, group, mexpr) for mexpr in _kinds(group)), default=group.lower)
        if bound < group.lower:
            group.lower = bound
            fallen[group.id] = group
            waiting.update(dict.fromkeys(memo.find(parent.group) for parent in group.parents))
            waiting.update(dict.fromkeys(over.get(group.id, ())))
    return list(fallen.values())


def expression_bound(memo: Memo, group: Group, mexpr: LogicalExpr) -> float:
    """What plans through an expression cost at least; for a join of the group's region, plans through any of its joins."""
    inputs = [memo.group(gid) for gid in mexpr.inputs]
    leaves = inputs
    if group.region is not None and _joins_region(mexpr):
        leaves = [memo.group(gid) for gid in group.region.leaves]
    return memo.figures.lower_bound(mexpr.op, group.stats, inputs, leaves)


def _joins_region(mexpr: LogicalExpr) -> bool:
    return isinstance(mexpr.op, JoinGraph) or (isinstance(mexpr.op, Join) and mexpr.op.kind is JoinKind.INNER)


def _kinds(group: Group) -> list[LogicalExpr]:
    """The expressions that can have different bounds: one of the region's joins, and all others."""
    if group.region is None:
        return group.logical
    joins = [mexpr for mexpr in group.logical if _joins_region(mexpr)]
    return joins[:1] + [mexpr for mexpr in group.logical if not _joins_region(mexpr)]
