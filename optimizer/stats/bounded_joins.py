"""Rows of inner joins, at most: functions of the set of relations and conjuncts, whatever the order of joins.

Two bounds, of which the smaller counts. Only equalities of columns count; a conjunct left out can only leave more rows.

1. Spanning orders. The rows of the first relation, times for each later one the most rows of it that agree on the columns which
   relations before it fix: one for a key. In every order that is a bound; from each first relation on the order is greedy.
   With two relations this is min(|R| · mf(S), |S| · mf(R)) of UES, at most the referring side of a join to a key.
2. Degree sequences. Equality classes and relations make a graph; a spanning tree of it is an acyclic query, whose rows are at
   most those of the instance in which the most common values of all columns come together in the same rows. For two
   relations this is Σ d_R(i) · d_S(i).

Sources: Hertzschuch et al., Simplicity Done Right for Join Ordering (CIDR 2021); Cai, Balazinska and Suciu, Pessimistic
Cardinality Estimation (SIGMOD 2019); Deeds, Suciu and Balazinska, SafeBound (SIGMOD 2023).
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import pyarrow as pa

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, union
from optimizer.algebra.props import united
from optimizer.algebra.scalars import Call, Cast, ColumnRef, Predicate, Scalar
from optimizer.stats.bounds import Bounds
from optimizer.stats.degrees import Steps, Weights, combined_weights, most, multiplied, total, weighted, weights_of

MOST_ROOTS = 6  # first relations that are tried


class EqualityClass(NamedTuple):
    """Columns that a predicate equates; `nulls_match`: by IS NOT DISTINCT FROM, so that NULL is a value like others."""

    columns: ColumnSet
    nulls_match: bool


def equality_classes(predicate: Predicate) -> list[EqualityClass]:
    pairs: list[ColumnSet] = []
    null_safe = 0
    for conjunct in predicate:
        match conjunct:
            case Call(function="=" | "is_not_distinct_from" as function, args=(a, b)):
                x, y = same_values(a), same_values(b)
                if x is not None and y is not None and x != y:
                    pairs.append(1 << x | 1 << y)
                    null_safe |= pairs[-1] if function != "=" else 0
    return [EqualityClass(columns, bool(columns & null_safe)) for columns in united(pairs)]


def same_values(scalar: Scalar) -> ColumnId | None:
    """The column behind a reference or a cast that keeps different values different."""
    match scalar:
        case ColumnRef(id=id):
            return id
        case Cast(arg=ColumnRef(id=id) as arg, type=type) if pa.types.is_integer(arg.type) and pa.types.is_integer(type):
            return id if arg.type.bit_width <= type.bit_width else None
    return None


class InnerJoin:
    """The join of relations under a predicate."""

    def __init__(self, leaves: Sequence[Bounds], predicate: Predicate) -> None:
        """`leaves`, in canonical order. Their own conjuncts are applied to them already."""
        self.leaves = leaves
        self.classes = equality_classes(predicate)
        columns = [leaf.props.columns for leaf in leaves]
        self._touched = [[(k, c) for k, each in enumerate(self.classes) if (c := each.columns & own)] for own in columns]
        self._null_safe = reduce(int.__or__, (each.columns for each in self.classes if each.nulls_match), 0)

    def rows(self) -> float:
        if any(leaf.rows <= 0 for leaf in self.leaves):
            return 0.0
        if len(self.leaves) == 1:
            return self.leaves[0].rows
        order = sorted(range(len(self.leaves)), key=lambda i: (self.leaves[i].rows, i))
        bound = min(self._spanning_order(root) for root in order[:MOST_ROOTS])
        return min(bound, self._acyclic())

    def matches(self, columns: ColumnSet) -> float:
        """Rows of the join that fit one value of each of `columns`, which are others than those of the relations."""
        if any(leaf.rows <= 0 for leaf in self.leaves):
            return 0.0
        fixed = {k for k, each in enumerate(self.classes) if each.columns & columns}
        return self._span(1.0, fixed, list(range(len(self.leaves))))

    def per_row(self, number: int) -> float:
        """Rows of the join that hold one row of a relation."""
        fixed = {k for k, _ in self._touched[number]}
        return self._span(1.0, fixed, [i for i in range(len(self.leaves)) if i != number])

    # -- spanning orders ------------------------------------------------------------------------------------------------------

    def _spanning_order(self, root: int) -> float:
        fixed = {k for k, _ in self._touched[root]}
        return self._span(self.leaves[root].rows, fixed, [i for i in range(len(self.leaves)) if i != root])

    def _span(self, rows: float, fixed: set[int], waiting: list[int]) -> float:
        while waiting:
            factors = {i: self._repeated(i, fixed) for i in waiting}
            factor = min(factors.values())
            equal = [i for i in waiting if factors[i] == factor]
            best = equal[0] if len(equal) == 1 else min(equal, key=lambda i: (self._next(i, fixed, waiting), i))
            rows *= factor
            fixed |= {k for k, _ in self._touched[best]}
            waiting.remove(best)
        return rows

    def _next(self, number: int, fixed: set[int], waiting: list[int]) -> float:
        """The least factor after a relation, where several come at the same."""
        fixed = fixed | {k for k, _ in self._touched[number]}
        return min((self._repeated(i, fixed) for i in waiting if i != number), default=1.0)

    def _repeated(self, number: int, fixed: set[int]) -> float:
        columns = union(own for k, own in self._touched[number] if k in fixed)
        return self.leaves[number].repeated(columns, self._null_safe)

    # -- degree sequences -----------------------------------------------------------------------------------------------------

    def _acyclic(self) -> float:
        """Of each connected part of the spanning tree; parts are multiplied."""
        at_leaf, at_class = self._tree()
        rows = 1.0
        seen: set[int] = set()
        for root in range(len(self.leaves)):
            if root not in seen:
                seen.add(root)
                rows *= self._part(root, at_leaf, at_class, seen)
        return rows

    def _tree(self) -> tuple[list[dict[int, Steps]], list[list[int]]]:
        """For each relation the classes it keeps, with the degree sequence of its column there; for each class its relations.

        Columns that repeat little are kept first: what a column that closes a cycle would say is lost.
        """
        edges = []
        for i, touched in enumerate(self._touched):
            for k, columns in touched:
                each = [self.leaves[i].degrees(c, self.classes[k].nulls_match) for c in column_ids(columns)]
                steps = min(each, key=lambda steps: (most(steps), total(steps)))
                edges.append((most(steps), i, k, steps))
        parts = {("leaf", i): {("leaf", i)} for i in range(len(self.leaves))}
        parts.update({("class", k): {("class", k)} for k in range(len(self.classes))})
        at_leaf: list[dict[int, Steps]] = [{} for _ in self.leaves]
        at_class: list[list[int]] = [[] for _ in self.classes]
        for _, i, k, steps in sorted(edges, key=lambda edge: edge[:3]):
            if parts["leaf", i] is parts["class", k]:
                continue
            one = parts["leaf", i] | parts["class", k]
            for member in one:
                parts[member] = one
            at_leaf[i][k] = steps
            at_class[k].append(i)
        return at_leaf, at_class

    def _part(self, root: int, at_leaf: list[dict[int, Steps]], at_class: list[list[int]], seen: set[int]) -> float:
        """Rows of the part of the tree that has the relation `root`: from its ends to the root, by an explicit stack."""
        order: list[tuple[int, int]] = []  # (relation, class on the way to the root; -1: the root itself)
        stack = [(root, -1)]
        while stack:
            i, above = stack.pop()
            order.append((i, above))
            for k in at_leaf[i]:
                if k != above:
                    below = [j for j in at_class[k] if j != i]
                    seen.update(below)
                    stack += [(j, k) for j in below]
        arrived: dict[tuple[int, int], Steps] = {}  # what the relations below bring to a class, by the relation above it
        parents = {(j, k): i for i, above in order for k in at_leaf[i] if k != above for j in at_class[k] if j != i}
        for i, above in reversed(order):
            weights: Weights = [(self.leaves[i].rows, 1.0)]
            for k, steps in at_leaf[i].items():
                if k != above and (i, k) in arrived:
                    weights = combined_weights(weights, weights_of(steps, arrived[i, k]))
            if above < 0:
                return total(weights)
            brought = weighted(at_leaf[i][above], weights)
            place = parents[i, above], above
            arrived[place] = multiplied(arrived[place], brought) if place in arrived else brought
        raise AssertionError("a part without a root")
