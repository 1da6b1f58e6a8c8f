"""Random settings under which a search must find the optimum of its space, and the optimum it must find."""

from collections.abc import Callable
from random import Random
from typing import Any

from planscope import CostModel, Estimator
from tests.search.graphs import GraphQuery
from tests.search.independent.cheapest import JOINS, Cheapest
from tests.search.independent.knowledge import Key
from tests.search.independent.options import MERGE, MODES

SEEDS = ("none", "greedy", "linearized", "best")
ENUMERATIONS = ("rules", "rules_b0", "partition", "adaptive", "left_deep")

Options = dict[str, Any]


def random_settings(random: Random) -> Options:
    """Exact settings: every mode, seed, enumeration, exploration, driver, partitioner and search of regions, rules in a random
    order."""
    return {
        "pruning": random.choice(MODES), "seed": random.choice(SEEDS), "enumeration": random.choice(ENUMERATIONS),
        "exploration": random.choice(("all", "on_demand", "interleaved")),
        "driver": random.choice(("top_down",) * 5 + ("iterative",)), "partitioner": random.choice(("branch", "conservative")),
        "rule_order": random.choice((0, random.randrange(1, 1000))),
        "cost_model": random.choice(("arrow", "arrow", "arrow", "c_out", "c_mm", "spark")),
        "disable": random.choice(((), (), (MERGE,))), "budget_tasks": 0, "region": random.choice(("auto", "table", "tasks")),
    }  # fmt: skip


def random_loose_settings(random: Random) -> Options:
    """Settings that stop at a gap, at an epsilon, or at either."""
    gap, epsilon = random.choice(((0.05, 0.0), (0.3, 0.0), (0.0, 0.1), (0.0, 0.5), (0.2, 0.3)))
    settings = random_settings(random) | {"gap": gap, "epsilon": epsilon, "driver": "top_down"}
    return settings | {"seed": random.choice(SEEDS[1:]), "pruning": random.choice(MODES[2:])}


def optimum(
    query: GraphQuery, cost: CostModel, left_deep: bool = False, merging: bool = True, allows: Callable[[int], bool] = bool
) -> float:
    """The cheapest cost of the query with its required order, by the brute force. `left_deep`: of joins with one relation on a
    side; `merging`: with merge joins among them; `allows`: which sets of relations a plan may join."""
    number = {scan.alias: i for i, scan in enumerate(query.scans)}
    force = Cheapest(
        query.tree, query.catalog, Estimator(query.catalog, query.columns), cost,
        [join for join in JOINS if merging or join != "merge"], left_deep=left_deep,
        allows=lambda aliases: allows(sum(1 << number[alias] for alias in aliases)),
    )  # fmt: skip
    return force.cost(tuple(Key(*key) for key in query.order.collation))


def optimum_of(query: GraphQuery, cost: CostModel, settings: Options) -> float:
    """The optimum of the space that the settings leave, by brute force."""
    return optimum(query, cost, settings.get("enumeration") == "left_deep", MERGE not in settings.get("disable", ()))
