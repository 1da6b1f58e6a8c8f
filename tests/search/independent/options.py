"""Settings under which the search has to find the optimum, and how the brute force is told of them."""

from random import Random
from typing import Any

from optimizer.settings import Settings

MERGE, HASH, LOOP = "join_to_merge_join", "join_to_hash_join", "join_to_nested_loop_join"
JOIN_RULES = {"hash": HASH, "merge": MERGE, "loop": LOOP}
AGGREGATES_MOVE = (  # eager and lazy aggregation: the brute force leaves aggregates where they are
    "aggregate_push_join",
    "aggregate_push_outer_join",
    "aggregate_split_join",
    "aggregate_pull_join",
    "aggregate_split_union",
)
SWITCHED_OFF: tuple[tuple[str, ...], ...] = ((), (HASH,), (MERGE,), (LOOP,), (HASH, LOOP), (MERGE, LOOP), ("partial_sort",))
MODES = ("none", "dominance", "upper", "lower", "both")


def random_settings(random: Random, relations: int) -> Settings:
    """All that may change the way a search goes, and must not change what it finds. Slow ways only for few relations."""
    few = relations <= 4
    values: dict[str, Any] = {
        "pruning": random.choice(MODES if few else ("lower", "both")),
        "enumeration": random.choice(("adaptive", "partition", "left_deep", *(("rules", "rules_b0") if few else ()))),
        "seed": random.choice(("none", "greedy", "linearized", "best")),
        "region": random.choice(("auto", "table", "tasks")),
        "exploration": random.choice(("all", "on_demand")),
        "driver": random.choice(("top_down",) * 4 + (("iterative",) if relations <= 3 else ())),
        "partitioner": random.choice(("branch", "conservative")),
        "expand_joins": random.choice((0, 4)),
        "rule_order": random.choice((0, random.randrange(1, 1000))),
        "budget_tasks": 0,
        "budget_mexprs": 0,
    }
    return Settings(**values)


def without(settings: Settings, rules: tuple[str, ...]) -> Settings:
    return settings.replace(disable=[*AGGREGATES_MOVE, *rules])
