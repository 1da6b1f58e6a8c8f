"""The memo: inserting, finding and merging expressions.

Inserting never recurses and never keeps a duplicate. A new inner join finds its group by its region; any other new
expression makes a group unless the rule says which group it belongs to. When an expression turns out to be in another
group than the rule says, the two groups are one: they are merged, and parents whose inputs changed are re-keyed from a
worklist, which may find further duplicates and so further merges.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from optimizer.algebra.columns import ColumnSet, column_ids, union
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Choice, LogicalOperator
from optimizer.algebra.logical_joins import Apply, Join
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.predicates import combined
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.traits import TraitSet
from optimizer.algebra.trees import Leaf, Node, Tree, outer_of, relation_of
from optimizer.memo.goal import Goal
from optimizer.memo.group import Binders, Group, Region
from optimizer.memo.mexpr import LogicalExpr, PhysicalExpr
from optimizer.memo.region_groups import RegionGroups
from optimizer.stats.relation import RelationStats
from optimizer.trace.recorder import Trace


class GroupFigures(Protocol):
    """What the memo asks of statistics and cost when it makes a group."""

    def estimate(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats: ...

    def lower_bound(
        self, op: LogicalOperator, stats: RelationStats, inputs: Sequence[Group], leaves: Sequence[Group]
    ) -> float: ...

    def offers(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[Group]) -> tuple[TraitSet, ...]: ...

    def distinct(self, stats: RelationStats, columns: ColumnSet) -> float: ...


class Memo:
    """Groups by id (`group(id)` resolves merged ones) and logical expressions interned by (operator, input groups)."""

    def __init__(self, figures: GroupFigures, trace: Trace | None = None, label: Callable[[int], str] = str) -> None:
        self.figures, self.trace, self.label = figures, trace, label
        self.groups: list[Group] = []
        self.logical_count = 0
        self.physical_count = 0
        self.duplicates = 0
        self.merges = 0
        self.grown: list[int] = []  # groups that others became one with
        self.goals: list[Goal] = []
        self.news: list[tuple[list[LogicalExpr], list[LogicalExpr]]] = []  # after merges: parents, members new to them
        self._next_mexpr = 0
        self._index: dict[tuple[LogicalOperator, tuple[int, ...], Binders], LogicalExpr] = {}
        self._parent: list[int] = []  # union-find over group ids
        self._regions = RegionGroups(self._parent)

    def find(self, gid: int) -> int:
        """The id that stands for `gid` after merges."""
        parent = self._parent
        while parent[gid] != gid:
            parent[gid] = parent[parent[gid]]
            gid = parent[gid]
        return gid

    def group(self, gid: int) -> Group:
        assert gid >= 0, "a set of relations that has no group; see OptimizedQuery.give_groups"
        return self.groups[gid if self._parent[gid] == gid else self.find(gid)]

    def live_groups(self) -> list[Group]:
        return [g for g in self.groups if self._parent[g.id] == g.id]

    def insert(
        self,
        tree: Tree,
        into: int | None = None,
        rule: str | None = None,
        source: int = -1,
        known_regions: bool = False,
        unseen: bool = False,
        within: Group | None = None,
    ) -> tuple[int, list[LogicalExpr]]:
        """Insert a tree whose leaves are groups; its root goes into group `into` where one is given.

        `known_regions`: a join below the root whose region has a group already is that group, not a new member of it. `unseen`:
        the root is a join that no transformation rule is to see. `within`: a group whose outer columns are bound as those of the
        tree are; `into` is one.
        Returns the group of the root and the logical expressions that are new, inputs first.
        """
        around = within if into is None else self.group(into)
        bound: Binders = () if around is None else around.binders
        gids: dict[int, int] = {}
        new: list[LogicalExpr] = []
        stack = [tree]
        outside: list[tuple[list[Tree], dict[int, int], Binders]] = []  # where Applies wait for their right inputs
        inserted: int | None = None  # the right input of the next one
        while True:
            node = stack[-1]
            if id(node) in gids:  # shared, and inserted meanwhile
                stack.pop()
                continue
            if isinstance(node.op, Apply):
                left, right = node.inputs
                if isinstance(left, Tree) and id(left) not in gids:
                    stack.append(left)
                    continue
                over = gids[id(left)] if isinstance(left, Tree) else left.gid
                if inserted is None and isinstance(right, Tree):
                    outside.append((stack, gids, bound))
                    stack, gids, bound = [right], {}, self._bound_by(over, right, bound)
                    continue
                each = inserted if isinstance(right, Tree) else right.gid
                assert each is not None
                inputs: tuple[int, ...] = (self.find(over), self.find(each))
                inserted = None
            else:
                waiting = [below for below in node.inputs if isinstance(below, Tree) and id(below) not in gids]
                if waiting:
                    stack += reversed(waiting)
                    continue
                inputs = tuple([self.find(gids[id(below)] if isinstance(below, Tree) else below.gid) for below in node.inputs])
            stack.pop()
            root = node is tree
            known = self._group_of_region(node.op, inputs, bound) if known_regions and not root else None
            if isinstance(node.op, Choice):
                known = self._one_group(inputs, into if root else None)
            elif known is None:
                known = self._insert_one(node, inputs, into if root else None, rule, source, new, unseen and root, bound)
            gids[id(node)] = known
            if not stack:
                if not outside:
                    return self.find(gids[id(tree)]), new
                inserted = gids[id(node)]
                stack, gids, bound = outside.pop()

    def _one_group(self, gids: Sequence[int], into: int | None) -> int:
        """The group that the trees of a choice become."""
        first = gids[0] if into is None else into
        for gid in gids:
            first = self.merge(first, gid, "choice")
        return first

    def _insert_one(
        self,
        node: Tree,
        inputs: tuple[int, ...],
        into: int | None,
        rule: str | None,
        source: int,
        new: list[LogicalExpr],
        unseen: bool,
        around: Binders,
    ) -> int:
        op, into = node.op, None if into is None else self.find(into)
        bound = self._read(op, inputs, around) if around else ()
        known = self._index.get((op, inputs, bound))
        if known is not None:
            self.duplicates += 1
            gid = self.find(known.group)
            if self.trace is not None:
                self.trace.emit("mexpr", id=known.id, group=gid, duplicate=True, rule=rule, source=source if rule else None)
            if into is not None and into != gid:
                return self.merge(into, gid, rule or "insert")
            return gid
        region = self._region_of(op, inputs)
        gid = into if into is not None else -1
        if region is not None:
            same = self._regions.group((region.leaves, region.predicate, bound))
            if same is not None:
                gid = same if gid < 0 or gid == same else self.merge(gid, same, rule or "insert")
        if gid < 0:
            gid = self._new_group(node, inputs, region, around)
        if region is not None:
            self._regions.found((region.leaves, region.predicate, bound), gid)
        mexpr = self.add_logical(op, inputs, gid, rule, source, unseen)
        self._index[op, inputs, bound] = mexpr
        for child in dict.fromkeys(inputs):
            self.groups[child].parents.append(mexpr)
        new.append(mexpr)
        return gid

    def _group_of_region(self, op: LogicalOperator, inputs: tuple[int, ...], around: Binders) -> int | None:
        """The group that holds every join of these inputs' region, if there is one."""
        region, bound = self._region_of(op, inputs), self._read(op, inputs, around)
        return None if region is None else self._regions.group((region.leaves, region.predicate, bound))

    def _region_of(self, op: LogicalOperator, inputs: tuple[int, ...]) -> Region | None:
        if isinstance(op, Join):
            if op.kind is not JoinKind.INNER or any(s.volatile for s in op.predicate):
                return None
        elif not isinstance(op, JoinGraph):
            return None
        conjuncts = list(op.predicate)
        for gid in inputs:
            region = self.groups[gid].region
            if region is not None:
                conjuncts += region.predicate
        return Region(self.leaves(inputs), combined(conjuncts))

    def join_graph(self, join: Tree) -> Tree | None:
        """An inner join of groups with the joins that these are, as one graph; None where it is in no region."""
        region = self._region_of(join.op, tuple([below.gid for below in join.inputs if isinstance(below, Leaf)]))
        return None if region is None else Tree(JoinGraph(region.predicate), tuple(map(self.binding_leaf, region.leaves)))

    def leaves(self, inputs: Iterable[int]) -> tuple[int, ...]:
        """What a join of groups joins: those that are no regions of inner joins themselves, and the leaves of those that are."""
        leaves: list[int] = []
        for gid in inputs:
            region = self.groups[gid].region
            if region is None:
                leaves.append(gid)
            else:
                leaves += map(self.find, region.leaves)
        return tuple(sorted(leaves))

    def _new_group(self, node: Tree, inputs: tuple[int, ...], region: Region | None, around: Binders) -> int:
        op, children = node.op, [self.groups[gid] for gid in inputs]
        props = op.derive_props([child.props for child in children]) if children else node.props  # derived once for all stages
        stats = self.figures.estimate(op, props, [child.stats for child in children])
        leaves = [self.groups[gid] for gid in region.leaves] if region is not None else children
        lower = self.figures.lower_bound(op, stats, children, leaves)
        group = Group(len(self.groups), props, stats, lower, self.figures.offers(op, props, children))
        group.region = region
        group.relations = union(child.relations for child in children) if children else relation_of(props.columns)
        group.volatile = any(child.volatile for child in children) or any(s.volatile for s in op.scalars())
        group.outer = _outer(op, children)
        group.binders = around if group.outer else ()
        self.groups.append(group)
        self._parent.append(group.id)
        if region is not None:
            self._regions.add(group)
        if self.trace is not None:
            names = [self.label(c) for c in column_ids(props.columns)]
            self.trace.emit("group", id=group.id, columns=names, rows=stats.rows, lower=lower)
        return group.id

    def grouped_share(self, node: Node, columns: ColumnSet) -> float:
        """How many rows are left of one of a binding's when they are grouped by `columns`, as estimated."""
        stats = self._estimated(node)
        return self.figures.distinct(stats, columns) / stats.rows if stats.rows else 1.0

    def _estimated(self, node: Node) -> RelationStats:
        if isinstance(node, Leaf):
            return self.group(node.gid).stats
        return self.figures.estimate(node.op, node.props, [self._estimated(each) for each in node.inputs])

    def _bound_by(self, left: int, right: Node, around: Binders) -> Binders:
        """What binds outer columns in the right input of an Apply over group `left`."""
        group = self.group(left)
        bound = right.outer & group.props.columns
        binder = (group.id, bound, right.volatile)
        return tuple(sorted({**dict(around), **dict.fromkeys(column_ids(bound), binder)}.items())) if bound else around

    def _read(self, op: LogicalOperator, inputs: tuple[int, ...], around: Binders) -> Binders:
        """What binds those outer columns that an expression reads."""
        outer = _outer(op, [self.groups[gid] for gid in inputs]) if around else 0
        return tuple(each for each in around if outer >> each[0] & 1)

    def runs(self, group: Group) -> float:
        """How often a group is evaluated: once for each distinct binding of the innermost Apply that binds columns it reads, and
        once for all where it reads none."""
        if group.outer and group.runs == 1.0:
            for column, (gid, bound, by_row) in group.binders:
                if group.outer >> column & 1:
                    left = self.group(gid)
                    bindings = left.stats.rows if by_row else self.figures.distinct(left.stats, bound)
                    group.runs = max(group.runs, self.runs(left) * max(1.0, bindings))
        return group.runs

    def add_physical(self, logical: LogicalExpr, op: PhysicalOperator, rule: str) -> PhysicalExpr:
        """A physical expression that implements a logical one over the same inputs."""
        gid = self.find(logical.group)
        inputs = tuple(self.find(i) for i in logical.inputs)
        mexpr = PhysicalExpr(self._next_mexpr, gid, op, inputs, rule, logical.id)
        self._next_mexpr += 1
        self.physical_count += 1
        logical.physical.append(mexpr)
        if self.trace is not None:
            self._emit_made(self.trace, mexpr)
        return mexpr

    def add_logical(
        self, op: LogicalOperator, inputs: tuple[int, ...], gid: int, rule: str | None, source: int, unseen: bool
    ) -> LogicalExpr:
        """A logical expression of a group that no other is to find; `unseen`: to be implemented and costed, seen by no rule."""
        mexpr = LogicalExpr(self._next_mexpr, gid, op, inputs, rule, source)
        self._next_mexpr += 1
        self.logical_count += 1
        group = self.groups[gid]
        (group.unseen if unseen else group.logical).append(mexpr)
        if self.trace is not None:
            self._emit_made(self.trace, mexpr)
        return mexpr

    def _emit_made(self, trace: Trace, mexpr: LogicalExpr | PhysicalExpr) -> None:
        trace.emit(
            "mexpr", id=mexpr.id, group=mexpr.group, duplicate=False, op=mexpr.op.name, detail=mexpr.op.describe(self.label),
            inputs=list(mexpr.inputs), logical=isinstance(mexpr, LogicalExpr), rule=mexpr.rule,
            source=mexpr.source if mexpr.rule else None,
        )  # fmt: skip

    def new_goal(self, gid: int, required: TraitSet, lower: float, relations: int = 0) -> Goal:
        """A goal for a group, -1 for none, and traits that were reduced in it; `lower` is its first bound."""
        goal = Goal(len(self.goals), gid, required, lower, relations)
        self.goals.append(goal)
        return goal

    def merge(self, a: int, b: int, because: str) -> int:
        """Make two groups one and return its id (the older one's, whose properties and statistics stay; it
        reads the outer columns of both).

        Goals of the group that goes are dropped, and what its expressions and their parents were costed at; a search that
        has costed goals already has to cost them anew.
        """
        pending = [(a, b)]
        while pending:
            first, second = (self.find(g) for g in pending.pop())
            if first == second:
                continue
            keep, gone = self.groups[min(first, second)], self.groups[max(first, second)]
            assert keep.props.columns == gone.props.columns, f"groups {keep.id} and {gone.id} differ in columns ({because})"
            self.merges += 1
            self._parent[gone.id] = keep.id
            if self.trace is not None:
                self.trace.emit("merge", gone=gone.id, into=keep.id, because=because)
            self.grown.append(keep.id)
            keep.lower = min(keep.lower, gone.lower)
            if gone.outer & ~keep.outer:  # a form that lost an outer column is equal to one that reads it: a plan may have either
                keep.outer |= gone.outer
                keep.binders = tuple(sorted({**dict(gone.binders), **dict(keep.binders)}.items()))
                keep.leaf = None
            keep.offers = tuple(dict.fromkeys((*keep.offers, *gone.offers)))
            keep.region = keep.region or gone.region
            keep.explored |= gone.explored  # expressions of the one that was not are explored as news
            keep.exploring |= gone.exploring
            self.news.append((list(keep.parents), list(gone.logical)))
            self.news.append((list(gone.parents), list(keep.logical)))
            gone.goals.clear()
            keep.logical += gone.logical
            keep.unseen += gone.unseen
            for mexpr in gone.members():
                mexpr.group, mexpr.least = keep.id, -1.0
                for physical in mexpr.physical:
                    physical.group = keep.id
                    physical.costs.clear()
            parents, gone.parents, gone.logical, gone.unseen = gone.parents, [], [], []
            for mexpr in parents:
                mexpr.least = -1.0
                old = mexpr.inputs
                now = tuple(self.find(i) for i in old)
                around = self.group(mexpr.group).binders
                if self._index.get(key := (mexpr.op, old, self._read(mexpr.op, old, around))) is mexpr:
                    del self._index[key]
                mexpr.inputs = now
                for physical in mexpr.physical:
                    physical.inputs = now
                    physical.costs.clear()
                key = (mexpr.op, now, self._read(mexpr.op, now, around))
                twin = self._index.get(key)
                if twin is None or twin is mexpr:
                    self._index[key] = mexpr
                    if mexpr not in keep.parents:
                        keep.parents.append(mexpr)
                    continue
                # the same expression twice: drop this one, and its group is the twin's
                home = self.groups[self.find(mexpr.group)]
                (home.logical if mexpr in home.logical else home.unseen).remove(mexpr)
                mexpr.dropped = True
                self.logical_count -= 1
                for child in dict.fromkeys(now):
                    if mexpr in self.groups[child].parents:
                        self.groups[child].parents.remove(mexpr)
                if self.trace is not None:
                    self.trace.emit("mexpr", id=mexpr.id, group=home.id, duplicate=True, dropped=True, rule=None, source=None)
                pending.append((home.id, twin.group))
            self._regions.merged(keep, gone, self.groups)
        return self.find(a)

    def expressions(self) -> dict[int, LogicalExpr]:
        """All logical expressions by id."""
        return {mexpr.id: mexpr for group in self.live_groups() for mexpr in group.members()}

    def bound(self, mexpr: LogicalExpr) -> Tree:
        """An expression over its input groups, as rules bind it."""
        return Tree(mexpr.op, tuple(map(self.binding_leaf, mexpr.inputs)))

    def binding_leaf(self, gid: int) -> Leaf:
        """A group as it stands in bindings."""
        group = self.group(gid)
        if group.leaf is None:
            group.leaf = Leaf(group.id, group.props, group.outer, group.volatile, group.relations)
        return group.leaf


def _outer(op: LogicalOperator, children: Sequence[Group]) -> ColumnSet:
    """The columns of enclosing queries that an operator and its inputs read."""
    return outer_of(op, [child.props.columns for child in children], [child.outer for child in children])
