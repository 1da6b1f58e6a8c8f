"""What a search did, in numbers."""

from collections import Counter


class Counters:
    """`costed`: physical alternatives whose local cost was computed; for a split of a region one for each algorithm that has no
    order: the hash join that builds on the cheaper side and nested loops, whose mirror images are no cheaper. `pruned`: skips by
    mechanism:

    - `group_bound`: a logical expression or a split dropped before any alternative of it was costed, by the bounds of its inputs;
    - `predicted`: a costed alternative dropped before its inputs were searched, by local cost and bounds;
    - `accumulated`: one dropped midway, once the true cost of some inputs was known;
    - `limit`: one dropped because an input has no plan within what is left of the limit;
    - `dominated`: splits, searched by tasks, without a merge join because a hash join never costs more: no bound skips it.

    `reopened`: how often goals were opened again, by reason. `heuristic`: why a region was not searched exactly, if so.
    `narrowed`: it is because plans were left out beforehand, or a budget ended exploration, so that bounds hold among the others
    only. `budget`: which one ended the search, if so, and what fired most. `ways`: how many were listed.
    """

    def __init__(self) -> None:
        self.tasks = 0
        self.rules_fired: Counter[str] = Counter()
        self.costed = 0
        self.ways = 0
        self.pruned: Counter[str] = Counter({"group_bound": 0, "predicted": 0, "accumulated": 0, "limit": 0, "dominated": 0})
        self.goals_opened = 0
        self.reopened: Counter[str] = Counter({"limit": 0, "budget": 0, "new expressions": 0})
        self.heuristic = ""
        self.narrowed = False
        self.budget = ""
        self.cycles = 0
        self.proven = True

    def narrow(self, why: str) -> None:
        """Plans were left out before the search began."""
        self.proven, self.heuristic, self.narrowed = False, why, True
