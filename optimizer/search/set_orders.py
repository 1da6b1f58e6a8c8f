"""What orders cost in a region of inner joins at least: how they may begin, and what relations cost in them.

The bounds of the table (`joins.set_table`) take an order for free in a relation that is made of other operators, since a sort
below these may cost less than one above. So the goals of such relations are settled in the orders that matter, when the region is
first asked for one: those by columns that they are joined on, and those by which the order asked for may begin. Then the bounds
are near the truth. Without this, ordering the join of eight groupings by their key costs each of its splits.
"""

from typing import NamedTuple

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, union
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import ANY, TraitSet, ascending
from optimizer.joins.set_table import Starts
from optimizer.memo.goal import INFINITY, Goal
from optimizer.memo.group import Group
from optimizer.search.set_goals import SetGoals


class SetOrders:
    """Of one region, which it is given each time: the two would hold each other."""

    def __init__(self) -> None:
        self.asked: set[Goal] = set()  # goals of the region that wait for those of relations
        self._starts: dict[TraitSet, Starts] = {}
        self._inside: dict[TraitSet, list[_Inside]] = {}
        self._costs: dict[TraitSet, dict[int, float]] = {}  # what relations cost in an order by which the required may begin
        self._useful: bool | None = None

    def goals(self, region: SetGoals, required: TraitSet) -> list[Goal]:
        """The goals of relations to be settled before `required` is searched."""
        if required == ANY or not self._is_useful(region):
            return []
        first = _first(required)
        if first not in self._inside:
            joined, same = union(c.scalar.columns for c in region.region.conjuncts if c.key), _beginning(region, first)
            found = self._inside[first] = list[_Inside]()
            for i, leaf in enumerate(region.leaves):
                if not leaf.sorted_inside:
                    continue
                stored = not any(mexpr.inputs for mexpr in leaf.logical)
                begins = leaf.props.columns & same
                for column in column_ids(leaf.props.columns & (joined if first.grouping else joined | same)):
                    goals: list[Goal | None] = [region.sets[1 << i].goal if _is_offered(leaf, column) else None]
                    if not stored:
                        goals = [region.search.goal(leaf.id, traits) for traits in _orders_by(leaf, column)]
                    may_begin = not first.grouping and bool(begins >> column & 1)
                    found += [_Inside(i, goal, bool(joined >> column & 1), may_begin) for goal in goals]
                if first.grouping and begins and not begins & begins - 1:
                    found.append(_Inside(i, region.search.goal(leaf.id, TraitSet((), begins)), False, True))
        return [each.goal for each in self._inside[first] if each.goal is not None]

    def learn(self, region: SetGoals, required: TraitSet) -> None:
        """Those goals are settled."""
        first, table = _first(required), region.table
        found = self._inside.get(first)
        if not found:
            return
        assert table is not None
        refined = [i for i, leaf in enumerate(region.leaves) if leaf.sorted_inside]
        table.learn({i: min((e.cost for e in found if e.relation == i and e.joined), default=INFINITY) for i in refined})
        begun = {i: [e.cost for e in found if e.relation == i and e.begins] for i in refined}
        self._costs[first] = {i: min(costs) for i, costs in begun.items() if costs}
        self._starts.pop(first, None)

    def to_learn(self, region: SetGoals, required: TraitSet) -> bool:
        """Whether more will be known of an order than is now, once goals of relations are settled."""
        first = _first(required)
        return self._is_useful(region) and first not in self._costs and self._inside.get(first) != []

    def starts(self, region: SetGoals, required: TraitSet) -> Starts:
        """How an order may begin that gives what is required; no relation is named where nothing is."""
        first = _first(required)
        known = self._starts.get(first)
        if known is None:
            known = self._starts[first] = _starts(region, required, first, self._costs.get(first))
        return known

    def _is_useful(self, region: SetGoals) -> bool:
        """Whether the table is one of bounds in the orders that goals ask for, and relations that are settled stay so."""
        if self._useful is None:
            leaves = region.leaves
            known = region.table is not None and not region.methods.merge and not region.heuristic and not region.grown
            odd = region.pinned or any(leaf.props.at_most_one_row for leaf in leaves)
            inside = any(leaf.sorted_inside for leaf in leaves)
            self._useful = known and not odd and inside and region.search.exploration == "all"
        return self._useful


class _Inside(NamedTuple):
    """A goal of a relation in an order; None: it is a stored table, and only a sort gives that, which bounds have anyway.
    `joined`: a merge join may ask for it. `begins`: what is required may begin so."""

    relation: int
    goal: Goal | None
    joined: bool
    begins: bool

    @property
    def cost(self) -> float:
        if self.goal is None:
            return INFINITY
        return self.goal.best_cost if self.goal.settled else self.goal.lower


def _first(required: TraitSet) -> TraitSet:
    return TraitSet(required.collation[:1], required.grouping)


def _whole(region: SetGoals) -> LogicalProps:
    return region.search.memo.group(region.whole.group).props


def _orders_by(leaf: Group, column: ColumnId) -> list[TraitSet]:
    """One order by a column, which a sort gives at the same cost in any direction, and those that are offered."""
    offered = [TraitSet(offer.collation[:1]) for offer in leaf.offers if offer.collation and offer.collation[0].column == column]
    return list(dict.fromkeys((TraitSet(ascending((column,))), *offered)))


def _is_offered(leaf: Group, column: ColumnId) -> bool:
    """Whether a relation has an order without a sort that begins with a column, or one that equals it."""
    equal = leaf.props.equivalents(column)
    return any(equal >> offer.collation[0].column & 1 for offer in leaf.offers if offer.collation)


def _beginning(region: SetGoals, first: TraitSet) -> ColumnSet:
    """Columns by which rows may come that have these traits: those that are equal, or that joins make constant; of a grouping any
    that it determines."""
    whole = _whole(region)
    same = whole.closure(first.grouping) | union(whole.equivalents(k.column) for k in first.collation)
    return same & ~union(leaf.props.constants for leaf in region.leaves)  # an order by these asks for nothing


def _starts(region: SetGoals, required: TraitSet, first: TraitSet, costs: dict[int, float] | None) -> Starts:
    """`costs`: of relations made of other operators; None: not known yet, so that their orders are taken for free."""
    whole, same = _whole(region), _beginning(region, first)
    equal = [members for members in whole.equivalences if members & same]
    one_row = any(leaf.props.at_most_one_row for leaf in region.leaves)  # where there is one row, there is every order
    leading = free = shared = 0
    begun: list[tuple[int, float]] = []
    for i, leaf in enumerate(region.leaves if required != ANY else ()):
        if costs is not None and first.grouping and any(not key & ~whole.closure(same) for key in leaf.props.keys):
            free |= 1 << i  # where that holds of all relations of a set, each of its groups is a row
        if leaf.props.columns & same:
            leading |= 1 << i
            if any(members & leaf.props.columns and members & ~leaf.props.columns for members in equal):
                shared |= 1 << i
            if costs is None and (leaf.sorted_inside or one_row or (required.grouping and leaf.props.keys)):
                free |= 1 << i
            if costs is not None and leaf.sorted_inside:
                begun.append((i, costs.get(i, region.leaf_goals[i].best_cost)))
    return Starts(shared, leading & ~shared, free, costs is not None, tuple(begun))
