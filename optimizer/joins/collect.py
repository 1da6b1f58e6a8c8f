"""Regions of joins become n-ary joins with no order chosen yet, for the search to order.

    (A ⋈p B) ⋈q C  ≡  JoinGraph[p ∧ q](A, B, C)            inner joins; a conjunct over one input becomes a filter on it
    (A ⋈p B) ⟕q C  ≡  RegionGraph[p, q](A, B, C)            joins of several kinds
    (A ⟕q B) ⋈p C  ≡  (A ⋈p C) ⟕q B                         where several kinds are too many: then all inner joins are one region

Guards  a join with a conjunct that is volatile or may raise stays out of join graphs, and bounds them; what region graphs do
        with it, `operator_tree` says. A left join goes above inner ones that do not read its right side
"""

from collections.abc import Callable
from typing import TypeAlias

from optimizer.algebra.building import tree_of
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import conjunction, predicate_columns
from optimizer.algebra.rebuild import map_tree
from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.trees import Node, Tree, postorder
from optimizer.joins.graph import Relations, bits
from optimizer.joins.inner import inner_region
from optimizer.joins.region import JoinRegion

_Inner: TypeAlias = tuple[list[Node], list[Scalar]]  # what a region of inner joins joins, and its conjuncts


def collect_join_graphs(root: Tree, mixed: Callable[[JoinRegion], bool], cross: bool = False) -> Tree:
    """The tree with every maximal region of reorderable joins as one operator. Iterative.

    `mixed`: whether a region of several kinds is to be ordered as a whole; if not, its inner joins are, below its left joins.
    `cross`: regions of several kinds have all cross products.
    """
    refused: list[JoinRegion] = []
    regions = _mixed_regions(root, mixed, cross, refused)
    if refused and (above := left_joins_above(root)) is not root:
        return collect_join_graphs(above, mixed, cross)
    kept, inner_regions = _kept(root, regions)
    built: dict[int, Node] = {}
    for node in postorder(root):
        if id(node) not in kept:
            continue
        if not isinstance(node, Tree):
            built[id(node)] = node
        elif id(node) in regions:
            region = regions[id(node)]
            leaves = tuple(built[id(leaf)] for leaf in region.leaves)
            built[id(node)] = Tree(RegionGraph(region, region.graph.all), leaves)
        elif id(node) in inner_regions:
            inner, conjuncts = inner_regions[id(node)]
            built[id(node)] = _join_graph([built[id(leaf)] for leaf in inner], conjuncts)
        else:
            built[id(node)] = node.with_inputs(tuple(built[id(child)] for child in node.inputs))
    return tree_of(built[id(root)])


def _kept(root: Tree, regions: dict[int, JoinRegion]) -> tuple[set[int], dict[int, _Inner]]:
    """The nodes that become nodes of the result: all but the joins below the top of a region; and the regions of inner joins by
    their tops. A join that is shared may be below the top of one region and a top itself for another parent."""
    kept: set[int] = set()
    inner_regions: dict[int, _Inner] = {}
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if id(node) in kept:
            continue
        kept.add(id(node))
        if not isinstance(node, Tree):
            continue
        if id(node) in regions:
            stack += regions[id(node)].leaves
        elif _reorderable(node) is not None:
            inner_regions[id(node)] = region = _region(node)
            stack += region[0]
        else:
            stack += node.inputs
    return kept, inner_regions


def left_joins_above(root: Tree) -> Tree:
    """The tree with left joins above the inner joins of their left sides; itself where there is nothing to do. Iterative."""
    return map_tree(root, _above)


def _above(tree: Tree) -> Tree:
    """An inner join below those left joins of its inputs whose right sides it does not read; any other operator as it is."""
    join = _reorderable(tree)
    if join is None:
        return tree
    read = predicate_columns(join.predicate)
    sides, lifted = list(tree.inputs), list[tuple[Join, Node]]()
    for number in (0, 1) if join.predicate else ():
        while isinstance(side := sides[number], Tree) and isinstance(left := side.op, Join) and left.kind is JoinKind.LEFT:
            if read & side.inputs[1].columns or any(s.volatile for s in left.predicate):
                break
            lifted.append((left, side.inputs[1]))
            sides[number] = side.inputs[0]
    result = tree.with_inputs(tuple(sides))
    for left, right in reversed(lifted):
        result = Tree(left, (result, right))
    return result


def _mixed_regions(
    root: Tree, mixed: Callable[[JoinRegion], bool], cross: bool, refused: list[JoinRegion]
) -> dict[int, JoinRegion]:
    """Maximal regions of joins that are not all inner, by their topmost join, as `mixed` takes them; `refused` gets others."""
    found: dict[int, JoinRegion] = {}
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if not isinstance(node, Tree) or not isinstance(node.op, Join):
            stack += node.inputs
            continue
        below = _below_inner_joins(node)
        if below is None:
            region = JoinRegion(node, cross)
            if len(region.leaves) > 2 and not region.inner_only:
                if mixed(region):
                    found[id(node)] = region
                    below = list(region.leaves)
                else:
                    refused.append(region)
        stack += node.inputs if below is None else below
    return found


def _below_inner_joins(root: Tree) -> list[Node] | None:
    """What the joins at `root` join; None where they are of more than the inner kind."""
    below: list[Node] = []
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if not isinstance(node, Tree) or not isinstance(node.op, Join):
            below.append(node)
        elif node.op.kind is JoinKind.INNER:
            stack += node.inputs
        else:
            return None
    return below


def _reorderable(node: Node) -> Join | None:
    """The join at a node, where it is one that may be reordered with others."""
    op = node.op if isinstance(node, Tree) else None
    if isinstance(op, Join) and op.kind is JoinKind.INNER and not any(s.volatile or s.raises for s in op.predicate):
        return op
    return None


def _region(root: Tree) -> _Inner:
    leaves: list[Node] = []
    conjuncts: list[Scalar] = []
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        join = _reorderable(node)
        if join is None:
            leaves.append(node)
        else:
            conjuncts += join.predicate
            stack.extend(reversed(node.inputs))
    return leaves, conjuncts


def _join_graph(leaves: list[Node], conjuncts: list[Scalar]) -> Tree:
    """The join of all leaves, by their lowest columns, as they are estimated. Splits of a join graph test what reads relations of
    both parts, or none at all."""
    rest = list(conjunction(conjuncts))
    inputs: list[Node] = []
    for leaf in sorted(leaves, key=lambda leaf: leaf.columns & -leaf.columns):
        beyond = ~leaf.columns
        own = tuple([s for s in rest if s.columns and not s.columns & beyond])
        if own:
            rest = [s for s in rest if s not in own]
        inputs.append(Tree(Filter(own), (leaf,)) if own else leaf)
    return Tree(JoinGraph(tuple(rest)), tuple(inputs))


def written_order(bound: Tree) -> Tree:
    """A tree of joins for an n-ary one: each input joined to those before it, linked ones first. Iterative."""
    if isinstance(bound.op, RegionGraph):
        return bound.op.region.written(bound.op.relations, bound.inputs)
    assert isinstance(bound.op, JoinGraph)
    leaves = bound.inputs
    region = inner_region(tuple(leaf.columns for leaf in leaves), bound.op.predicate, False)
    joined: Relations = 1
    result = leaves[0]
    while joined != region.graph.all:
        near = region.graph.neighbours(joined) or region.graph.all & ~joined
        following = next(bits(near))
        join = Join(JoinKind.INNER, region.across(joined, following))
        result = Tree(join, (result, leaves[following.bit_length() - 1]))
        joined |= following
    return tree_of(result)
