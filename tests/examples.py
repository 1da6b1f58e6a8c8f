"""Examples that Hypothesis draws, the same ones for the same number."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st


def try_examples(check: Callable[..., None], number: int, count: int, *strategies: st.SearchStrategy[Any], **more: Any) -> None:
    """Calls `check` with values of the strategies, `count` times; `more` are further settings."""
    quiet: dict[str, Any] = {"deadline": None, "database": None, "print_blob": False, "suppress_health_check": list(HealthCheck)}
    seed(number)(settings(max_examples=count, **quiet, **more)(given(*strategies)(check)))()
