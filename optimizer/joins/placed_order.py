"""Where in a query a join order belongs: names become relations of the regions of joins that read them.

A name stands for the relation that is a scan of that alias, or else for the one relation (a grouped or limited part, say) that
reads it somewhere below. Two relations of one part are no order of the region above, but of the one inside the part. Where
the same names occur in several regions, as in a subquery over the tables of the query around it, the order holds for each.
"""

from collections.abc import Iterable

from optimizer.algebra.columns import ColumnSet
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import Filter, Project, Scan
from optimizer.algebra.logical_joins import AnyJoin
from optimizer.algebra.plan import PlanNode, aliases_below
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.trees import Node, Tree, postorder
from optimizer.errors import SettingsError, in_one_line
from optimizer.joins.graph import Relations, bits
from optimizer.joins.inner import inner_region
from optimizer.joins.join_order import JoinOrder, show_join_order, subtrees
from optimizer.joins.region import JoinRegion

Names = frozenset[str]


class OrderRefused(SettingsError):
    """No plan has the order. `unlinked`: since no condition links its relations, rather than what other joins demand."""

    def __init__(self, message: str, unlinked: bool = False) -> None:
        super().__init__(message)
        self.unlinked = unlinked


def aliases_of(nodes: Iterable[Node]) -> Names:
    """The aliases that trees scan, in lower case."""
    found = (node.op for root in nodes for node in postorder(root) if isinstance(node, Tree))
    return frozenset(op.alias.lower() for op in found if isinstance(op, Scan))


def place_order(order: JoinOrder, root: Tree, cross: bool) -> tuple[ColumnSet, ...]:
    """The columns of each set of relations that the order has in the regions of a collected query; those of several kinds are
    told their sets too. `cross`: cross products are allowed.

    Raises SettingsError: an unknown or ambiguous name, relations that are never joined with each other, that no conjunct links,
    or that an outer, semi or anti join keeps apart.
    """
    known = aliases_of([root])
    names = frozenset().union(*(left | right for left, right in subtrees(order)))
    for name in sorted(names - known):
        listed = ", ".join(map(in_one_line, sorted(known))) or "none"
        raise SettingsError(
            f'{_said(order)}: the query joins no relation "{in_one_line(name)}"\n'
            f"its relations, once it is simplified, are {listed}"
        )
    joins = AnyJoin | JoinGraph | RegionGraph
    homes = [_Home(node) for node in postorder(root) if isinstance(node, Tree) and isinstance(node.op, joins)]
    found: list[ColumnSet] = []
    mixed: dict[int, tuple[_Home, JoinRegion, list[Relations]]] = {}
    for left, right in subtrees(order):
        placed, complaints = False, []
        for home in homes:
            if not left | right <= home.names:
                continue
            parts = home.parts(left, right)
            if isinstance(parts, str):
                complaints.append(parts)
            elif parts:
                placed = True
                op = home.tree.op
                if isinstance(op, JoinGraph):
                    home.check_linked(parts, op, cross, order)
                    found.append(home.columns(parts))
                elif isinstance(op, RegionGraph):
                    assert isinstance(op.region, JoinRegion)
                    mixed.setdefault(id(home), (home, op.region, []))[2].append(parts)
        if not placed:
            why = complaints[0] if complaints else f"{_names(left)} and {_names(right)} are never joined with each other"
            raise OrderRefused(f"{_said(order)}: {why}")
    for home, region, sets in mixed.values():
        region.force(sets)
        home.check_possible(region, order)
        found += (home.columns(parts) for parts in sets)
    return tuple(dict.fromkeys(found))


def has_order(plan: PlanNode, order: JoinOrder) -> bool:
    """Whether the relations of each join of the order are joined before any other, by the aliases that a plan scans."""
    joined = {frozenset(map(str.lower, aliases)) for aliases in aliases_below(plan).values()}
    for left, right in subtrees(order):
        both = left | right
        if any(names & both and not names <= both and not both <= names for names in joined):
            return False
    return True


class _Home:
    """A join or a region of joins, and which of them a name stands for."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.names = aliases_of([tree])
        self._below = [aliases_of([leaf]) for leaf in tree.inputs]
        self._direct = [_scanned(leaf) for leaf in tree.inputs]

    def columns(self, parts: Relations) -> ColumnSet:
        """Those of some of its inputs."""
        return sum(leaf.columns for i, leaf in enumerate(self.tree.inputs) if parts >> i & 1)

    def parts(self, left: Names, right: Names) -> Relations | str:
        """The inputs that a join of these names joins; 0 where it is not this operator that joins them, a text where the names
        contradict it."""
        sides: list[Relations] = []
        for side in (left, right):
            sides.append(0)
            for name in sorted(side):
                at = [i for i, direct in enumerate(self._direct) if direct == name]
                at = at or [i for i, below in enumerate(self._below) if name in below]
                if len(at) > 1:
                    return f'"{name}" stands for several relations of one join'
                sides[-1] |= 1 << at[0]
        both = sides[0] | sides[1]
        if not both & (both - 1):
            return 0
        for bit in bits(both):
            at_once = self._below[bit.bit_length() - 1]
            own = at_once if self._direct[bit.bit_length() - 1] is None else frozenset()
            missing = own - left - right
            if bit & sides[0] & sides[1] or missing:
                return f"{_names(own)} are joined before anything else is joined to them"
        return both

    def check_linked(self, parts: Relations, op: JoinGraph, cross: bool, order: JoinOrder) -> None:
        graph = inner_region(tuple(leaf.columns for leaf in self.tree.inputs), op.predicate, cross).graph
        if not graph.connected(parts):
            apart = " and ".join(self._show(part) for part in graph.components(parts))
            raise OrderRefused(
                f"{_said(order)}: no condition links {apart}, so joining them first is a cross product\n"
                "cross_products=true allows those",
                unlinked=True,
            )

    def check_possible(self, region: JoinRegion, order: JoinOrder) -> None:
        everything = region.graph.all
        for s in (*region.forced.sets, everything):
            if not region.possible(s):
                joined = f"{self._show(s)} cannot be joined"
                blocks = region.forced.blocks(s)
                why = region.refusal(blocks[0], blocks[1], self._name) if len(blocks) == 2 else None
                if s == everything:
                    joined, why = "the other relations cannot be joined to these", None
                why = why or "an outer, semi or anti join keeps some of its relations together"
                raise OrderRefused(f"{_said(order)}: {joined}: {why}")

    def _show(self, s: Relations) -> str:
        texts = [self._name(bit.bit_length() - 1) for bit in bits(s)]
        return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"

    def _name(self, relation: int) -> str:
        return in_one_line(self._direct[relation] or "(" + ", ".join(sorted(self._below[relation])) + ")")


def _scanned(node: Node) -> str | None:
    """The alias that a leaf scans, if it does no more."""
    while isinstance(node, Tree) and isinstance(node.op, Filter | Project):
        node = node.inputs[0]
    return node.op.alias.lower() if isinstance(node, Tree) and isinstance(node.op, Scan) else None


def _names(names: Names) -> str:
    return " and ".join(map(in_one_line, sorted(names)))


def _said(order: JoinOrder) -> str:
    return f"join order {in_one_line(show_join_order(order))}"
