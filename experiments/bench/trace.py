"""How fast a long trace is walked through, and what it takes in memory. Times are CPU times.

The trace is that of a real search that prunes nothing and makes every join an expression: clique/8 has 1.2 million events.
"""

import gc
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import process_time

import pyarrow as pa

from executor.session import Session
from experiments.bench.experiment import Item, Options, Row, Section, Table
from experiments.bench.summary import grouped
from experiments.workloads.data import open_data
from experiments.workloads.queries import default_data, resolve_sql
from memo_viz.stepper.page import PAGE_EVENTS, stepper_page
from optimizer.errors import SqlError
from optimizer.trace.file import read_trace
from optimizer.trace.recorder import Trace, json_lines
from optimizer.trace.replay import Replay
from optimizer.trace.walk import Walk

NAME = "trace"
HELP = """How fast a long trace is walked through, and what that takes in memory.

The trace is of a search by rules that prunes nothing: over a million events for clique/8, recorded in a minute.

\b
planscope bench trace
planscope bench trace clique/6
"""
ARGUMENT = "[QUERY]..."
OWN = ("data", "pairs", "plugins")
TIMEOUT = 600.0
KEYS = ("what",)
SEEKS = 200


def items(options: Options) -> list[Item]:
    """Raises SqlError for a query that belongs to no dataset, or to several."""
    for query in options.queries:
        if default_data(query) is None:
            raise SqlError(f'"{query}" is no query that belongs to one dataset', hint="such as clique/8, star/7, job/1a")
        resolve_sql(query)
    return [{"query": query} for query in options.queries or ("clique/6" if options.quick else "clique/8",)]


def measure(item: Item) -> list[Row]:
    query = item["query"]
    return [{"what": what, "figure": value, "unit": unit, "notes": notes} for what, value, unit, notes in _figures(query)]


def _figures(query: str) -> Iterator[tuple[str, float, str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.jsonl"
        trace = Trace()
        session = Session(open_data(default_data(query) or ""), {"enumeration": "rules", "pruning": "none"})
        session.optimize(resolve_sql(query), trace)
        with file.open("w", encoding="utf-8") as written:
            written.writelines(f"{line}\n" for line in json_lines(trace))
        yield "events", float(len(trace.events)), "", f"{file.stat().st_size / 1e6:,.0f} MB in the file"
        del trace, session
        gc.collect()
        started = process_time()
        events = read_trace(file).events
        yield "reading", process_time() - started, "s", "the file parsed and every event checked"
    started = process_time()
    state = Replay(events).final()
    kept = f"a state of {len(state.groups):,} groups, {len(state.mexprs):,} expressions, {len(state.goals):,} goals"
    yield "first pass", process_time() - started, "s", kept
    replay = Replay(events)
    tracemalloc.start()
    replay.final()
    yield "replayer", tracemalloc.get_traced_memory()[0] / 1e6, "MB", "without the events themselves"
    tracemalloc.stop()
    yield from _seeks(replay)
    walk = Walk(replay)
    for where in ("rule == 'no such rule'", "merge"):
        replay.seek(0)
        started = process_time()
        walk.forward(walk.stop(where))
        yield f"until {where}", process_time() - started, "s", "all events looked at" if "no such" in where else ""
    started = process_time()
    page = len(stepper_page(events, title=query).encode())
    made = f"made in {process_time() - started:.1f} s; without events it has {_empty_page() / 1e6:.2f} MB"
    yield "page", page / 1e6, "MB", made
    shown = min(len(events), PAGE_EVENTS)
    yield "page, a thousand events", (page - _empty_page()) / shown, "kB", f"of {shown:,} shown; with the memo and its picture"


def _empty_page() -> int:
    """The size of a page that shows nothing."""
    trace = Trace()
    trace.header("", {}, "")
    return len(stepper_page(trace.events).encode())


def _seeks(replay: Replay) -> Iterator[tuple[str, float, str, str]]:
    random, length = Random(0), len(replay)
    times = sorted(_timed(replay, random.randrange(length + 1)) for _ in range(SEEKS))
    yield "seek, median", times[SEEKS // 2] * 1000, "ms", f"of {SEEKS}, from anywhere to anywhere"
    yield "seek, longest", times[-1] * 1000, "ms", ""
    replay.seek(length)
    back = sorted(_timed(replay, length - i) for i in range(1, SEEKS))
    yield "a step back, median", back[len(back) // 2] * 1000, "ms", "at the end, where the state is largest"
    yield "a step back, longest", back[-1] * 1000, "ms", ""


def _timed(replay: Replay, position: int) -> float:
    started = process_time()
    replay.seek(position)
    return process_time() - started


def report(rows: pa.Table) -> list[Section]:
    """A section for each query."""
    found = [row for row in rows.to_pylist() if row["status"] == "ok"]
    sections = []
    for query, mine in grouped(found, lambda row: str(row["query"])).items():
        table = pa.Table.from_pylist([{name: row[name] for name in ("what", "figure", "unit", "notes")} for row in mine])
        name = f"trace_{query.replace('/', '_')}"
        sections.append(Section(f"The trace of {query}", "", [Table(name, "CPU times.", table, True)]))
    return sections
