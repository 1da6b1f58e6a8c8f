"""Partitioning: a join graph becomes each of its splits into two connected, joined parts.

    JoinGraph[p](S)  ≡  JoinGraph[p within A](A) ⋈[p across A, B] JoinGraph[p within B](B)        A ∪ B = S

One binding gives every split in both orders, so no join is made twice and none is missed (rule set RS-Graph). The parts
are groups of their own, split when they are explored.

Kinds   inner only
NULLs   safe: an inner join drops FALSE and UNKNOWN alike, so conjuncts may change joins
Rows    same bag; same column set
Guards  join graphs hold no conjunct that is volatile or may raise; no cross products where conjuncts connect the relations,
        unless the setting cross_products allows them; no split that a forced join order does not have
Source  DeHaan and Tompa, SIGMOD 2007; Fender and Moerkotte, ICDE 2011; Shanbhag and Sudarshan, PVLDB 2014 (RS-Graph)
"""

from collections.abc import Sequence

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.trees import Node, Tree
from optimizer.joins.graph import Relations
from optimizer.joins.inner import InnerRegion, inner_region, splitter
from optimizer.joins.partition import PARTITIONERS
from optimizer.rules.interface import RuleContext, TransformationRule, node


class PartitionJoins(TransformationRule):
    name = "partition_joins"
    pattern = node(JoinGraph)
    used_with = (("enumeration", ("adaptive", "partition", "left_deep")),)
    expands = "never"
    closes = ("join_commute", "join_associate", "join_associate_reverse", "join_exchange_inner")

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(JoinGraph(predicate), leaves):
                columns = tuple(leaf.columns for leaf in leaves)
                region = inner_region(columns, predicate, context.settings.cross_products, context.forced)
                found: list[Tree] = []
                for a in splits(region, context):
                    b = region.graph.all ^ a
                    one, other = part(region, a, leaves), part(region, b, leaves)
                    join = Join(JoinKind.INNER, region.across(a, b))
                    found += (Tree(join, (one, other)), Tree(join, (other, one)))
                return found
        return ()


def splits(region: InnerRegion, context: RuleContext) -> list[Relations]:
    """The splits of the whole region that the settings allow, each as the part with relation 0, in one order."""
    partition = context.partition or PARTITIONERS[context.settings.partitioner]
    return splitter(region, partition, context.settings.enumeration == "left_deep", in_order=True)(region.graph.all)


def part(region: InnerRegion, s: Relations, leaves: Sequence[Node]) -> Node:
    """The join graph over a subset of the leaves; a single leaf as it is."""
    chosen = tuple(leaf for i, leaf in enumerate(leaves) if s >> i & 1)
    return chosen[0] if len(chosen) == 1 else Tree(JoinGraph(region.within(s)), chosen)
