"""Batches on several threads: order, how far is read ahead, what is begun before it is asked for; cuts between groups."""

import random
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hand_made_plans import I64, Plans, node

from executor.arrow.batches import Batches
from executor.arrow.context import Context, Tuning
from executor.arrow.pipeline import at_work, begun, ordered_map
from executor.arrow.whole_groups import group_starts, whole_groups
from optimizer.algebra import FilterRows, column_ids

THREE = Tuning(inline=0, workers=3)


def batch_of(*numbers: int | None) -> pa.RecordBatch:
    return pa.record_batch([pa.array(numbers, I64)], ["c0"])


def counted(taken: list[int], count: int) -> Iterator[pa.RecordBatch]:
    for number in range(count):
        taken.append(number)
        yield batch_of(number)


def test_others_go_on_while_the_consumer_is_busy_but_not_all_is_read() -> None:
    taken: list[int] = []
    done = [threading.Event() for _ in range(100)]

    def work(batch: pa.RecordBatch) -> list[int]:
        number = batch.column(0)[0].as_py()
        done[number].set()
        return [number]

    made = ordered_map(counted(taken, 100), work, THREE)
    assert next(made) == 0
    ahead = len(taken)
    assert THREE.workers < ahead <= 2 * THREE.workers
    for event in done[:ahead]:
        assert event.wait(60)  # nobody asks for these
    assert len(taken) == ahead
    assert list(made) == list(range(1, 100))


def test_results_are_in_order_and_the_first_error_is_the_first_in_order() -> None:
    release = threading.Event()

    def work(batch: pa.RecordBatch) -> list[int]:
        number = batch.column(0)[0].as_py()
        if number == 1:
            release.wait(60)
            raise ValueError("first")
        if number == 2:
            release.set()
            raise ValueError("second")
        return [number]

    made = ordered_map(counted([], 9), work, THREE)
    assert next(made) == 0
    with pytest.raises(ValueError, match="first"):
        next(made)


def test_what_is_begun_is_at_work_before_it_is_asked_for() -> None:
    started, end = threading.Event(), threading.Event()

    def make() -> threading.Thread:
        started.set()
        end.wait(60)
        return threading.current_thread()

    ask = begun(make, 1, THREE)
    assert started.wait(60)
    assert at_work()
    end.set()
    assert ask() is ask() is not threading.current_thread()
    assert not at_work()


@pytest.mark.parametrize(("rows", "tuning"), [(1_000_000, Tuning(workers=1)), (10, Tuning(workers=4))])
def test_one_worker_or_a_few_rows_need_no_thread(rows: int, tuning: Tuning) -> None:
    here = threading.current_thread()
    assert begun(threading.current_thread, rows, tuning)() is here
    assert list(ordered_map(iter([batch_of(1)]), lambda batch: [threading.current_thread()], tuning)) == [here]


def test_an_error_comes_up_where_the_result_is_asked_for() -> None:
    def make() -> None:
        raise ValueError("no")

    ask = begun(make, 1, THREE)
    with pytest.raises(ValueError, match="no"):
        ask()


@pytest.mark.parametrize("longest", [1, 5, 3000, 40_000])
def test_no_group_is_in_two_batches(longest: int, plans: Plans) -> None:
    draw = random.Random(longest)
    keys: list[int | None] = []
    while len(keys) < 60_000:
        keys += [None if draw.random() < 0.1 else len(keys)] * draw.randint(1, longest)
    scan = plans.table([I64], [])
    (id,) = column_ids(scan.columns)
    whole = pa.record_batch([pa.array(keys, I64)], [f"c{id}"])

    def pieces(*_: object) -> Batches:
        for start in range(0, len(keys), 999):
            yield whole.slice(start, 999)

    above = node(FilterRows(()), scan, columns=scan.columns)
    context = Context(plans.columns, plans.sources, None, Tuning(window=5000), pieces)
    seen: list[Any] = []
    last: set[Any] = set()
    for batch in whole_groups(above, context, [id]):
        values = batch.column(0).to_pylist()
        runs = [values[start] for start in group_starts(batch, [id])]
        assert last.isdisjoint(runs[:1])
        last = {runs[-1]}
        seen += values
    assert seen == keys
