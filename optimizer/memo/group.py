"""Groups: plain slotted data. Everything else refers to them by small int ids."""

from typing import TypeAlias

from optimizer.algebra.columns import ColumnId, ColumnSet
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.traits import TraitSet
from optimizer.algebra.trees import Leaf
from optimizer.memo.goal import Goal
from optimizer.memo.mexpr import LogicalExpr
from optimizer.stats.relation import RelationStats

# Outer column -> the Apply that binds it: its left input, all columns bound there, and whether each row is a binding of its own.
Binders: TypeAlias = tuple[tuple[ColumnId, tuple[int, ColumnSet, bool]], ...]


class Region:
    """What identifies a group of inner joins: the groups joined (ascending ids) and all their conjuncts (canonical order).

    Two inner-join trees over the same leaves with the same conjuncts are equal whatever their shape, so the region finds
    the group of a new join at once, and no two groups for one join have to be merged later.
    """

    __slots__ = ("leaves", "predicate")

    def __init__(self, leaves: tuple[int, ...], predicate: Predicate) -> None:
        self.leaves, self.predicate = leaves, predicate


class Group:
    """A class of equivalent expressions.

    `props` and `stats` are derived once, from the first expression, and frozen. `offers`: orders that plans of the group
    can have without a sort, found from the leaves up. `lower`: no plan of the group costs less. `parents`: logical
    expressions that use the group. `goals`: by required traits, reduced in this group. `outer`: columns of enclosing queries
    that it reads; `binders`: what binds these, which tells apart groups of equal expressions, since it says how often they are
    evaluated: `runs`, once `memo.runs` was asked. `relations`: a column of each that it is computed from. `volatile`: evaluated
    again it may give other rows. `leaf`: how it stands in bindings, once it did. `unseen`: joins of a region that are there to be
    costed; transformation rules neither bind them nor look into them.
    """

    __slots__ = (
        "binders",
        "explored",
        "exploring",
        "goals",
        "id",
        "leaf",
        "logical",
        "lower",
        "offers",
        "outer",
        "parents",
        "props",
        "region",
        "relations",
        "runs",
        "stats",
        "unseen",
        "volatile",
    )

    def __init__(self, id: int, props: LogicalProps, stats: RelationStats, lower: float, offers: tuple[TraitSet, ...]) -> None:
        self.id, self.props, self.stats, self.lower, self.offers = id, props, stats, lower, offers
        self.logical: list[LogicalExpr] = []
        self.unseen: list[LogicalExpr] = []
        self.parents: list[LogicalExpr] = []
        self.goals: dict[TraitSet, Goal] = {}
        self.region: Region | None = None
        self.outer: ColumnSet = 0
        self.binders: Binders = ()
        self.volatile = False
        self.runs = 1.0
        self.relations: ColumnSet = 0
        self.leaf: Leaf | None = None
        self.exploring = False
        self.explored = False

    def __repr__(self) -> str:
        return f"Group({self.id}, {', '.join(each.op.name for each in self.logical)}, rows={self.stats.rows:,.0f})"

    def members(self) -> list[LogicalExpr]:
        """All its logical expressions."""
        return self.logical + self.unseen

    @property
    def sorted_inside(self) -> bool:
        """Whether an order may cost less than a sort of its rows: one that it offers, or by a sort below an operator."""
        return bool(self.offers) or any(mexpr.inputs for mexpr in self.logical)
