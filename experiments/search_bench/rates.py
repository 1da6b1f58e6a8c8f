"""Microseconds of CPU time: for a costed join alternative, a task, an insertion into the memo. The search alone is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter, process_time
from typing import Any

from experiments.search_bench.clock import RUNS, Times, least, timed
from experiments.search_bench.figure import Figure
from experiments.search_bench.settings import SEARCHES
from experiments.search_bench.stages import prepare
from optimizer.algebra.trees import Tree
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr
from optimizer.search.search import Search

MOST_FOR_AN_ALTERNATIVE = 3.0  # µs, clique 12 exhaustively
CLOCK_READS = 20_000  # to find out what reading the clock costs


def measure(progress: Callable[[str], None] | None = None, quick: bool = False) -> Iterator[Figure]:
    """`quick`: smaller graphs, one run each."""
    runs = 1 if quick else RUNS
    for query, search in (
        ("clique/8" if quick else "clique/12", "exhaustive"),
        ("clique/8" if quick else "clique/12", "table"),
        ("star/8" if quick else "star/14", "exhaustive"),
        ("star/8" if quick else "star/14", "table"),
        ("star/8" if quick else "star/14", "default"),
        ("star/6" if quick else "star/8", "rules, no pruning"),
        ("clique/6" if quick else "clique/8", "rules"),
    ):
        if progress:
            progress(f"rates: {query}, {search}")
        engine, times = _searched(query, search, runs)
        yield from _rates(f"{query}, {search}", engine, times)
    query = "clique/6" if quick else "clique/8"
    if progress:
        progress(f"rates: {query}, insertions")
    yield from insertions(query)


def _searched(query: str, search: str, runs: int) -> tuple[Search, Times]:
    """The quickest search of a query, and its times."""
    best: tuple[Search, Times] | None = None
    for _ in range(runs):
        ready = prepare(query, SEARCHES[search])
        (engine, _), times = timed(ready.search)
        if best is None or times.cpu < best[1].cpu:
            best = engine, times
    assert best is not None, "no run was asked for"
    return best


def _rates(of: str, engine: Search, times: Times) -> Iterator[Figure]:
    us, counters = times.cpu * 1e3, engine.counters
    pairs = sum(region.pairs for region in engine.regions.made)
    exhaustive = not engine.prune
    if exhaustive:
        target = MOST_FOR_AN_ALTERNATIVE if of == "clique/12, exhaustive" else None
        yield Figure("rates", "costed join alternative", of, us / counters.costed, "µs", target, f"{counters.costed:,} of them")
    if exhaustive and pairs:
        yield Figure("rates", "pair of relation sets", of, us / pairs, "µs", None, f"{pairs:,} of them")
    yield Figure("rates", "task", of, us / counters.tasks, "µs", None, f"{counters.tasks:,} of them")


class TimedMemo(Memo):
    """Adds up the seconds spent in `insert`: in calls that added expressions (`adding`), and in those that found all there."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.adding = self.finding = 0.0
        self.calls_adding = self.calls_finding = 0
        self.added = 0

    def insert(
        self, tree: Tree, into: int | None = None, rule: str | None = None, source: int = -1, known_regions: bool = False,
        unseen: bool = False,
    ) -> tuple[int, list[LogicalExpr]]:  # fmt: skip
        start = perf_counter()
        done = super().insert(tree, into, rule, source, known_regions, unseen)
        seconds = perf_counter() - start
        if done[1]:
            self.adding += seconds
            self.calls_adding += 1
            self.added += len(done[1])
        else:
            self.finding += seconds
            self.calls_finding += 1
        return done


def insertions(query: str) -> Iterator[Figure]:
    """What `Memo.insert` costs while rules explore a query: it is timed where it happens, call by call, on the clock; then
    scaled to CPU time by the two times of the whole exploration, less what reading the clock takes."""

    def explored() -> TimedMemo:
        ready = prepare(query, SEARCHES["rules"])
        memo = TimedMemo(ready.figures(), None, ready.bound.columns.label)
        ready.engine(memo).explore(ready.tree)
        return memo

    memo, times = least(explored)
    share = min(1.0, times.cpu / times.wall)
    read = _clock_read()
    for figure, seconds, calls in (
        ("insertion that adds to the memo", memo.adding, memo.calls_adding),
        ("insertion that finds all there", memo.finding, memo.calls_finding),
        ("insertion", memo.adding + memo.finding, memo.calls_adding + memo.calls_finding),
    ):
        us = max(0.0, seconds * share - calls * read) * 1e6 / max(1, calls)
        note = f"{calls:,} of them" + (f", {memo.added:,} expressions" if figure.endswith("memo") else "")
        yield Figure("rates", figure, f"{query}, rules", us, "µs", None, note)


def _clock_read() -> float:
    """Seconds of CPU time that one reading of the clock takes."""
    start = process_time()
    for _ in range(CLOCK_READS):
        perf_counter()
    return (process_time() - start) / CLOCK_READS
