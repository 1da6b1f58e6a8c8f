"""How fast a long trace is walked through, and what it takes in memory. Times are CPU times.

The trace is that of a real search that prunes nothing and makes every join an expression: clique/8 has 1.2 million events.
"""

from __future__ import annotations

import gc
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from time import process_time

from executor.session import Session
from experiments.workloads.data import open_data
from experiments.workloads.queries import default_data, resolve_sql
from optimizer.trace.file import read_trace
from optimizer.trace.recorder import Trace, write_jsonl
from optimizer.trace.replay import Replay
from optimizer.trace.walk import Walk

SEEKS = 200
HEAD = ("what", "figure", "", "notes")

Row = tuple[str, str, str, str]
Progress = Callable[[str], None] | None


def measure(query: str, progress: Progress) -> Iterator[Row]:
    """Rows as they are found."""
    data = default_data(query)
    assert data is not None, f"{query} belongs to no dataset"
    say = progress or (lambda text: None)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.jsonl"
        say(f"recording the search of {query} by rules, without pruning")
        trace = Trace()
        session = Session(open_data(data, progress), {"enumeration": "rules", "pruning": "none"})
        session.optimize(resolve_sql(query), trace)
        write_jsonl(trace, file)
        yield "events", f"{len(trace.events):,}", "", f"{query}, {file.stat().st_size / 1e6:,.0f} MB in the file"
        del trace, session
        gc.collect()
        say("reading it")
        started = process_time()
        events = read_trace(file).events
        yield "reading", f"{process_time() - started:.1f}", "s", "the file parsed and every event checked"
    started = process_time()
    state = Replay(events).final()
    kept = f"a state of {len(state.groups):,} groups, {len(state.mexprs):,} expressions, {len(state.goals):,} goals"
    yield "first pass", f"{process_time() - started:.1f}", "s", kept
    say("walking through it")
    replay = Replay(events)
    tracemalloc.start()
    replay.final()
    yield "replayer", f"{tracemalloc.get_traced_memory()[0] / 1e6:,.1f}", "MB", "without the events themselves"
    tracemalloc.stop()
    yield from _seeks(replay)
    walk = Walk(replay)
    for where in ("kind == 'no such kind'", "merge"):
        replay.seek(0)
        started = process_time()
        walk.forward(walk.stop(where))
        yield f"until {where}", f"{process_time() - started:.2f}", "s", "all events looked at" if "no such" in where else ""


def _seeks(replay: Replay) -> Iterator[Row]:
    random, length = Random(0), len(replay)
    times = sorted(_timed(replay, random.randrange(length + 1)) for _ in range(SEEKS))
    yield "seek, median", f"{times[SEEKS // 2] * 1000:.1f}", "ms", f"of {SEEKS}, from anywhere to anywhere"
    yield "seek, longest", f"{times[-1] * 1000:.1f}", "ms", ""
    replay.seek(length)
    back = sorted(_timed(replay, length - i) for i in range(1, SEEKS))
    yield "a step back, median", f"{back[len(back) // 2] * 1000:.1f}", "ms", "at the end, where the state is largest"
    yield "a step back, longest", f"{back[-1] * 1000:.1f}", "ms", ""


def _timed(replay: Replay, position: int) -> float:
    started = process_time()
    replay.seek(position)
    return process_time() - started
