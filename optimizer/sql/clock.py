"""What now() is: the time on the clock of this machine or, for a query that is planned again, the moment it was planned at."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime


class Clock:
    """A clock that stands still. `asked`: whether a query has looked at it."""

    def __init__(self, at: datetime) -> None:
        self.at, self.asked = at, False


_stopped: ContextVar[Clock | None] = ContextVar("_stopped", default=None)


def moment() -> datetime:
    """The time now, without a time zone."""
    clock = _stopped.get()
    if clock is None:
        return datetime.now()
    clock.asked = True
    return clock.at


@contextmanager
def stopped(at: datetime | None = None) -> Iterator[Clock]:
    """Queries of the block are told this moment; None: that at which the block begins."""
    clock = Clock(at or datetime.now())
    token = _stopped.set(clock)
    try:
        yield clock
    finally:
        _stopped.reset(token)
