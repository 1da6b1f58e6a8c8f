"""Operators of plug-ins: what they give is checked as they give it, since a wrong batch is wrong rows, or an error elsewhere."""

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pyarrow as pa

from executor.arrow.batches import Batches
from executor.arrow.context import Context
from executor.arrow.pipeline import Stage
from optimizer.algebra.plan import PlanNode
from optimizer.errors import ExecutionError
from optimizer.plugin_code import plugins_named


def produce(node: PlanNode, context: Context) -> Batches:
    """The batches of a source. Raises ExecutionError where they are none, or have other columns than the node."""
    return _checked(node, context, "produce", node.op.produce, node, context)  # type: ignore[attr-defined]


def stage(node: PlanNode, context: Context) -> Stage:
    """A stage, likewise."""
    with plugins_named(ExecutionError):
        made = node.op.stage(node, context)  # type: ignore[attr-defined]
    if not isinstance(made, Stage):
        raise _wrong(node, f"stage returned {_kind(made)}, no Stage")
    tail = None if made.tail is None else partial(_checked, node, context, "tail of stage", made.tail)
    return Stage(partial(_checked, node, context, "work of stage", made.work), tail, made.dead)


def _checked(node: PlanNode, context: Context, what: str, make: Callable[..., Any], *arguments: Any) -> Batches:
    with plugins_named(ExecutionError):
        batches, expected = make(*arguments), context.schema(node)
        if not isinstance(batches, Iterable):
            raise _wrong(node, f"{what} returned {_kind(batches)}, no iterator of RecordBatches")
        for batch in batches:
            if not isinstance(batch, pa.RecordBatch):
                raise _wrong(node, f"{what} gave {_kind(batch)}, no RecordBatch")
            if not batch.schema.equals(expected):
                came, due = (each.to_string(show_schema_metadata=False).replace("\n", ", ") for each in (batch.schema, expected))
                raise _wrong(node, f"{what} gave a batch of {came}\nexpected is context.schema(node): {due}")
            yield batch


def _wrong(node: PlanNode, text: str) -> ExecutionError:
    kind = type(node.op)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return ExecutionError(f"{text}\nthe operator is {kind.__name__}" + (f" of {file}" if file else ""))


def _kind(value: object) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"
