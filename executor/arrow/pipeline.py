"""Batches of one source through a row of stages, on several threads, in order.

A stage turns one batch into any number of batches and depends on no other batch, so batches may pass it at the same
time. Only the consumer's thread advances the source and only a stage's work is given to the pool. A task waits at most
for one that the pool was given before it (`begun`: an index that the first batch that asks for it finds being built), so
pipelines inside pipelines cannot block one another.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from executor.arrow.batches import Batches
from executor.arrow.context import WORKERS, Tuning

Work = Callable[[Any], Iterable[pa.RecordBatch]]  # on a batch; the first stage of a scan on a row group, which has `num_rows` too
Made = TypeVar("Made")
_SPARE = 2  # tasks begun beyond one a worker: others go on while the consumer works on a result, or waits for a slow one
_given: set[Future[Any]] = set()  # to the pool, and not done
_AHEAD = 8  # batches a task makes before it leaves the rest to the consumer: bounds what a join with many matches holds


class Stage(NamedTuple):
    """`work` on each batch; `tail`, if any, are batches that follow once the source has ended (unmatched rows of a build
    side). `dead`: no batch can come out whatever goes in, so the source need not be read."""

    work: Work
    tail: Callable[[], Batches] | None = None
    dead: bool = False


def run_stages(source: Batches, work: Sequence[Work], tuning: Tuning) -> Batches:
    """What comes out at the end, in the order of the source. Empty batches are left out."""
    return ordered_map(source, lambda batch: _through(batch, work), tuning)


def ordered_map(source: Iterator[Any], work: Callable[[Any], Iterable[Made]], tuning: Tuning) -> Generator[Made, None, None]:
    """What `work` makes of each batch, on several threads, in the order of the source."""
    waiting: deque[Future[tuple[list[Made], Iterator[Made]]]] = deque()
    try:
        for batch in source:
            if not waiting and (tuning.workers < 2 or batch.num_rows < tuning.inline):
                yield from work(batch)
                continue
            waiting.append(_give(_start, batch, work))
            if len(waiting) >= tuning.workers + _SPARE:
                yield from _finish(waiting.popleft())
        while waiting:
            yield from _finish(waiting.popleft())
    finally:
        for task in waiting:
            task.cancel()
        if isinstance(source, Generator):
            source.close()


def begun(make: Callable[[], Made], rows: int, tuning: Tuning) -> Callable[[], Made]:
    """What `make` gives of so many rows. It is at work on another thread when this returns, and waited for by who asks.

    Tasks begin in the order in which the pool got them, so what a task waits for has begun before it.
    """
    if tuning.workers < 2 or rows < tuning.inline:
        made = make()
        return lambda: made
    return _give(make).result


def made_once(make: Callable[..., Made]) -> Callable[..., Made]:
    """What `make` gives of arguments is made by the first thread that asks for it; others wait."""
    lock, made = Lock(), dict[tuple[Any, ...], Made]()

    def ask(*arguments: Any) -> Made:
        with lock:
            if arguments not in made:
                made[arguments] = make(*arguments)
            return made[arguments]

    return ask


def at_work() -> bool:
    """Whether something that the pool was given is not done, though nobody may wait for it any more."""
    return any(not task.done() for task in list(_given))


def _give(make: Callable[..., Made], *arguments: Any) -> Future[Made]:
    task = _pool().submit(make, *arguments)
    _given.add(task)
    task.add_done_callback(_given.discard)
    return task


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(WORKERS, "pipeline")


def _start(batch: pa.RecordBatch, work: Callable[[pa.RecordBatch], Iterable[Made]]) -> tuple[list[Made], Iterator[Made]]:
    results = iter(work(batch))
    return list(islice(results, _AHEAD)), results


def _finish(task: Future[tuple[list[Made], Iterator[Made]]]) -> Iterator[Made]:
    made, rest = task.result()
    yield from made
    yield from rest


def _through(batch: pa.RecordBatch, work: Sequence[Work]) -> Batches:
    """Depth first, with a stack instead of recursion: any number of stages."""
    stack: list[Iterator[pa.RecordBatch]] = [iter((batch,))]
    while stack:
        current = next(stack[-1], None)
        if current is None:
            stack.pop()
        elif current.num_rows == 0:
            continue
        elif len(stack) > len(work):
            yield current
        else:
            stack.append(iter(work[len(stack) - 1](current)))
