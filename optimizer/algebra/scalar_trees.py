"""Scalars as trees: what walks through them and rewrites them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from optimizer.algebra.columns import ColumnId, ColumnSet
from optimizer.algebra.scalars import ColumnRef, OuterRef, Scalar

Form = TypeVar("Form", bound=Scalar)


def walk(scalar: Scalar) -> Iterator[Scalar]:
    """The scalar and all its descendants, parents first."""
    stack = [scalar]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def parts_of(form: type[Form], scalars: Iterable[Scalar]) -> list[Form]:
    """The parts of some scalars that are of a form with a flag, each once, in order."""
    flag = form.flag
    return list({p: None for scalar in scalars if scalar.flags & flag for p in walk(scalar) if isinstance(p, form)})


def map_children(scalar: Scalar, change: Callable[[Scalar], Scalar]) -> Scalar:
    """The scalar over other operands; one without operands as it is."""
    children = scalar.children
    return scalar.with_children(tuple(map(change, children))) if children else scalar


def rewrite(scalar: Scalar, change: Callable[[Scalar], Scalar | None], same_values: bool = False) -> Scalar:
    """Replace bottom-up: `change` sees every node with its children already rewritten; None keeps the node. `same_values`: what
    takes the place of a node has its values, so that what was safe stays so."""
    children = scalar.children
    if children:
        new = tuple(rewrite(child, change, same_values) for child in children)
        if any(a is not b for a, b in zip(children, new, strict=True)):
            scalar = scalar.with_same_values(new) if same_values else scalar.with_children(new)
    changed = change(scalar)
    return scalar if changed is None else changed


def substitute(scalar: Scalar, values: Mapping[ColumnId, Scalar]) -> Scalar:
    """Replace column references by the scalars they stand for."""
    return rewrite(scalar, lambda s: values.get(s.id) if isinstance(s, ColumnRef) else None)


def bound_to(scalar: Scalar, columns: ColumnSet) -> Scalar:
    """The scalar where the rows at hand have the outer columns `columns`: their references become ordinary ones."""
    if not scalar.outer & columns:
        return scalar
    return rewrite(scalar, lambda s: ColumnRef(s.id, s.type) if isinstance(s, OuterRef) and columns >> s.id & 1 else None)


def as_outer(scalar: Scalar, columns: ColumnSet) -> Scalar:
    """The scalar as it is written where `columns` are read from outside: the inverse of `bound_to`."""
    if not scalar.columns & columns:
        return scalar
    return rewrite(scalar, lambda s: OuterRef(s.id, s.type) if isinstance(s, ColumnRef) and columns >> s.id & 1 else None)
