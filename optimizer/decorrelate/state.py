"""What unnesting one Apply carries down into its right input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids, column_set
from optimizer.algebra.congruence import has_one_form
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import AggregateItem, WindowItem
from optimizer.algebra.predicates import compare, conjunction
from optimizer.algebra.scalar_trees import rewrite
from optimizer.algebra.scalars import BOOL, Call, ColumnRef, OuterRef, Predicate, Scalar
from optimizer.algebra.trees import Tree

Domain = Callable[[ColumnSet], tuple[Tree, dict[ColumnId, ColumnId]]]
Equal = Mapping[ColumnId, tuple[ColumnId, ...]]  # outer column -> columns that equal it in every row that matters


class Unnesting(NamedTuple):
    """`outer`: columns of the left input that the right one reads. `domain(columns)`: a fresh D of them. `substitute`: use an
    equal inner column in place of D where there is one for every outer column (the cover). `told[c]`: the outer column that tells
    0.0 from -0.0 in c, and goes where c goes."""

    outer: ColumnSet
    domain: Domain
    substitute: bool
    told: Mapping[ColumnId, ColumnId]

    def read(self, columns: ColumnSet) -> ColumnSet:
        """The outer ones of some columns, with those that go with them."""
        columns &= self.outer
        return columns | column_set(self.told[c] for c in column_ids(columns) if c in self.told) if self.told else columns


def with_equalities(equal: Equal, predicate: Predicate, outer: ColumnSet) -> Equal:
    """`equal` and what the conjuncts `inner = outer` and `inner = inner` add to it."""
    found: dict[ColumnId, tuple[ColumnId, ...]] = dict(equal)
    pairs: list[tuple[ColumnId, ColumnId]] = []
    for conjunct in predicate:
        if not isinstance(conjunct, Call) or conjunct.function not in ("=", "is_not_distinct_from"):
            continue
        a, b = conjunct.args
        if isinstance(b, ColumnRef) and isinstance(a, OuterRef):
            a, b = b, a
        if isinstance(a, ColumnRef) and isinstance(b, OuterRef) and outer >> b.id & 1 and has_one_form(a.type):
            if a.id not in found.get(b.id, ()):
                found[b.id] = (*found.get(b.id, ()), a.id)
        elif isinstance(a, ColumnRef) and isinstance(b, ColumnRef) and has_one_form(a.type):
            pairs.append((a.id, b.id))
    changed = bool(found)
    while changed:
        changed = False
        for out, inner in found.items():
            for a_id, b_id in pairs:
                for one, other in ((a_id, b_id), (b_id, a_id)):
                    if one in inner and other not in found[out]:
                        found[out] = (*found[out], other)
                        changed = True
    return found


def within(equal: Equal, columns: ColumnSet) -> Equal:
    """The part of `equal` that is said of `columns`."""
    return {out: kept for out, inner in equal.items() if (kept := tuple(c for c in inner if columns >> c & 1))}


def renamed_equal(equal: Equal, new: Mapping[ColumnId, ColumnId]) -> Equal:
    """`equal` said of the columns below an operator that gives them other names; what has no name there is dropped."""
    return {out: kept for out, inner in equal.items() if (kept := tuple(new[c] for c in inner if c in new))}


def localized(scalar: Scalar, repr: Mapping[ColumnId, ColumnId]) -> Scalar:
    """The scalar with references to outer columns replaced by the local columns that hold their values."""

    def change(part: Scalar) -> Scalar | None:
        if isinstance(part, OuterRef) and part.id in repr:
            return ColumnRef(repr[part.id], part.type)
        return None

    return rewrite(scalar, change)


Item = TypeVar("Item", AggregateItem, WindowItem)


def local_calls(items: Iterable[Item], repr: Mapping[ColumnId, ColumnId]) -> tuple[Item, ...]:
    """The items with calls over local columns."""
    calls: list[tuple[Item, Any]] = [(item, localized(item.call, repr)) for item in items]
    return tuple(item._replace(call=call) for item, call in calls)


Held = Mapping[ColumnId, ColumnId]  # outer column -> the local column that holds its value


def join_back(left: Tree, right: Tree, held: Held, kind: JoinKind, columns: Columns) -> list[Scalar]:
    """F ≐ r for every free column."""
    return meet(left, {outer: outer for outer in held}, right, held, kind is JoinKind.MARK, columns)


def meet(left: Tree, on_left: Held, right: Tree, on_right: Held, mark: bool, columns: Columns) -> list[Scalar]:
    """l ≐ r for every outer column that both sides of a join hold: the bindings are the same. A mark must not become UNKNOWN by
    it; elsewhere one side without NULLs makes ≐ an =."""
    found = []
    for outer, local in sorted(on_right.items()):
        if outer in on_left:
            other = on_left[outer]
            here, there = left.props.not_null >> other & 1, right.props.not_null >> local & 1
            plain = bool(here and there) if mark else bool(here or there)
            type = columns[local].type
            found.append(compare("=" if plain else "is_not_distinct_from", ColumnRef(other, type), ColumnRef(local, type)))
    return found


def localized_predicate(predicate: Predicate, repr: Mapping[ColumnId, ColumnId], mark: bool = False) -> Predicate:
    """The conjuncts over local columns. Of an equality that a local column was taken from, x = x, is left that x is not NULL; of
    a mark join all is kept, or what is UNKNOWN would be lost."""
    found = []
    for conjunct in predicate:
        local = localized(conjunct, repr) if conjunct.outer else conjunct
        of_itself = isinstance(local, Call) and len(local.args) == 2 and local.args[0] is local.args[1]
        if isinstance(local, Call) and of_itself and local is not conjunct and not mark:
            if local.function == "=":
                local = Call("is_not_null", local.args[:1], BOOL)
            elif local.function == "is_not_distinct_from":
                continue
        found.append(local)
    return conjunction(found)
