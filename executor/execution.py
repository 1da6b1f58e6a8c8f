"""Runs a planned query: its rows as a stream, within limits, and what each operator did."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from memo_viz.explain import Actual, Actuals
from optimizer.algebra.columns import Columns
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.traits import Collation
from optimizer.errors import ExecutionError, SettingsError
from optimizer.pipeline import OptimizedQuery

if TYPE_CHECKING:
    from executor.arrow.context import TableSource, Tuning
    from executor.arrow.counters import Counters
    from executor.arrow.watch import Limits, Watch


class Engine(Protocol):
    """What runs plans. `cost_model`: by which plans are chosen for it, where the settings do not say."""

    @property
    def name(self) -> str: ...
    @property
    def cost_model(self) -> str: ...

    def shown(self, plan: PlanNode, order: Collation, columns: Columns) -> PlanNode:
        """The plan, whose rows have to come by `order`, as it runs: with what the engine adds. Its nodes keep their ids."""

    def execute(
        self, plan: PlanNode, order: Collation, columns: Columns, sources: Mapping[str, TableSource], counters: Counters | None,
        tuning: Tuning, watch: Watch | None,
    ) -> pa.RecordBatchReader:  # fmt: skip
        """As `executor.arrow.run.execute`."""


class ArrowEngine:
    """This process."""

    name = cost_model = "arrow"

    def shown(self, plan: PlanNode, order: Collation, columns: Columns) -> PlanNode:
        return plan

    def execute(
        self, plan: PlanNode, order: Collation, columns: Columns, sources: Mapping[str, TableSource], counters: Counters | None,
        tuning: Tuning, watch: Watch | None,
    ) -> pa.RecordBatchReader:  # fmt: skip
        from executor.arrow.run import execute

        return execute(plan, columns, sources, counters, tuning, watch)


ARROW = ArrowEngine()


def reader(
    query: OptimizedQuery, counters: Counters | None = None, limits: Limits | None = None,
    progress: Callable[[Watch], None] | None = None, engine: Engine = ARROW,
) -> pa.RecordBatchReader:  # fmt: skip
    """The result as a stream under the user's column names; it runs as it is read. Raises ExecutionError.

    With `limits` it runs on a thread of its own and can be stopped at any time; `progress` is called while it is waited for.
    Fields that can hold no NULL, as the bound query shows whatever the settings are, say so.
    """
    from executor.arrow.context import Tuning  # planning alone does without the executors
    from executor.arrow.watch import Watch

    tuning = Tuning(filters=query.settings.runtime_filters)
    watch = None if limits is None else Watch(limits, progress)
    stream = engine.execute(query.plan, query.order, query.columns, query.catalog.tables, counters, tuning, watch)
    positions = [stream.schema.get_field_index(f"c{output.id}") for output in query.outputs]
    not_null = query.bound.tree.props.not_null
    types = [stream.schema.field(p).type for p in positions]
    schema = pa.schema([pa.field(o.name, t, not not_null >> o.id & 1) for o, t in zip(query.outputs, types, strict=True)])

    def named(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [batch.column(p) for p in positions]
        for field, column in zip(schema, columns, strict=True) if query.settings.plugins else ():
            if not field.nullable and column.null_count:
                raise ExecutionError(
                    f"{field.name} is NULL in some rows, which the query excludes\n"
                    f"an operator or a rule of a plug-in is wrong ({', '.join(query.settings.plugins)})"
                )
        return pa.record_batch(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, map(named, stream))


def new_counters() -> Counters:
    """Empty counters for `reader`; `actuals` reads them afterwards."""
    from executor.arrow.counters import Counters

    return Counters()


def actuals(counters: Counters) -> Actuals:
    """What each operator did in the execution that filled `counters`."""
    return {id: Actual(c.rows, c.ms, c.peak_bytes, c.removed, c.fewer) for id, c in counters.nodes.items()}


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def limits(timeout: float | None = None, memory: int | str | None = None) -> Limits:
    """Seconds, and bytes or a text such as "256MB" or "1.5 GiB". Raises SettingsError."""
    from executor.arrow.watch import Limits

    if timeout is not None and not (isinstance(timeout, Real) and timeout is not True and timeout > 0):
        raise SettingsError(f"the timeout has to be a number of seconds above 0, not {timeout!r}")
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", memory)
        if found is None or found[2].lower() not in _UNITS:
            raise SettingsError(f'the memory limit cannot be "{memory}": write a size such as 256MB, 1.5GB or 512MiB')
        memory = int(float(found[1]) * _UNITS[found[2].lower()])
    if memory is not None and not (isinstance(memory, Real) and memory is not True and memory > 0):
        raise SettingsError(f"the memory limit has to be a size above 0, not {memory!r}")
    return Limits(timeout, memory)
