"""ExploreInput: make sure that a group holds every logical expression the rules reach."""

from optimizer.memo.mexpr import LogicalExpr
from optimizer.search.context import SearchContext, Task
from optimizer.search.tasks.apply_rules import ApplyRules


class ExploreInput(Task):
    """Explore a group once.

        ExploreInput(G) …  →  ExploreMExpr(e1) ExploreMExpr(e2) … GroupExplored(G) …

    A group that is being explored is not waited for: expressions that arrive late re-bind the parents' rules.
    """

    __slots__ = ("gid",)

    def __init__(self, gid: int) -> None:
        self.gid = gid

    def perform(self, search: SearchContext) -> None:
        group = search.memo.group(self.gid)
        if group.exploring or group.explored:
            return
        group.exploring = True
        search.push(GroupExplored(group.id))
        for mexpr in reversed(group.logical):
            search.push(ExploreMExpr(mexpr))

    def describe(self, search: SearchContext) -> str:
        return f"explore group {self.gid}"


class ExploreMExpr(Task):
    """Explore the inputs that are not explored yet, then apply transformation rules, if there are any for the operator. Patterns
    look into inputs, so those come first. While groups are explored only when they are costed, inputs that no rule looks into
    wait.

    ExploreMExpr(e) …  →  ExploreInput(input 1) ExploreInput(input 2) ApplyRules(e) …
    """

    __slots__ = ("mexpr",)

    def __init__(self, mexpr: LogicalExpr) -> None:
        self.mexpr = mexpr

    def perform(self, search: SearchContext) -> None:
        mexpr = self.mexpr
        if mexpr.dropped:
            return
        if search.rules.of(mexpr.op):
            search.push(ApplyRules(mexpr, implement=False))
        for position in reversed(range(len(mexpr.inputs))):
            group = search.memo.group(mexpr.inputs[position])
            if not (group.exploring or group.explored) and (search.exploration == "all" or _looked_into(search, mexpr, position)):
                search.push(ExploreInput(group.id))

    def describe(self, search: SearchContext) -> str:
        return f"explore expression {self.mexpr.id} of group {search.memo.find(self.mexpr.group)}"


class GroupExplored(Task):
    """Everything pushed for the group's exploration has drained.

    GroupExplored(G) …  →  …
    """

    __slots__ = ("gid",)

    def __init__(self, gid: int) -> None:
        self.gid = gid

    def perform(self, search: SearchContext) -> None:
        group = search.memo.group(self.gid)
        group.exploring, group.explored = False, True
        if search.trace is not None:
            search.trace.emit("explored", group=group.id, cut=bool(search.counters.budget))

    def describe(self, search: SearchContext) -> str:
        return f"group {self.gid} is explored"


def _looked_into(search: SearchContext, mexpr: LogicalExpr, position: int) -> bool:
    """Whether a transformation rule that fits an expression binds expressions of one of its inputs."""
    for _, rule in search.rules.of(mexpr.op):
        inputs = rule.pattern.inputs
        if inputs and position < len(inputs) and inputs[position].op is not None and rule.pattern.takes(mexpr.op):
            return True
    return False
