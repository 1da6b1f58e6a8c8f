"""The reference of logical operators: what rules find, and build trees of."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from enum import Enum

from experiments.documentation.markdown import plain, table
from optimizer import algebra
from optimizer.algebra.kinds import PLAIN_JOINS, SetOpKind
from optimizer.algebra.logical import (
    AggregateItem,
    GroupingKey,
    LogicalOperator,
    ProjectItem,
    ScanColumn,
    ScanForeignKey,
    WindowItem,
)
from optimizer.algebra.traits import SortKey

_PARTS = (AggregateItem, GroupingKey, ProjectItem, ScanColumn, ScanForeignKey, SortKey, WindowItem)
_HEAD = """# Logical operators

Written by `python -m experiments.documentation` from `optimizer/algebra`; do not edit.

Patterns name them; a [rule](../extending.md#a-transformation-rule) makes trees of them, as `Tree(Filter(predicate), (below,))`.
`planscope.algebra` has them all; their fields are in this order. Physical operators are other classes, which no pattern names:
`UNION ALL` is a `SetOp`, whatever operator carries it out.
"""


def page() -> str:
    """docs/reference/operators.md."""
    lines = [
        _HEAD,
        *table(("operator", "inputs", "fields", "what it gives"), map(_row, _operators())),
        "",
        f"Kinds of `Join`: {_values(PLAIN_JOINS)}.",
        f"Kinds of `SetOp`: {_values(SetOpKind)}.\n",
        "A `ColumnId` is a number; a `ColumnSet` has the bits of several, and `column_set` makes it. A `Predicate` is a tuple of",
        "conjuncts, a `Collation` one of `SortKey`s.\n",
        *table(("part", "fields"), ((f"`{part.__name__}`", _typed(part.__annotations__.items())) for part in _PARTS)),
        "",
    ]
    return "\n".join(lines)


def _operators() -> Iterator[type[LogicalOperator]]:
    """Those that plug-ins see."""
    for name in sorted(algebra.__all__):
        found = getattr(algebra, name)
        if isinstance(found, type) and issubclass(found, LogicalOperator) and hasattr(found, "arity"):
            yield found


def _row(operator: type[LogicalOperator]) -> tuple[str, ...]:
    typed = _typed((field.name, field.type) for field in fields(operator))  # type: ignore[arg-type]
    inputs = "any" if operator.arity is None else str(operator.arity)
    return f"`{operator.__name__}`", inputs, typed, plain(" ".join((operator.__doc__ or "").split("\n\n")[0].split()))


def _typed(named: Iterable[tuple[str, object]]) -> str:
    return ", ".join(f"`{name}: {getattr(kind, '__forward_arg__', kind)}`" for name, kind in named)


def _values(kinds: Iterable[Enum]) -> str:
    return ", ".join(f"`{kind}`" for kind in kinds)
