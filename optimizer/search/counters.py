"""What a search did, in numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any


class Counters:
    """`costed`: physical alternatives whose local cost was computed; for a split of a join space two, the hash join that builds
    on the cheaper side and nested loops, whose mirror images are no cheaper. `pruned`: skips by mechanism:

    - `group_bound`: a logical expression dropped before any physical one was made of it, by the bounds of its inputs;
    - `predicted`: a costed alternative dropped before its inputs were searched, by local cost and bounds;
    - `accumulated`: one dropped midway, once the true cost of some inputs was known;
    - `limit`: one dropped because an input has no plan within what is left of the limit.

    `reopened`: how often goals were opened again, by reason. `heuristic`: why a region was not searched exactly, if so.
    """

    def __init__(self) -> None:
        self.tasks = 0
        self.rules_fired: Counter[str] = Counter()
        self.costed = 0
        self.candidates = 0
        self.pruned: Counter[str] = Counter({"group_bound": 0, "predicted": 0, "accumulated": 0, "limit": 0})
        self.goals_opened = 0
        self.reopened: Counter[str] = Counter({"limit": 0, "new expressions": 0})
        self.heuristic = ""
        self.cycles = 0
        self.proven = True


class SearchStats:
    """The figures of a finished search; `as_dict` is the `search` object of `explain --format json`."""

    def __init__(self, **figures: Any) -> None:
        self._figures = figures

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_figures"][name]
        except KeyError:
            raise AttributeError(name) from None

    def as_dict(self) -> dict[str, Any]:
        return dict(self._figures)
