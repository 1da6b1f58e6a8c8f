"""Microseconds of CPU time: for a costed join alternative, a task, an insertion into the memo. The search alone is timed."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter, process_time
from typing import Any

from experiments.bench.experiment import Row
from experiments.search_bench.settings import SEARCHES
from experiments.search_bench.stages import Prepared, prepare
from experiments.timing import RUNS, least
from optimizer.algebra.trees import Tree
from optimizer.errors import many
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr

INSERTIONS = "rules, insertions"  # what goes into the memo, one by one
MOST_FOR_AN_ALTERNATIVE = 3.0  # µs, clique 12 exhaustively
CLOCK_READS = 20_000  # to find out what reading the clock costs


def measure(query: str, search: str, runs: int = RUNS) -> Iterator[Row]:
    """Of the quickest of `runs` searches; `search` may be INSERTIONS."""
    if search == INSERTIONS:
        yield from insertions(query)
        return
    (engine, _), times = least(Prepared.search, runs, fresh=lambda: prepare(query, SEARCHES[search]), collect=True)
    us, counters = times.cpu_ms * 1e3, engine.counters
    pairs = sum(region.pairs for region in engine.regions.made)
    if not engine.prune:
        target = MOST_FOR_AN_ALTERNATIVE if (query, search) == ("clique/12", "exhaustive") else None
        yield {**_each("costed join alternative", us, counters.costed), "target": target}
    if not engine.prune and pairs:
        yield _each("pair of relation sets", us, pairs)
    yield _each("task", us, counters.tasks)


def _each(figure: str, us: float, count: int) -> Row:
    return {"figure": figure, "value": us / max(1, count), "unit": "µs", "note": f"{count:,} of them"}


class TimedMemo(Memo):
    """Adds up the seconds spent in `insert`: in calls that added expressions (`adding`), and in those that found all there."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.adding = self.finding = 0.0
        self.calls_adding = self.calls_finding = 0
        self.added = 0

    def insert(self, tree: Tree, into: int | None = None, *more: Any, **options: Any) -> tuple[int, list[LogicalExpr]]:
        start = perf_counter()
        done = super().insert(tree, into, *more, **options)
        seconds = perf_counter() - start
        if done[1]:
            self.adding += seconds
            self.calls_adding += 1
            self.added += len(done[1])
        else:
            self.finding += seconds
            self.calls_finding += 1
        return done


def insertions(query: str) -> Iterator[Row]:
    """What `Memo.insert` costs while rules explore a query: it is timed where it happens, call by call, on the clock; then
    scaled to CPU time by the two times of the whole exploration, less what reading the clock takes."""

    def explored() -> TimedMemo:
        ready = prepare(query, SEARCHES["rules"])
        memo = TimedMemo(ready.figures(), None, ready.bound.columns.label)
        ready.engine(memo).explore(ready.tree)
        return memo

    memo, times = least(explored, collect=True)
    share = min(1.0, times.cpu_ms / times.ms)
    read = _clock_read()
    for figure, seconds, calls in (
        ("insertion that adds to the memo", memo.adding, memo.calls_adding),
        ("insertion that finds all there", memo.finding, memo.calls_finding),
        ("insertion", memo.adding + memo.finding, memo.calls_adding + memo.calls_finding),
    ):
        row = _each(figure, max(0.0, seconds * share - calls * read) * 1e6, calls)
        row["note"] += f", {many(memo.added, 'expression')}" if figure.endswith("memo") else ""
        yield row


def _clock_read() -> float:
    """Seconds of CPU time that one reading of the clock takes."""
    start = process_time()
    for _ in range(CLOCK_READS):
        perf_counter()
    return (process_time() - start) / CLOCK_READS
