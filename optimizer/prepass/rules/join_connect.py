"""Inner joins are regrouped so that no cross product is left that the predicates can avoid.

    (A × B) ⋈p(A,C) ∧ q(B,C) C  ≡  (A ⋈p C) ⋈q B

A FROM list with commas gives cross products in the order of the text; reordering by associativity never passes through a
cross product, so the search has to start from a tree without one. The relations stay in the order of the text as far
as their predicates connect them; parts that no predicate connects are joined last.

Kinds   a region of inner joins; other joins are leaves of it
NULLs   safe: an inner join drops FALSE and UNKNOWN alike
Guards  no volatile conjunct; no conjunct that may raise is tested on more pairs than before: a region with one is left alone
"""

from __future__ import annotations

from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Join
from optimizer.algebra.scalars import Scalar, conjunction
from optimizer.algebra.trees import Node, Tree
from optimizer.rules.interface import ANY, RewriteRule, RuleContext, node


class JoinConnect(RewriteRule):
    name = "join_connect"
    pattern = node(Join, ANY, ANY)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        if not _is_inner(bound):
            return None
        leaves, predicate, crosses = _region(bound)
        if not crosses or len(leaves) < 3 or any(s.volatile or s.raises for s in predicate):
            return None
        joined = connect(leaves, predicate)
        return joined if _region(joined)[2] < crosses else None


def _is_inner(node: Node) -> bool:
    return isinstance(node, Tree) and isinstance(node.op, Join) and node.op.kind is JoinKind.INNER


def _region(root: Tree) -> tuple[list[Node], list[Scalar], int]:
    """Leaves of the inner joins at `root` in the order of the text, their conjuncts, and how bad its cross products are:
    each counts the leaves that are still joined above it and one, so that fewer and later ones are better."""
    leaves: list[Node] = []
    predicate: list[Scalar] = []
    spans: list[tuple[int, int]] = []  # of every cross product: its leaves by number, first and end
    stack: list[tuple[Node, int]] = [(root, -1)]
    while stack:
        node, first = stack.pop()
        if first >= 0:
            spans.append((first, len(leaves)))
        elif isinstance(node, Tree) and isinstance(node.op, Join) and node.op.kind is JoinKind.INNER:
            predicate += node.op.predicate
            if not node.op.predicate:
                stack.append((node, len(leaves)))
            stack.extend((child, -1) for child in reversed(node.inputs))
        else:
            leaves.append(node)
    return leaves, predicate, sum(len(leaves) - (end - first) + 1 for first, end in spans)


def connect(leaves: list[Node], predicate: list[Scalar]) -> Tree:
    """A tree of inner joins over `leaves`, each conjunct at the lowest join that has its columns."""
    rest = list(predicate)
    parts: list[Node] = []
    waiting = list(leaves)
    while waiting:
        part = waiting.pop(0)
        found = True
        while found:
            found = False
            for leaf in waiting:
                if any(_links(s, part.columns, leaf.columns) for s in rest):
                    part = _join(part, leaf, rest)
                    waiting.remove(leaf)
                    found = True
                    break
        parts.append(part)
    while len(parts) > 1:  # a conjunct over three relations may still link parts that no pair of them is linked by
        linked = next(
            ((i, j) for i in range(len(parts)) for j in range(i + 1, len(parts))
             if any(_links(s, parts[i].columns, parts[j].columns) for s in rest)), (0, 1),
        )  # fmt: skip
        parts[linked[0]] = _join(parts[linked[0]], parts.pop(linked[1]), rest)
    result = parts[0]
    assert isinstance(result, Tree)
    return result


def _links(conjunct: Scalar, a: int, b: int) -> bool:
    return bool(conjunct.columns & a and conjunct.columns & b and not conjunct.columns & ~(a | b))


def _join(left: Node, right: Node, rest: list[Scalar]) -> Tree:
    """Join two parts on every conjunct of `rest` that they can test; those are taken from `rest`."""
    within = left.columns | right.columns
    usable = [s for s in rest if not s.columns & ~within]
    rest[:] = [s for s in rest if s.columns & ~within]
    return Tree(Join(JoinKind.INNER, conjunction(usable)), (left, right))
