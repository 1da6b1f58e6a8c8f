"""The figures of a finished search, from its counters, its memo and its regions."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from optimizer.algebra.logical_joins import Join
from optimizer.memo.goal import Status
from optimizer.search.search import Search


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStats:
    """The figures of a finished search; `as_dict` is the `search` object of `explain --format json`.

    `groups`, `goals`: with the sets of relations that have no group; `joins_enumerated`: pairs of inputs joined, each once;
    `regions`: by how they were searched (expand, table, tasks, one order); `lower_bound`: no plan costs less, 0 where plans were
    left out beforehand; `gap`: how much dearer the plan can be, as a fraction, None where nothing is known; `forced`: the join
    order that was asked for; `budget`: the one that ended the search, if so; `forms_left_out`: forms of the query that were not
    searched, since to read their tables costs as much as a plan (`search.forms`).
    """

    groups: int
    mexprs_logical: int
    mexprs_physical: int
    duplicates: int
    merges: int
    tasks: int
    rules_fired: dict[str, int]
    goals: int
    goals_opened: int
    goals_reopened: int
    reopened: dict[str, int]
    candidates: int
    costed: int
    pruned: dict[str, int]
    cycles: int
    joins_enumerated: int
    regions: dict[str, int]
    proven: bool
    lower_bound: float
    gap: float | None
    heuristic: str
    prepass_converged: bool
    forced: str = ""
    budget: str = ""
    forms_left_out: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


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
    settings, heuristic = search.context.settings, counters.heuristic
    if root.status is not Status.OPTIMAL and counters.cycles and not settings.gap and not settings.epsilon:
        heuristic = heuristic or "rules made groups inputs of themselves"
    lower = 0.0 if counters.narrowed else memo.groups[root.group].lower
    if not counters.narrowed and (counters.proven or root.status is not Status.OPTIMAL):
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
        heuristic=heuristic,
        prepass_converged=prepass_converged,
        forced=settings.join_order,
        budget=counters.budget,
        forms_left_out=sum(least >= root.best_cost for _, least in search.left_out),  # others by a budget
    )
