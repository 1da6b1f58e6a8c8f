"""What a search did, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any


class Counters:
    """`costed`: physical alternatives whose local cost was computed; for a split of a region one for each algorithm that has no
    order: the hash join that builds on the cheaper side and nested loops, whose mirror images are no cheaper. `pruned`: skips by
    mechanism:

    - `group_bound`: a logical expression or a split dropped before any alternative of it was costed, by the bounds of its inputs;
    - `predicted`: a costed alternative dropped before its inputs were searched, by local cost and bounds;
    - `accumulated`: one dropped midway, once the true cost of some inputs was known;
    - `limit`: one dropped because an input has no plan within what is left of the limit;
    - `dominated`: splits, searched by tasks, without a merge join because a hash join never costs more: no bound skips it.

    `reopened`: how often goals were opened again, by reason. `heuristic`: why a region was not searched exactly, if so. `ways`:
    how many were listed. `sets`: those of the tables of regions.
    """

    def __init__(self) -> None:
        self.tasks = 0
        self.rules_fired: Counter[str] = Counter()
        self.costed = 0
        self.ways = 0
        self.sets = 0
        self.pruned: Counter[str] = Counter({"group_bound": 0, "predicted": 0, "accumulated": 0, "limit": 0, "dominated": 0})
        self.goals_opened = 0
        self.reopened: Counter[str] = Counter({"limit": 0, "new expressions": 0})
        self.heuristic = ""
        self.cycles = 0
        self.proven = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStats:
    """The figures of a finished search; `as_dict` is the `search` object of `explain --format json`.

    `groups`, `goals`: with the sets of relations that have no group; `joins_enumerated`: pairs of inputs joined, each once;
    `regions`: by how they were searched (expand, table, tasks, one order); `lower_bound`: no plan costs less; `gap`: how much
    dearer the plan can be, as a fraction, None where nothing is known; `forced`: the join order that was asked for.
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

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
