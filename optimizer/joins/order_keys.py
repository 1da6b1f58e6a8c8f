"""The keys of an order, as far as a plan of some relations can say them: for the bounds of `set_table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set, union
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Call, ColumnRef, Predicate
from optimizer.algebra.traits import TraitSet
from optimizer.joins.graph import Relations
from optimizer.stats.relation import ColumnFigures

Leaf = tuple[LogicalProps, Mapping[ColumnId, ColumnFigures], Sequence[TraitSet]]  # the last: the orders that it offers


class OrderKey(NamedTuple):
    """A key of an order: the relations that have such a column. `names`: for each of its equal columns its relation, the
    relations of those that come before it and are equal to it wherever both are, and its distinct values. `beside`: what else
    rows may come sorted by before the next key, since the keys up to this one determine it in the whole region."""

    relations: Relations
    names: tuple[tuple[Relations, Relations, float], ...]
    beside: tuple[OrderKey, ...] = ()


def order_keys(required: TraitSet, whole: LogicalProps, leaves: Sequence[Leaf], predicate: Predicate) -> tuple[OrderKey, ...]:
    """The keys of what is required of a region with the properties `whole`; of a grouping one key, which all columns say that it
    determines, since rows may be grouped by any of them."""
    if required.grouping:
        return (_key(whole.closure(required.grouping), leaves, predicate),)
    keys = [_key(whole.equivalents(key.column), leaves, predicate) for key in required.collation]
    if len(keys) > 1:
        offered = column_set(k.column for _, _, offers in leaves for offer in offers for k in offer.collation)
        other, known = offered | union(whole.equivalences), 0
        for i, key in enumerate(required.collation[:-1]):
            known |= whole.equivalents(key.column)
            determined = other & whole.closure(known) & ~known
            classes = dict.fromkeys(whole.equivalents(c) for c in column_ids(determined))
            keys[i] = keys[i]._replace(beside=tuple(_key(same, leaves, predicate) for same in classes))
            known |= determined
    return tuple(keys)


def _key(same: ColumnSet, leaves: Sequence[Leaf], predicate: Predicate) -> OrderKey:
    owner = {c: i for i, (props, *_) in enumerate(leaves) for c in column_ids(props.columns & same)}
    before = dict.fromkeys(owner, 0)
    for conjunct in predicate:
        match conjunct:
            case Call(function="=", args=(ColumnRef(id=a), ColumnRef(id=b))) if a in owner and b in owner:
                before[max(a, b)] |= 1 << owner[min(a, b)]
    relations, names = 0, []
    for column, i in owner.items():
        figures = leaves[i][1].get(column)
        relations |= 1 << i
        names.append((1 << i, before[column], float("inf") if figures is None else max(1.0, figures.ndv)))
    return OrderKey(relations, tuple(names))
