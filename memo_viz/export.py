"""A memo state as JSON values, for other programs."""

import math
from dataclasses import asdict
from typing import Any

from memo_viz.names import canonical_group
from optimizer.trace.state import MemoState


def memo_json(state: MemoState) -> dict[str, Any]:
    """`groups`, `mexprs` and `goals` by id (as text, JSON has no other keys), the `root` goal, the chosen plan's goals
    (`winners`, root first). Groups that went into another one are under `merged`. Infinite figures are null.
    """
    return {
        "root": state.root,
        "winners": state.winners(),
        "groups": {str(g.id): finite_json(asdict(g)) for g in state.groups.values() if g.merged_into is None},
        "merged": {str(g.id): canonical_group(state, g.id) for g in state.groups.values() if g.merged_into is not None},
        "mexprs": {str(m.id): finite_json(asdict(m)) for m in state.mexprs.values()},
        "goals": {str(g.id): finite_json(asdict(g)) for g in state.goals.values()},
    }


def finite_json(value: Any) -> Any:
    """The same JSON values with null for figures that are infinite."""
    if isinstance(value, dict):
        return {key: finite_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
