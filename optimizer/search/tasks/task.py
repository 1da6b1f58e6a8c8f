"""What a task is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimizer.search.search import Search


class Task:
    """One step popped from the stack. It may push further tasks; it never calls one."""

    __slots__ = ("id",)
    id: int

    def perform(self, search: Search) -> None:
        raise AssertionError(f"{type(self).__name__} does nothing")

    def describe(self, search: Search) -> str:
        """The one-line form for traces."""
        return type(self).__name__
