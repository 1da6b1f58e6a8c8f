"""Runs a planned query: its rows as a stream, within limits, and what each operator did."""

from __future__ import annotations

import re
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING

import pyarrow as pa

from memo_viz.explain import Actual, Actuals
from optimizer.algebra.plan import PlanNode
from optimizer.errors import SettingsError
from optimizer.pipeline import OptimizedQuery

if TYPE_CHECKING:
    from executor.arrow.counters import Counters
    from executor.arrow.watch import Limits, Watch


def reader(
    query: OptimizedQuery,
    counters: Counters | None = None,
    limits: Limits | None = None,
    progress: Callable[[Watch], None] | None = None,
) -> pa.RecordBatchReader:
    """The result as a stream under the user's column names; it runs as it is read. Raises ExecutionError.

    With `limits` it runs on a thread of its own and can be stopped at any time; `progress` is called while it is waited for.
    Fields that can hold no NULL, as the bound query shows whatever the settings are, say so.
    """
    from executor.arrow.context import Tuning  # planning alone does without the executors
    from executor.arrow.run import execute
    from executor.arrow.watch import Watch

    tuning = Tuning(filters=query.settings.runtime_filters)
    watch = None if limits is None else Watch(limits, progress)
    stream = execute(query.plan, query.columns, query.catalog.tables, counters, tuning, watch)
    positions = [stream.schema.get_field_index(f"c{output.id}") for output in query.outputs]
    not_null = query.bound.tree.props.not_null
    types = [stream.schema.field(p).type for p in positions]
    schema = pa.schema([pa.field(o.name, t, not not_null >> o.id & 1) for o, t in zip(query.outputs, types, strict=True)])
    batches = (pa.record_batch([batch.column(p) for p in positions], schema=schema) for batch in stream)
    return pa.RecordBatchReader.from_batches(schema, batches)


def new_counters() -> Counters:
    """Empty counters for `reader`; `actuals` reads them afterwards."""
    from executor.arrow.counters import Counters

    return Counters()


def actuals(plan: PlanNode, counters: Counters) -> Actuals:
    """What each operator of a plan did in the execution that filled `counters`."""
    found = ((node.id, counters.nodes.get(node.id)) for node in plan.walk())
    return {id: Actual(c.rows, c.ms, c.peak_bytes, c.removed, c.fewer) for id, c in found if c is not None}


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def limits(timeout: float | None = None, memory: int | str | None = None) -> Limits:
    """Seconds, and bytes or a text such as "256MB" or "1.5 GiB". Raises SettingsError."""
    from executor.arrow.watch import Limits

    if timeout is not None and not (isinstance(timeout, Real) and timeout > 0):
        raise SettingsError(f"the timeout has to be a number of seconds above 0, not {timeout!r}")
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", memory)
        if found is None or found[2].lower() not in _UNITS:
            raise SettingsError(f'the memory limit cannot be "{memory}": write a size such as 256MB, 1.5GB or 512MiB')
        memory = int(float(found[1]) * _UNITS[found[2].lower()])
    if memory is not None and not (isinstance(memory, Real) and memory > 0):
        raise SettingsError(f"the memory limit has to be a size above 0, not {memory!r}")
    return Limits(timeout, memory)
