"""The partial sort enforcer: meets a required order, or grouping, from a plan of the same group that has part of it.

    (G, order a b c)  from  (G, order a b)   or  (G, order a):        sort runs of equal a, b by c; or of equal a by b, c
    (G, group {a b})  from  (G, group {a})   or  (G, group {b}):      sort runs of equal a by b; or of equal b by a
    (G, group {a b})  from  (G, group {c a}), where b determines c and G may come by c: sort runs of equal c, a by b

A plan may have the part for nothing: stored order, a merge join's, a grouping below. The runs are short, so a run is all that
is held, and a LIMIT above stops the input early.

Every move leads to a strictly weaker goal of the same group, so none can feed itself. A short order (at most ALL_PREFIXES keys)
or grouping (ALL_PARTS) has every part tried; of a longer one the first key, or every single column; and what an offer of the
group begins with, for a grouping also together with each of the parts. Each part is a goal of its own to search.
"""

from collections.abc import Sequence

from optimizer.algebra.columns import ColumnSet, column_ids, column_set
from optimizer.algebra.physical import PartialSort, PhysicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import TraitSet, group_order, grouped
from optimizer.joins.graph import subsets

name = "partial_sort"

ALL_PREFIXES, ALL_PARTS = 4, 4


def enforce(required: TraitSet, offers: Sequence[TraitSet], props: LogicalProps) -> tuple[tuple[PhysicalOperator, TraitSet], ...]:
    """Operators that make `required`, reduced in the group, out of a part of it; each with the part it needs.

    `offers`: orders that plans of the group can have without a sort. `props`: the group's.
    """
    if required.collation:
        return _orders(required, offers, props)
    if required.grouping:
        return _groupings(required.grouping, offers, props)
    return ()


def _orders(required: TraitSet, offers: Sequence[TraitSet], props: LogicalProps) -> tuple[tuple[PhysicalOperator, TraitSet], ...]:
    order = required.collation
    if len(order) <= ALL_PREFIXES:
        lengths = set(range(1, len(order)))
    else:
        lengths = {1}
        for offer in offers:
            same = next((i for i, (a, b) in enumerate(zip(order, offer.collation, strict=False)) if a != b), None)
            lengths.add(min(len(order), len(offer.collation)) if same is None else same)
        lengths -= {0, len(order)}
    moves = []
    for length in sorted(lengths, reverse=True):
        lead = order[:length]
        moves.append((PartialSort.within(column_set(k.column for k in lead), order[length:], props), TraitSet(lead)))
    return tuple(moves)


def _groupings(
    columns: ColumnSet, offers: Sequence[TraitSet], props: LogicalProps
) -> tuple[tuple[PhysicalOperator, TraitSet], ...]:
    target = props.closure(columns)
    if columns.bit_count() <= ALL_PARTS:
        own = list(subsets(columns))[-2::-1]  # but not all of them
    else:
        own = [1 << c for c in column_ids(columns)]
    parts, leads = dict.fromkeys(own), [0]
    for offer in offers:
        lead = 0
        for key in offer.collation:
            if not target >> key.column & 1:
                break
            lead |= 1 << key.column
        if lead not in leads:
            parts |= dict.fromkeys((*(lead | other for other in leads), *(lead | part for part in own)))
            leads.append(lead)
    moves = {}
    nothing = props.closure(0)
    for part in parts:
        known = props.closure(part)
        if known not in moves and known != nothing:
            # none of `columns` is determined by the others
            rest = columns & ~part if not part & ~columns else props.without_determined(columns, part)
            if rest:
                moves[known] = PartialSort.within(part, group_order(rest), props), grouped(part)
    return tuple(moves.values())
