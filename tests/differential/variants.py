"""Random settings: each changes how a plan is searched for, or which, and never the rows."""

from typing import Any

from hypothesis import strategies as st

from optimizer.prepass.instructions import rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.rules.catalog import TRANSFORMATIONS

KNOBS: dict[str, tuple[Any, ...]] = {
    "enumeration": ("partition", "left_deep", "rules", "rules_b0", "duplicate_free_rules"), "exploration": ("on_demand",),
    "driver": ("iterative",), "expand_joins": (0, 5, 8), "split_share": (0.3, 1.0),
    "pruning": ("none", "dominance", "upper", "lower"), "seed": ("none", "greedy", "linearized"),
    "partitioner": ("conservative",), "cross_products": (True,), "prepass": (False,), "ctes": ("spool", "inline"),
    "semi_joins": ("always", "cost"), "common_parts": ("always", "cost"), "cost_model": ("c_out",), "rule_order": (3, 7, 11),
    "gap": (0.05, 0.5), "epsilon": (0.05, 0.5), "exact_below": (2,), "exact_sets": (0, 3), "exact_mixed_below": (2,),
    "exact_mixed_sets": (0, 3), "linearized_up_to": (3,), "runtime_filters": (False,), "budget_tasks": (1, 20, 200),
    "budget_mexprs": (1, 20),
}  # fmt: skip

# what is needed to implement a query must stay on; where these leave no plan, see `Engines.optimized`
LESS_OF_A_PLAN = (
    ("join_to_hash_join",),
    ("join_to_hash_join", "join_to_merge_join"),
    ("join_to_hash_join", "join_to_nested_loop_join"),  # merge joins only, where they can do it
    ("join_to_merge_join", "join_to_nested_loop_join"),
    ("aggregate_to_hash_aggregate",),
    ("limit_to_top_k",),
)
RULES = tuple(sorted({rule.name for rule in (*TRANSFORMATIONS, *rules_of(PROGRAM))}))


@st.composite
def variants(draw: st.DrawFn) -> dict[str, Any]:
    """None of the knobs turned, up to four, or rules off; both now and then."""
    settings: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(tuple(KNOBS)), max_size=4, unique=True)):
        settings[name] = draw(st.sampled_from(KNOBS[name]))
    if settings.get("enumeration") == "duplicate_free_rules":
        settings["cross_products"] = True
    disabled = draw(
        st.one_of(st.just(()), st.just(()), st.sampled_from(LESS_OF_A_PLAN), st.lists(st.sampled_from(RULES), max_size=3))
    )
    if disabled:
        settings["disable"] = tuple(dict.fromkeys(disabled))
    return settings
