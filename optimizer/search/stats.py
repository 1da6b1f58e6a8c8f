"""The figures of a finished search, from its counters, its memo and its regions."""

from __future__ import annotations

from collections import Counter

from optimizer.algebra.logical_joins import Join
from optimizer.memo.goal import Status
from optimizer.search.counters import SearchStats
from optimizer.search.search import Search


def search_stats(search: Search, prepass_converged: bool = True) -> SearchStats:
    """The figures of a search that has ended, and whether the pre-pass before it ran to its end."""
    memo, counters, root = search.memo, search.counters, search.root
    assert root is not None, "statistics of a search that has not run"
    groups = memo.live_groups()
    regions = search.regions
    sets = sum(region.size - len(region.groups) for region in regions.made)
    goals = sum(region.size - len(region.sets) + region.region.n for region in regions.made)
    pairs = sum(region.pairs for region in regions.made)
    for group in groups:
        pairs += len({frozenset(map(memo.find, e.inputs)) for e in group.logical if isinstance(e.op, Join)})
    lower = memo.groups[root.group].lower
    if counters.proven or root.status is not Status.OPTIMAL:
        lower = max(lower, min(root.lower, root.best_cost))
    return SearchStats(
        groups=len(groups) + sets,
        mexprs_logical=memo.logical_count,
        mexprs_physical=memo.physical_count,
        duplicates=memo.duplicates,
        merges=memo.merges,
        tasks=counters.tasks,
        rules_fired=dict(sorted(counters.rules_fired.items())),
        goals=len(memo.goals) + goals,
        goals_opened=counters.goals_opened,
        goals_reopened=sum(counters.reopened.values()),
        reopened=dict(counters.reopened),
        candidates=counters.ways,
        costed=counters.costed,
        pruned=dict(counters.pruned),
        cycles=counters.cycles,
        joins_enumerated=pairs,
        regions=dict(Counter(regions.methods())),
        proven=counters.proven and root.status is Status.OPTIMAL,
        lower_bound=lower,
        gap=max(0.0, root.best_cost / lower - 1.0) if lower > 0.0 else None,
        heuristic=counters.heuristic,
        prepass_converged=prepass_converged,
        forced=search.context.settings.join_order,
    )
