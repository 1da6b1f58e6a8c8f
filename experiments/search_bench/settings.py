"""The searches compared: default settings, the exhaustive one in two ways, and the classical one by rules.

`exhaustive` looks at every connected split of a join graph, set by set as tasks: nothing is pruned, nothing is seeded, no budget
ends it. `table` looks at the same splits in the table of all sets. Merge joins are off in both, since they need inputs in an
order: without them joins have no required traits, and those of a region are costed by arithmetic over sets of relations, two
alternatives for each pair (a hash join on the cheaper side, nested loops).

`rules` commutes and associates joins in the memo, with hash, merge and nested-loop joins, and the default pruning and seeds.

None of these pushes aggregates into joins, as `default` does in small regions (expand_joins): only orders are searched for.
"""

from typing import Any

from optimizer.settings import Settings

JOIN_ORDER: dict[str, Any] = {"expand_joins": 0, "budget_tasks": 0, "budget_mexprs": 0}

DEFAULT = Settings()
EXHAUSTIVE = Settings.from_mapping(
    {
        "enumeration": "partition", "region": "tasks", "pruning": "none", "seed": "none", "disable": ("join_to_merge_join",),
        **JOIN_ORDER,
    }
)  # fmt: skip
TABLE = EXHAUSTIVE.replace(region="table")
RULES = Settings.from_mapping({"enumeration": "rules", **JOIN_ORDER})
UNPRUNED_RULES = RULES.replace(pruning="none", seed="none")

SEARCHES = {"default": DEFAULT, "exhaustive": EXHAUSTIVE, "table": TABLE, "rules": RULES, "rules, no pruning": UNPRUNED_RULES}


def differences(settings: Settings) -> str:
    """What differs from the default, as `name=value` texts."""
    default = DEFAULT.as_dict()
    changed = [(name, value) for name, value in settings.as_dict().items() if value != default[name]]
    return " ".join(f"{name}={','.join(value) if isinstance(value, list) else value}" for name, value in changed)
