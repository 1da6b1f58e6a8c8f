"""A search that runs only as far as it is looked at.

The search runs in a thread of its own. Whenever it emits an event beyond those that were asked for, it waits. So a stepper
stops the real search at any event, and the events before it are a trace like any other.
"""

from collections.abc import Callable
from threading import Condition, Thread
from time import perf_counter_ns
from typing import Any

from optimizer.errors import PlanscopeError
from optimizer.trace.recorder import Trace
from optimizer.trace.replay import Replay, Watch

_LOOK_SECONDS = 0.1  # a signal that comes just before a wait begins is seen when the wait ends


class _GivenUp(BaseException):
    """Thrown into a search that nobody looks at any more."""


class LiveSearch:
    """`run` searches, and tells the trace that it is given. `ended`: it does so no more; `error`: what ended it too early.

    Either the search runs or the one who looks at it, never both. Waiting is no part of the events' times; budgets go on.
    """

    def __init__(self, run: Callable[[Trace], object]) -> None:
        self.error: PlanscopeError | None = None
        self.ended = False
        self._bug: BaseException | None = None
        self._run = run
        self._trace = _Watched(self)
        self._turn = Condition()
        self._wanted = 0
        self._watch: Watch | None = None
        self._waits = self._given_up = False
        self._thread = Thread(target=self._search, name="search", daemon=True)
        self.replay = Replay(self._trace.events, self._more)

    def start(self) -> Replay:
        """Run until the query is bound. Raises what is wrong with the query."""
        self._thread.start()
        self.replay.reach(2)
        if self.error is not None and len(self._trace.events) < 2:
            raise self.error
        return self.replay

    def close(self) -> None:
        """Give the search up, if it still runs."""
        with self._turn:
            self._given_up = True
            self._turn.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def told(self) -> None:
        """Called by the search after each event: go on, or wait until more is wanted."""
        if len(self._trace.events) < self._wanted and not (self._watch is not None and self._watch()):
            return
        with self._turn:
            self._waits = True
            self._turn.notify_all()
            while self._waits and not self._given_up:
                self._turn.wait()
            if self._given_up:
                raise _GivenUp

    def _more(self, count: int, watch: Watch | None) -> None:
        """Let the search go on: until there are `count` events, `watch`, which is asked after each, says to stop, or it ends.

        Raises what a bug in it raised. Ctrl-C stops it at its next event.
        """
        with self._turn:
            self._wanted, self._watch, self._waits = count, watch, self.ended
            self._turn.notify_all()
            try:
                while not self._waits:
                    self._turn.wait(_LOOK_SECONDS)
            except KeyboardInterrupt:
                self._wanted = 0
                while not self._waits:
                    self._turn.wait()
                raise
        if self._bug is not None:
            raise self._bug

    def _search(self) -> None:
        try:
            self._run(self._trace)
        except _GivenUp:
            pass
        except PlanscopeError as error:
            self.error = error
        except BaseException as error:
            self._bug = error
        with self._turn:
            self.ended = self._waits = True
            self._turn.notify_all()


class _Watched(Trace):
    """A trace that has the search wait after each event."""

    def __init__(self, live: LiveSearch) -> None:
        super().__init__()
        self._live = live

    def emit(self, kind: str, **fields: Any) -> None:
        super().emit(kind, **fields)
        since = perf_counter_ns()
        self._live.told()
        self._start += perf_counter_ns() - since
