"""Rows on their way from task to task: parts of Arrow tables, as bytes, with the number of the task that they go to.

Spark moves them as it moves any rows; what is in them it does not look at, so all types and values arrive as they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from executor.arrow.batches import column_name, one_batch
from executor.arrow.failures import OperatorError
from executor.arrow.key_parts import parted
from executor.spark.places import Kind, Place

_MOST_BYTES = 64 << 20  # of rows in one part
ERROR, COUNTED = -1, -2  # numbers of parts that are no rows
EVERY = -1  # the number of a task that means all of them


class Part(NamedTuple):
    """`content` of the task `sender` of `stage` for `task`, or for all of them (EVERY). `part`: its place among those; or ERROR:
    what the sender raised, or COUNTED: what operators did, which is passed on until it is with the last stage."""

    task: int
    stage: int
    sender: int
    part: int
    content: bytes


def targets(place: Place, sender: int, tasks: int) -> Sequence[int]:
    """The tasks to which rows may go."""
    return {Kind.ONE: (0,), Kind.ANY: (sender,), Kind.ALL: (EVERY,)}.get(place.kind, range(tasks))


def sent(table: pa.Table, place: Place, sender: int, tasks: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a table for each task."""
    if place.kind is not Kind.HASH:
        yield from ((task, table) for task in targets(place, sender, tasks))
        return
    for number, rows in enumerate(parted(one_batch(table), list(map(column_name, place.columns)), tasks)):
        yield number, pa.Table.from_batches([rows])


def contents(table: pa.Table, whole: bool = False) -> Iterator[bytes]:
    """A table as bytes, in pieces unless it has to be `whole`."""
    rows = max(1, table.num_rows if whole else table.num_rows * _MOST_BYTES // max(1, table.nbytes))
    for start in range(0, max(1, table.num_rows), rows):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(start, rows))
        yield sink.getvalue().to_pybytes()


def table_of(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()


def decoded(table: pa.Table) -> pa.Table:
    """With texts in the place of dictionaries."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.string()))
    return table


def by_sender(parts: Iterable[Part], stage: int) -> list[list[pa.Table]]:
    """The tables that each task of a stage sent, in the order of the tasks: the same however often they are sent.

    Raises ExecutionError where one of them failed.
    """
    found: dict[int, list[Part]] = {}
    for each in sorted((each for each in parts if each.stage == stage), key=lambda each: each.sender):
        if each.part == ERROR:
            raise OperatorError(each.content.decode())
        if each.part >= 0:
            found.setdefault(each.sender, []).append(each)
    return [[table_of(each.content) for each in sorted(found[sender], key=lambda each: each.part)] for sender in sorted(found)]
