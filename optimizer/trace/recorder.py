"""Records what the search does: one flat JSON object an event, in order.

The first event is the header. Every event has `seq`, `t` (microseconds since the trace began), `kind` and `task` (id of the
running task, None outside). Whoever may emit holds `trace: Trace | None` and tests `is not None`, so that a search
without a trace pays one comparison an event.
"""

import json
from collections.abc import Iterator, Mapping
from time import perf_counter_ns
from typing import Any

from optimizer.errors import SettingsError
from optimizer.trace.state import finite

FORMAT = "planscope-trace"
VERSION = 2


class Trace:
    """The events of one search, in memory. With `max_events` the later ones are only counted, and the last says how many."""

    def __init__(self, max_events: int | None = None) -> None:
        if max_events is not None and not isinstance(max_events, int):
            raise SettingsError(f"max_events is a whole number, not {max_events!r:.60}")
        self.events: list[dict[str, Any]] = []
        self.max_events = max_events
        self.task: int | None = None
        self.dropped = 0
        self._seq = 0
        self._start = perf_counter_ns()

    def __repr__(self) -> str:
        return f"Trace({len(self.events):,} events)"

    def header(self, sql: str, settings: Mapping[str, Any], catalog_digest: str) -> None:
        """The first event of every trace. Raises SettingsError for a trace that has one."""
        if self._seq:
            raise SettingsError("this trace has a search already: make a new Trace() for each query")
        self.emit("header", format=FORMAT, version=VERSION, sql=sql, settings=dict(settings), catalog_digest=catalog_digest)

    def emit(self, kind: str, **fields: Any) -> None:
        seq = self._seq
        self._seq = seq + 1
        if self.max_events is not None and len(self.events) >= self.max_events:
            self.dropped += 1
            return
        t = (perf_counter_ns() - self._start) // 1000
        self.events.append({"seq": seq, "t": t, "kind": kind, "task": self.task, **fields})

    def finish(self) -> None:
        """Close the trace: says how many events were left out, if any."""
        if self.dropped:
            t = (perf_counter_ns() - self._start) // 1000
            self.events.append({"seq": len(self.events), "t": t, "kind": "dropped", "task": None, "count": self.dropped})


def json_lines(trace: Trace) -> Iterator[str]:
    """The events as JSON lines; an infinite number is written as the text "inf"."""
    for event in trace.events:
        yield json.dumps(finite(event), ensure_ascii=False, allow_nan=False)
