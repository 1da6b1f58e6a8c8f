"""Partitioning of a region of joins of any kind: each split that conflict detection allows.

    RegionGraph(S)  ≡  σ(RegionGraph(A) op RegionGraph(B))        A ∪ B = S, op the one join due there

Inner conjuncts that are due together with another kind of join become a filter above it. Kinds with a mirror image come in
both orders. The parts are groups of their own, split when they are explored.

Kinds   inner, left, right, full, semi, anti, where the tables of Moerkotte, Fender and Eich allow it (CD-C)
NULLs   conditions of the tables ask which relations a predicate rejects NULLs on (`joins.reorderability`)
Rows    same bag; same column set
Guards  those of `joins.operator_tree`; no split that a forced join order does not have
Source  Moerkotte, Fender and Eich, SIGMOD 2013 (CD-C); Fender and Moerkotte, PVLDB 2013 (top-down, hypergraphs)
"""

from collections.abc import Sequence

from optimizer.algebra.region_graph import RegionGraph
from optimizer.algebra.trees import Leaf, Node, Tree, postorder
from optimizer.joins.graph import Relations, bits, one_by_one_splits
from optimizer.joins.region import JoinRegion
from optimizer.rules.interface import RuleContext, TransformationRule, node


class PartitionRegion(TransformationRule):
    name = "partition_region"
    pattern = node(RegionGraph)
    used_with = (("enumeration", ("adaptive", "partition", "left_deep")),)
    expands = "never"
    closes = (
        "join_commute", "join_associate", "join_associate_left", "join_exchange_left", "join_exchange_full", "join_exchange_semi",
    )  # fmt: skip

    def closed(self, result: Tree, rule: str | None, context: RuleContext) -> Tree | None:
        """None where few relations are joined, one of them made of joins: such a join may come out of it and change places."""
        leaves = [each for each in postorder(result) if isinstance(each, Leaf)]
        few = len(leaves) <= context.settings.expand_joins
        return None if few and any(leaf.relations.bit_count() > 1 for leaf in leaves) else result

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        match bound:
            case Tree(RegionGraph(region, s), leaves) if isinstance(region, JoinRegion):
                leaf = dict(zip(bits(s), leaves, strict=True))
                found: list[Tree] = []
                splits = region.splits(s)
                if context.settings.enumeration == "left_deep":  # as far as the kinds of joins leave such trees
                    splits = one_by_one_splits(s, splits) or splits
                for a in splits:
                    b = s ^ a
                    for left, right in ((a, b), (b, a)):
                        made = region.joins(left, right)
                        if made is not None:
                            found.append(made.over(region_part(region, left, leaf), region_part(region, right, leaf)))
                return found
        return ()


def region_part(region: JoinRegion, s: Relations, leaf: dict[Relations, Node]) -> Node:
    """A part of a region as a tree; `leaf`: of each of its relations, as a set."""
    return leaf[s] if s in leaf else Tree(RegionGraph(region, s), tuple(leaf[bit] for bit in bits(s)))
