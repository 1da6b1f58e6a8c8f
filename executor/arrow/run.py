"""Runs a physical plan: cuts it into pipelines and hands out the batches of the root.

    source (scan, sort, aggregate, …) -> stage -> stage -> …        one pipeline

`open_node` walks down from a node along the inputs that stream (a filter's input, a join's probe side) to the source of
its pipeline. A stage that needs another input whole (a join's build side) reads it before the first batch passes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from executor.arrow import (
    constant_rows,
    filter_rows,
    hash_aggregate,
    hash_grouping_sets,
    hash_join,
    hash_set_op,
    kept_rows,
    limit_rows,
    lookup_rows,
    merge_join,
    merge_union,
    nested_apply,
    nested_loop_join,
    own_operators,
    partial_sort,
    project_rows,
    range_lookup,
    recurse,
    scan,
    sort,
    spools,
    streaming_aggregate,
    top_k,
    union_all,
    window_rows,
)
from executor.arrow.batches import Batches, one_after_other
from executor.arrow.context import Context, TableSource, Tuning
from executor.arrow.counted_rows import counted_rows
from executor.arrow.counters import Counters
from executor.arrow.encoded_texts import encoded_texts
from executor.arrow.failures import first_line, operator_errors
from executor.arrow.kept_rows import KeptRows
from executor.arrow.memory import keep_freed_memory
from executor.arrow.pipeline import Stage, Work, begun, run_stages
from executor.arrow.runtime_filters import RuntimeFilters, Test, filtered
from executor.arrow.watch import Watch, watched
from optimizer.algebra import physical
from optimizer.algebra.columns import Columns, column_ids
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.types import is_string
from optimizer.errors import CatalogError, ExecutionError

MakeBatches = Callable[[PlanNode, Context], Batches]
MakeStage = Callable[[PlanNode, Context], Stage]

SOURCES: dict[type[physical.PhysicalOperator], MakeBatches] = {
    physical.ConstantRows: constant_rows.produce,
    physical.FillSpool: spools.produce_fill,
    physical.HashAggregate: hash_aggregate.produce,
    physical.HashGroupingSets: hash_grouping_sets.produce,
    physical.HashSetOp: hash_set_op.produce,
    KeptRows: kept_rows.produce,
    physical.LimitRows: limit_rows.produce,
    physical.LookupRows: lookup_rows.produce,
    physical.MergeJoin: merge_join.produce,
    physical.MergeUnion: merge_union.produce,
    physical.NestedApply: nested_apply.produce,
    physical.PartialSort: partial_sort.produce,
    physical.RangeLookup: range_lookup.produce,
    physical.ReadSpool: spools.produce_read,
    physical.Recurse: recurse.produce,
    physical.Sort: sort.produce,
    physical.StreamingAggregate: streaming_aggregate.produce,
    physical.TopK: top_k.produce,
    physical.UnionAll: union_all.produce,
    physical.WindowRows: window_rows.produce,
    physical.WithSpools: spools.produce_with,
}

STAGES: dict[type[physical.PhysicalOperator], MakeStage] = {
    physical.FilterRows: filter_rows.stage,
    physical.ProjectRows: project_rows.stage,
    physical.HashJoin: hash_join.stage,
    physical.NestedLoopJoin: nested_loop_join.stage,
}


def execute(
    plan: PlanNode, columns: Columns, sources: Mapping[str, TableSource], counters: Counters | None = None,
    tuning: Tuning | None = None, watch: Watch | None = None, shares: Mapping[int, tuple[int, int]] = MappingProxyType({}),
    check_texts: bool = True,
) -> pa.RecordBatchReader:  # fmt: skip
    """The plan's rows as they come; nothing runs before the first batch is asked for. Under a `watch` it runs on a thread of its
    own, so that it can be stopped at any time. `shares`: by the ids of scans, which part of how many they read. `check_texts`:
    those of the result have to be UTF-8.

    Dropping the reader stops the plan. Reading raises ExecutionError, which names the operator that failed. Raises CatalogError
    where the plan reads a table whose rows are not at hand.
    """
    _check_rows(plan, sources)
    allow_depth(plan)
    keep_freed_memory()
    run, tuning = _Run(columns, counters, watch), tuning or Tuning()
    if watch is not None and watch.limits.bytes is not None:
        tuning = replace(tuning, cache=min(tuning.cache, watch.limits.bytes // 4))
    filters = RuntimeFilters() if tuning.filters else None
    encoded, counted = encoded_texts(plan, columns, sources), counted_rows(plan)
    context = Context(
        columns, sources, counters, tuning, run.open_node,
        filters=filters, watch=watch, encoded=encoded, counted=counted, shares=shares,
    )  # fmt: skip
    batches = context.open(plan)
    if check_texts:
        batches = _readable(batches, plan, columns)
    return pa.RecordBatchReader.from_batches(context.schema(plan), batches if watch is None else watched(batches, watch))


def _readable(batches: Batches, plan: PlanNode, columns: Columns) -> Batches:
    """The batches; raises ExecutionError for a text that is no UTF-8. Files may hold such bytes, and reading does not look."""
    texts = [(number, id) for number, id in enumerate(column_ids(plan.columns)) if is_string(columns[id].type)]
    for batch in batches:
        for number, id in texts:
            try:
                batch.column(number).validate(full=True)
            except pa.ArrowInvalid as error:
                raise ExecutionError(f'a text in column "{columns[id].name}" is not UTF-8 ({first_line(error)})') from error
        yield batch


def _check_rows(plan: PlanNode, sources: Mapping[str, TableSource]) -> None:
    for node in plan.walk():
        source = sources.get(node.op.scan.table) if isinstance(node.op, physical.TableScan) else None
        if source is not None and not source.files:
            raise CatalogError(f'table "{source.name}" has statistics only, no rows: queries on it can be planned but not run')


MOST_DEPTH = 3000  # operators one below another that generators are nested for: some 8 MB of the stack hold 4,000


def allow_depth(plan: PlanNode, frames: int = 12) -> None:
    """Generators of nested operators resume one another: raise Python's limit for a very deep plan, which takes so many `frames`
    for each operator. Raises ExecutionError for a plan that the stack would not hold."""
    depth, level = 0, [plan]
    while level:
        depth, level = depth + 1, [child for node in level for child in node.inputs]
    if depth > MOST_DEPTH:
        (name, _), *_ = Counter(node.op.name for node in plan.walk()).most_common(1)
        raise ExecutionError(
            f"the plan has {depth:,} operators one below another, most of them {name}; {MOST_DEPTH:,} can be run\n"
            "a rule of a plug-in may add one each time it fires: planscope explain shows which rules did"
        )
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000 + frames * depth))


class _Run:
    """One execution. `_inner` is a stack of seconds that nested inputs took, to keep them out of their consumer's time;
    the consumer's thread alone advances sources, so one stack serves all."""

    def __init__(self, columns: Columns, counters: Counters | None, watch: Watch | None) -> None:
        self._columns, self._counters, self._watch = columns, counters, watch
        self._inner = [0.0]

    def _errors(self, node: PlanNode) -> AbstractContextManager[None]:
        return operator_errors(node.op.name, lambda id: self._columns[id].origin or self._columns[id].name)

    @contextmanager
    def _stopwatch(self, node: PlanNode | None) -> Iterator[None]:
        """The time until the end, but for what is nested in it, is the node's, or nobody's."""
        started = perf_counter()
        self._inner.append(0.0)
        try:
            yield
        finally:
            elapsed = perf_counter() - started
            nested = self._inner.pop()
            self._inner[-1] += elapsed
            if self._counters is not None and node is not None:
                self._counters.add(node.id, elapsed - nested)

    def open_node(self, node: PlanNode, context: Context) -> Batches:
        """A generator of the node's batches; build sides are read when the first one is asked for."""
        if context.filters is not None and context.tuning.workers > 1:
            self._begin(node, context, context.filters)
        stages: list[tuple[PlanNode, Stage]] = []  # from the top
        dead = False
        while not dead and (make := _stage_of(node.op)) is not None:
            with self._errors(node), self._stopwatch(node):
                stage = make(node, context)
            stages.append((node, stage))
            dead = stage.dead
            node = node.inputs[streamed_input(node)]
        counted = not isinstance(node.op, KeptRows)  # kept rows were counted when they were made
        work: list[Work] = []
        if dead:
            batches = _nothing()
        elif isinstance(node.op, physical.TableScan) and not hasattr(node.op, "produce"):
            batches, read = self._scan(node, context)
            work += [] if read is None else [read]
        else:
            batches = self._timed(node, _source_of(node.op)(node, context), counted)
        for at, stage in reversed(stages):
            if stage.dead:
                continue
            work.append(self._counted(at, stage.work))
            if stage.tail is not None:
                batches = one_after_other(run_stages(batches, work, context.tuning), self._timed(at, stage.tail()))
                work = []
        result = run_stages(batches, work, context.tuning) if work else batches
        try:
            yield from result if self._counters is None else self._waiting(result)
        finally:
            for at, _ in stages:
                context.released(at.id)

    def _begin(self, node: PlanNode, context: Context, filters: RuntimeFilters) -> None:
        """Begins the small scans on the build sides of the pipeline's joins, where there are several: one after the other they
        would keep one thread busy each. Where they fail, it is told to who asks for the rows."""
        scans = []
        while _stage_of(node.op) is not None:
            streamed = streamed_input(node)
            if isinstance(node.op, physical.HashJoin) and type(node.inputs[1 - streamed].op) is physical.TableScan:
                scans.append(node.inputs[1 - streamed])
            node = node.inputs[streamed]
        for each in scans if len(scans) > 1 else ():
            with self._errors(each):
                items, read, rows = scan.start(each, context)
            if read is not None and context.tuning.inline <= rows <= context.tuning.batch and not filters.is_ahead(each):
                filters.begun(each, begun(partial(_all, list(items), self._counted(each, read)), rows, context.tuning))

    def _scan(self, node: PlanNode, context: Context) -> tuple[Batches, Work | None]:
        """What a scan's rows are made of, and how; filtered rows are made here."""
        ahead = None if context.filters is None else context.filters.ahead(node)
        if ahead is not None:
            return ahead, None
        filters = () if context.filters is None else context.filters.of(node)
        tests = [Test(each, node, context) for each in filters if not each.near]
        with self._errors(node):
            items, read, rows = scan.start(node, context, [each.range(node, context) for each in filters], tests)
        if self._watch is not None:
            items = self._watch.reading(items, rows)
        if not tests or read is None:
            return self._timed(node, items, read is None), None if read is None else self._counted(node, read)
        return self._timed(node, filtered(items, read, tests, context.tuning)), None

    def _timed(self, node: PlanNode, batches: Iterator[pa.RecordBatch], counted: bool = True) -> Batches:
        """The batches of a source (or row groups, not counted), its errors named, its own time and output counted."""
        counters, watch = self._counters, self._watch
        with self._errors(node):
            if counters is None and watch is None:
                yield from batches
                return
            if counters is not None:
                counters.add(node.id, 0.0)
            try:
                while True:
                    with self._stopwatch(node):
                        if watch is not None:
                            watch.enter(node)
                        try:
                            batch = next(batches, None)
                        finally:
                            if watch is not None:
                                watch.leave()
                    if batch is None:
                        break
                    if counters is not None and counted:
                        counters.add(node.id, 0.0, batch.num_rows)
                    yield batch
            finally:
                if watch is not None:
                    watch.released(node.id)

    def _waiting(self, batches: Batches) -> Batches:
        """Time spent waiting for a pipeline's threads is nobody's own."""
        while True:
            with self._stopwatch(None):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def _counted(self, node: PlanNode, work: Work) -> Work:
        """A stage's work, its errors named, its time and output counted; runs on any thread."""
        counters = self._counters

        def run(batch: pa.RecordBatch) -> Batches:
            with self._errors(node):
                if counters is None:
                    yield from work(batch)
                    return
                started = perf_counter()
                for made in work(batch):
                    counters.add(node.id, perf_counter() - started, made.num_rows)
                    yield made
                    started = perf_counter()
                counters.add(node.id, perf_counter() - started)

        return run


