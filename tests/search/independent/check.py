"""One query under several settings against the brute force."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from optimizer.cost.arrow import ArrowCost
from planscope import CostModel, OptimizedQuery, Optimizer, Settings
from tests.cost.random_models import random_model
from tests.search.independent.cheapest import Cheapest, NotCovered
from tests.search.independent.knowledge import Key
from tests.search.independent.options import JOIN_RULES, SWITCHED_OFF, random_settings, without
from tests.search.independent.queries import Query, random_query
from tests.search.independent.replay import replayed

TOLERANCE = 1e-9


class Run(NamedTuple):
    """One search. `fault`: what is wrong with its plan; empty: nothing. `expected`: the cost by brute force."""

    query: Query
    settings: Settings
    model: CostModel
    claimed: float
    expected: float
    fault: str

    def __str__(self) -> str:
        """All it takes to see the plan again."""
        plain = Settings().as_dict()
        changed = {name: value for name, value in self.settings.as_dict().items() if value != plain[name]}
        return "\n  ".join(
            (
                f"query {self.query.number}: {self.fault}: costs {self.claimed!r}, by brute force {self.expected!r}",
                self.query.sql,
                f"cost model {self.model.name}, settings {changed}",
            )
        )


def check(number: int, runs: int = 2, most: int = 6) -> Iterator[Run]:
    """Query `number` under `runs` settings for each of two sets of operators: all, and all but some.

    Raises NotCovered for a query that the pre-pass turned into something else than joins and an aggregate.
    """
    random = Random(f"settings {number}")
    query = random_query(number, most)
    model = ArrowCost() if random.random() < 0.5 else random_model(random)
    for rules in dict.fromkeys(((), random.choice(SWITCHED_OFF))):
        forces: dict[bool, Cheapest] = {}
        for _ in range(runs):
            settings = without(random_settings(random, query.relations), rules)
            optimizer = Optimizer(query.catalog, settings, cost=model)
            planned = optimizer.optimize(query.sql)
            left_deep = settings.enumeration == "left_deep"
            if left_deep not in forces:
                forces[left_deep] = brute_force(planned, optimizer)
            yield compared(query, planned, model, forces[left_deep])


def brute_force(planned: OptimizedQuery, optimizer: Optimizer) -> Cheapest:
    """The brute force for a query as the pre-pass left it, with the operators that the settings allow."""
    settings = optimizer.settings
    return Cheapest(
        planned.stages[-1].tree,
        planned.catalog,
        optimizer.estimator(planned.catalog, planned.columns),
        optimizer.cost,
        [join for join, rule in JOIN_RULES.items() if rule not in settings.disable],
        [name for name in ("sort", "partial_sort") if name not in settings.disable],
        settings.enumeration == "left_deep",
    )


def compared(query: Query, planned: OptimizedQuery, model: CostModel, force: Cheapest) -> Run:
    wanted = tuple(Key(*key) for key in planned.order)
    claimed, expected = planned.cost, force.cost(wanted)
    faults = replayed(force, planned.plan, wanted)
    if not planned.search.proven:
        faults.append("not proven")
    if abs(claimed - expected) > TOLERANCE * max(claimed, expected):
        faults.append("not the cheapest" if claimed > expected else "cheaper than any plan of the brute force")
    return Run(query, planned.settings, model, claimed, expected, ", ".join(faults))


class Tally:
    """Counts of many queries."""

    def __init__(self) -> None:
        self.queries = self.runs = self.not_covered = 0
        self.faults: list[Run] = []

    def add(self, number: int, runs: int = 2, most: int = 6) -> list[Run]:
        """Check a query; the runs with faults."""
        self.queries += 1
        found = []
        try:
            for run in check(number, runs, most):
                self.runs += 1
                if run.fault:
                    found.append(run)
        except NotCovered:
            self.not_covered += 1
        self.faults += found
        return found

    def __str__(self) -> str:
        wrong = len({run.query.number for run in self.faults})
        return (
            f"{self.queries} queries ({self.not_covered} not covered), {self.runs} runs: {len(self.faults)} with faults, "
            f"of {wrong} queries"
        )
