"""An optimum found without a memo: plans built bottom-up over (set of relations, sort order), every order tried everywhere.

Independent of the search: it knows no goals, limits, rules, pass-through or derive. It shares the cost formulas and the row
estimates (that is what makes costs comparable) and enumerates: every ordered split into two connected sets, hash join both
ways (order of the probe side kept or not), merge join under every permutation of its keys, nested loops (the left order kept,
and after an order that tells the left rows apart the right order), and a sort of
any plan to any order somebody could want, whole or of the runs that are equal on its first keys.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import permutations

from optimizer.algebra.columns import column_ids, column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.physical import HashJoin, MergeJoin, NestedLoopJoin, PartialSort, Sort, TableScan
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.props import LogicalProps, merge_equivalences
from optimizer.algebra.scalars import Call, ColumnRef
from optimizer.algebra.traits import ANY, Collation, SortKey, TraitSet
from optimizer.algebra.traits import reduce_collation as reduced_in
from optimizer.cost.model import CostModel
from optimizer.stats.estimator import Estimator
from optimizer.stats.relation import RelationStats
from tests.search.graphs import GraphQuery, crossing

reduce_collation = lru_cache(maxsize=1 << 16)(reduced_in)


class Plans(dict[Collation, float]):
    """The cheapest cost by order; `known`: what `cheapest` found out, which is asked for when all are there."""

    def __init__(self) -> None:
        self.known: dict[Collation, float] = {}


def optimum(
    query: GraphQuery, cost: CostModel, left_deep: bool = False, merging: bool = True, allows: Callable[[int], bool] = bool
) -> float:
    """The cheapest cost of the query with its required order; `left_deep`: of joins with one relation on a side; `merging`: with
    merge joins among them; `allows`: which sets of relations a plan may join."""
    n = len(query.scans)
    estimator = Estimator(query.catalog, query.columns)
    stats: dict[int, RelationStats] = {}
    props: dict[int, LogicalProps] = {}
    best: dict[int, Plans] = {}
    wishes: dict[int, tuple[list[Collation], list[Collation]]] = {}
    inside = {s: conjunction(c for i, j, c in query.edges if s >> i & 1 and s >> j & 1) for s in range(1, 1 << n)}
    for s in sorted(range(1, 1 << n), key=int.bit_count):
        if s & (s - 1) == 0:
            scan = query.scans[s.bit_length() - 1]
            props[s] = scan.derive_props([])
            stats[s] = estimator.estimate(scan, props[s], [])
            plans = Plans()
            plans[reduce_collation(scan.order, props[s])] = cost.local(TableScan(scan), TraitSet(scan.order), stats[s], [])
        else:
            plans = Plans()
            if not allows(s):
                continue
            for left in range((s - 1) & s, 0, -1):
                left &= s
                right = s ^ left
                if left not in best or right not in best or not crossing(query.edges, left, right):
                    continue
                if left_deep and left & (left - 1) and right & (right - 1):
                    continue
                if s not in props:
                    join = Join(JoinKind.INNER, crossing(query.edges, left, right))
                    props[s] = join.derive_props([props[left], props[right]])
                    leaves = tuple(stats[1 << i] for i in range(n) if s >> i & 1)
                    stats[s] = estimator.inner_region(leaves, inside[s], props[s])
                _join_plans(query, s, left, right, stats, props, best, wishes, cost, plans, merging)
            if not plans:
                continue
        best[s] = plans
        wanted = _wanted_orders(query)
        tails = [order[cut:] for order in wanted for cut in range(1, len(order))]
        wishes[s] = _spelled(wanted, props[s]), _spelled(tails, props[s])
    full = (1 << n) - 1
    return cheapest(best[full], query.order.collation, stats[full], props[full], cost)


def cheapest(plans: Plans, order: Collation, stats: RelationStats, props: LogicalProps, cost: CostModel) -> float:
    """The cheapest way to have the rows in `order`: a plan that has it, or any plan and a sort, or the cheapest way to have
    them in the order of the first keys and a sort of the runs."""
    want = reduce_collation(order, props)
    known = plans.known.get(want)
    if known is not None:
        return known
    result = min(plans.values())
    if want:
        result += cost.local(Sort(want), TraitSet(want), stats, [stats])
        for delivered, amount in plans.items():
            if reduce_collation(delivered, props)[: len(want)] == want:
                result = min(result, amount)
        for cut in range(1, len(want)):
            partial = PartialSort.within(column_set(k.column for k in want[:cut]), want[cut:], props)
            local = cost.local(partial, TraitSet(want), stats, [stats])
            result = min(result, local + cheapest(plans, want[:cut], stats, props, cost))
    plans.known[want] = result
    return result


def _keep(plans: Plans, order: Collation, amount: float, props: LogicalProps) -> None:
    reduced = reduce_collation(order, props)
    if amount < plans.get(reduced, float("inf")):
        plans[reduced] = amount


def _wanted_orders(query: GraphQuery) -> list[Collation]:
    """Every order a plan could profit from: ascending sequences of columns in predicates, and the required one, in which
    any column may be said by one that an equality of the query makes equal."""
    keys = {c.id for _, _, e in query.edges if isinstance(e, Call) for c in e.args if isinstance(c, ColumnRef)}
    same = merge_equivalences(e.columns for _, _, e in query.edges if isinstance(e, Call) and e.function == "=")
    orders: list[Collation] = [()] if query.order.collation else []
    for key in query.order.collation:
        members = next((m for m in same if m >> key.column & 1), 1 << key.column)
        orders = [(*prefix, key._replace(column=c)) for prefix in orders for c in column_ids(members)]
    orders += [order[:cut] for order in orders for cut in range(1, len(order))]
    orders += [tuple(map(SortKey, p)) for size in (1, 2) for p in permutations(sorted(keys), size)]
    return orders


def _join_plans(
    query: GraphQuery, s: int, left: int, right: int, stats: dict[int, RelationStats], props: dict[int, LogicalProps],
    best: dict[int, Plans], wishes: dict[int, tuple[list[Collation], list[Collation]]], cost: CostModel, plans: Plans,
    merging: bool,
) -> None:  # fmt: skip
    predicate = crossing(query.edges, left, right)
    out, inputs = stats[s], [stats[left], stats[right]]
    any_left, any_right = min(best[left].values()), min(best[right].values())
    pairs: list[tuple[ColumnRef, ColumnRef]] = []
    residual = []
    for conjunct in predicate:
        assert isinstance(conjunct, Call)
        a, b = conjunct.args
        assert isinstance(a, ColumnRef) and isinstance(b, ColumnRef)
        if conjunct.function == "=":
            pairs.append((a, b) if props[left].columns >> a.id & 1 else (b, a))
        else:
            residual.append(conjunct)
    # orders of the left side: what its plans have, and what somebody wants of it, had already or sorted. An order is kept as
    # it was asked for: that `a` alone says as much as `a, b` may be known of the left side and no longer of the join
    lefts = list(best[left].items())
    wanted, tails = wishes[left]
    for order in dict.fromkeys(wanted + tails):
        lefts.append((order, cheapest(best[left], order, stats[left], props[left], cost)))
    if pairs:
        hashed = HashJoin(JoinKind.INNER, tuple(pairs), tuple(residual))
        _keep(plans, (), cost.local(hashed, ANY, out, inputs) + any_left + any_right, props[s])
        for order, amount in lefts:
            if order:
                local = cost.local(hashed, TraitSet(order), out, inputs)
                _keep(plans, order, local + amount + any_right, props[s])
    if pairs and merging:
        merged = MergeJoin(JoinKind.INNER, tuple(pairs), tuple(residual))
        directions = (False, True) if any(k.descending for k in query.order.collation) else (False,)
        if len(pairs) > 3:
            directions = (False,)
        for permutation in _permutations(query, pairs, [*best[left], *best[right]]):
            for flags in _flags(len(pairs), directions):
                keys_left = tuple(SortKey(pairs[i][0].id, d) for i, d in zip(permutation, flags, strict=True))
                keys_right = tuple(SortKey(pairs[i][1].id, d) for i, d in zip(permutation, flags, strict=True))
                ordered_right = cheapest(best[right], keys_right, stats[right], props[right], cost)
                local = cost.local(merged, TraitSet(keys_left), out, inputs)
                ordered_left = cheapest(best[left], keys_left, stats[left], props[left], cost)
                _keep(plans, keys_left, local + ordered_left + ordered_right, props[s])
                want = reduce_collation(keys_left, props[left])
                for order, amount in _extensions(left, keys_left, tails, lefts, stats, props, best, cost):
                    if reduce_collation(order, props[left])[: len(want)] == want:
                        _keep(plans, order, local + amount + ordered_right, props[s])
    loops = NestedLoopJoin(JoinKind.INNER, predicate)
    local = cost.local(loops, ANY, out, inputs)
    _keep(plans, (), local + any_left + any_right, props[s])
    rights = dict(best[right])
    for order in dict.fromkeys(wishes[right][0] + wishes[right][1]):
        rights[order] = cheapest(best[right], order, stats[right], props[right], cost)
    for order, amount in lefts:
        _keep(plans, order, local + amount + any_right, props[s])
        if props[left].unique_on(column_set(k.column for k in order)):  # then the results of a left row come in the right order
            for rest, more in rights.items():
                _keep(plans, order + rest, local + amount + more, props[s])


def _permutations(query: GraphQuery, pairs: list[tuple[ColumnRef, ColumnRef]], have: list[Collation]) -> list[tuple[int, ...]]:
    """All permutations of up to three keys. Of more, those that begin like an order that an input has or somebody wants:
    under any other permutation both inputs are sorted, at the same cost, to an order that serves nobody."""
    if len(pairs) <= 3:
        return list(permutations(range(len(pairs))))
    found: dict[tuple[int, ...], None] = {tuple(range(len(pairs))): None}
    for order in [*have, *_wanted_orders(query)]:
        prefix: list[int] = []
        for key in order:
            match = [i for i, pair in enumerate(pairs) if key.column in (pair[0].id, pair[1].id) and i not in prefix]
            if not match:
                break
            prefix.append(match[0])
        found[(*prefix, *(i for i in range(len(pairs)) if i not in prefix))] = None
    return list(found)


def _spelled(orders: list[Collation], props: LogicalProps) -> list[Collation]:
    """The orders that can be said with the columns of `props`, each once: its equivalent columns stay so further up."""
    found: dict[Collation, None] = {}
    for order in orders:
        if not column_set(k.column for k in order) & ~props.columns:
            found.setdefault(tuple(k._replace(column=props.representative(k.column)) for k in order))
    return list(found)


def _extensions(
    left: int, keys: Collation, tails: list[Collation], lefts: list[tuple[Collation, float]], stats: dict[int, RelationStats],
    props: dict[int, LogicalProps], best: dict[int, Plans], cost: CostModel,
) -> list[tuple[Collation, float]]:  # fmt: skip
    """Left orders that go on after the merge keys: those at hand, and the keys followed by the rest of the required order."""
    found = list(lefts)
    for tail in tails:
        order = keys + tail
        found.append((order, cheapest(best[left], order, stats[left], props[left], cost)))
    return found


def _flags(size: int, directions: tuple[bool, ...]) -> list[tuple[bool, ...]]:
    result: list[tuple[bool, ...]] = [()]
    for _ in range(size):
        result = [(*flags, d) for flags in result for d in directions]
    return result
