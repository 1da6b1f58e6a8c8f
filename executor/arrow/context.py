"""What every operator of a running plan shares."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from executor.arrow.batches import Batches, batch_schema
from executor.arrow.counters import Counters
from optimizer.algebra.columns import Columns, ColumnSet
from optimizer.algebra.plan import PlanNode

if TYPE_CHECKING:
    from executor.arrow.runtime_filters import RuntimeFilters
    from executor.arrow.watch import Watch

Made = TypeVar("Made")
Rows = Callable[[], Iterable[pa.RecordBatch]]  # from the first, each time
WORKERS = min(8, os.cpu_count() or 1)  # threads of the process that work on batches


class TableSource(Protocol):
    """A stored table. `schema` has canonical types (string, date32, timestamp[us], decimal128 …), whatever encodings the
    files use, and `read_schema` texts for columns that are read by `from_texts`; `format` is "parquet", "csv" or "arrow"; rows
    are stored file by file in the order of `files`."""

    @property
    def name(self) -> str: ...
    @property
    def files(self) -> tuple[Path, ...]: ...
    @property
    def format(self) -> str: ...
    @property
    def schema(self) -> pa.Schema: ...
    @property
    def read_schema(self) -> pa.Schema: ...


@dataclass(frozen=True, slots=True)
class Tuning:
    """Sizes in rows. They change speed and memory, never a result, but for `rounds`: a recursion that takes more is an error.

    `batch`: rows of a batch that an operator makes. `pairs`: candidate pairs a join holds at a time. `window`: rows a merge
    join or streaming aggregate gathers before it works. `merge`: partial groups (or top-k candidates) gathered before they
    are merged, `part` of them at a time. `inline`: a batch of fewer rows is not worth a thread. `workers`: threads of a pipeline.
    `cache`: bytes of results that an Apply remembers, a quarter of a memory limit at most. `filters`: build sides of hash joins
    filter the scans below the probe side.
    """

    batch: int = 131_072  # a row group of most writers
    pairs: int = 262_144
    window: int = 65_536
    merge: int = 1_048_576
    part: int = 262_144
    inline: int = 8_192
    cache: int = 256 << 20
    rounds: int = 100_000
    filters: bool = True
    workers: int = WORKERS


@dataclass(frozen=True, slots=True)
class Context:
    """`opener` starts a node's plan: a generator of its batches. `memory`: what operators keep from one run of their plan to the
    next, by node; None where a plan runs once. `filters`: what finished build sides say of scans; None where nobody asks them.
    `watch`: who looks after limits, if anybody. `spools`: the rows that spools hold, by number. `encoded`: columns that come as
    dictionaries, by the id of the node that hands them on. `counted`: joins of whose rows only the number is read, by id(): their
    columns are NULLs without a type. `shares`: of scans that read a part of their table, by id, which part of how many."""

    columns: Columns
    sources: Mapping[str, TableSource]
    counters: Counters | None
    tuning: Tuning
    opener: Callable[[PlanNode, Context], Batches]
    memory: dict[int, Any] | None = None
    filters: RuntimeFilters | None = None
    watch: Watch | None = None
    spools: Mapping[int, Rows] = field(default_factory=dict)
    encoded: Mapping[int, ColumnSet] = field(default_factory=dict)
    counted: frozenset[int] = frozenset()
    shares: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def open(self, node: PlanNode) -> Batches:
        return self.opener(node, self)

    def again(self, memory: dict[int, Any]) -> Context:
        """The same for a plan that is run again and again."""
        return replace(self, memory=memory, filters=None, encoded={}, counted=frozenset())

    def once(self, node: PlanNode, make: Callable[[], Made]) -> Made:
        """What `make` gives, made in the first run of the node: it must not depend on the values of parameters."""
        if self.memory is None:
            return make()
        if id(node) not in self.memory:
            self.memory[id(node)] = make()
        found: Made = self.memory[id(node)]
        return found

    def schema(self, node: PlanNode) -> pa.Schema:
        schema = batch_schema(node.columns, self.columns, self.encoded.get(node.id, 0))
        return pa.schema([each.with_type(pa.null()) for each in schema]) if id(node) in self.counted else schema

    def held(self, node: PlanNode, bytes: int, key: Hashable = None, again: bool = False) -> None:
        """The operator holds so many bytes now, with what the kernel makes that it calls next. Raises LimitReached. For
        `key`, `again` see `Watch`; what has a key may outlive the operator's run, and is held until `released`."""
        if self.counters is not None:
            self.counters.held(node.id, bytes)
        if self.watch is not None:
            self.watch.held(node, bytes, key, again)

    def released(self, key: Hashable) -> None:
        if self.watch is not None:
            self.watch.released(key)

    def go_on(self) -> None:
        """Raises Stopped where nobody waits for the query any more."""
        if self.watch is not None:
            self.watch.go_on()

    def gather(self, node: PlanNode, child: PlanNode) -> pa.Table:
        """All rows of an input, which `node` holds from now on."""
        batches, bytes = [], 0
        for batch in self.open(child):
            batches.append(batch)
            bytes += batch.nbytes
            self.held(node, bytes)
        return pa.Table.from_batches(batches, self.schema(child))
