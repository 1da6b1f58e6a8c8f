"""ExploreInput: make sure that a group holds every logical expression the rules reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.memo.group import LogicalExpr
from optimizer.search.tasks.apply_rules import ApplyRules
from optimizer.search.tasks.task import Task

if TYPE_CHECKING:
    from optimizer.search.search import Search


class ExploreInput(Task):
    """Explore a group once.

        ExploreInput(G) …  →  ExploreMExpr(e1) ExploreMExpr(e2) … GroupExplored(G) …

    A group that is being explored is not waited for: expressions that arrive late re-bind the parents' rules.
    """

    __slots__ = ("gid",)

    def __init__(self, gid: int) -> None:
        self.gid = gid

    def perform(self, search: Search) -> None:
        group = search.memo.group(self.gid)
        if group.exploring or group.explored:
            return
        group.exploring = True
        search.push(GroupExplored(group.id))
        for mexpr in reversed(group.logical):
            search.push(ExploreMExpr(mexpr))

    def describe(self, search: Search) -> str:
        return f"explore group {self.gid}"


class ExploreMExpr(Task):
    """Explore the inputs, then apply transformation rules: patterns look into inputs, so those come first.

    ExploreMExpr(e) …  →  ExploreInput(input 1) ExploreInput(input 2) ApplyRules(e) …
    """

    __slots__ = ("mexpr",)

    def __init__(self, mexpr: LogicalExpr) -> None:
        self.mexpr = mexpr

    def perform(self, search: Search) -> None:
        if self.mexpr.dropped:
            return
        mexpr = self.mexpr
        search.push(ApplyRules(mexpr, implement=False))
        for position in reversed(range(len(mexpr.inputs))):
            if not search.on_demand or search.looks_into(mexpr, position):
                search.push(ExploreInput(mexpr.inputs[position]))

    def describe(self, search: Search) -> str:
        return f"explore expression {self.mexpr.id} of group {search.memo.find(self.mexpr.group)}"


class GroupExplored(Task):
    """Everything pushed for the group's exploration has drained.

    GroupExplored(G) …  →  …
    """

    __slots__ = ("gid",)

    def __init__(self, gid: int) -> None:
        self.gid = gid

    def perform(self, search: Search) -> None:
        group = search.memo.group(self.gid)
        group.exploring, group.explored = False, True
        if search.trace is not None:
            search.trace.emit("explored", group=group.id)

    def describe(self, search: Search) -> str:
        return f"group {self.gid} is explored"
