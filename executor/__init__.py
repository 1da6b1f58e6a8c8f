"""The executor of planscope: runs physical plans on Arrow data; `session` is the front door from Python."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executor.session import Session

__all__ = ["Session"]


def __getattr__(name: str) -> Any:
    """`Session`, imported when first asked for: it brings the optimizer along, which an executor does not need."""
    if name == "Session":
        from executor.session import Session

        return Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