def _all(items: Iterable[Any], work: Work) -> list[pa.RecordBatch]:
    return [batch for item in items for batch in work(item)]


def _nothing() -> Batches:
    yield from ()


def _stage_of(op: physical.PhysicalOperator) -> MakeStage | None:
    """How a class of operators becomes a stage, None for a source. A class that is not listed says so itself, with a method
    `stage` or `produce`, else it runs as the class that it is derived from."""
    if (listed := STAGES.get(type(op))) is not None or type(op) in SOURCES or type(op) is physical.TableScan:
        return listed
    if hasattr(op, "stage"):
        return own_operators.stage
    if hasattr(op, "produce"):
        return None
    return next((STAGES[base] for base in type(op).__mro__ if base in STAGES), None)


def _source_of(op: physical.PhysicalOperator) -> MakeBatches:
    if (listed := SOURCES.get(type(op))) is not None:
        return listed
    if hasattr(op, "produce"):
        return own_operators.produce
    inherited = next((SOURCES[base] for base in type(op).__mro__ if base in SOURCES), None)
    if inherited is None:
        raise ExecutionError(
            f"the executor does not know the operator {op.name}\n"
            f"write {type(op).__name__}.stage(self, node, context), which gives a Stage, or produce(self, node, context), batches"
        )
    return inherited


def streamed_input(node: PlanNode) -> int:
    """Which input of a stage's node flows through it; the others are read whole. Of a plug-in's operator the first."""
    return 1 if isinstance(node.op, physical.HashJoin) and node.op.build_left else 0
