"""Bindings: the trees that a rule's pattern finds below a multi-expression."""

from collections.abc import Iterable, Iterator
from itertools import product

from optimizer.algebra.trees import Node, Tree
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.interface import Pattern


def bindings(memo: Memo, mexpr: LogicalExpr, pattern: Pattern, fresh: LogicalExpr | None = None) -> Iterator[Tree]:
    """Trees of `mexpr` that fit `pattern`, in the order in which the expressions were made.

    With `fresh` only those that contain that expression (a new member of some input group): so a rule that has already
    bound `mexpr` sees exactly the new bindings. The memo may grow while bindings are consumed; expressions added
    meanwhile are not seen, they come as `fresh` later.
    """
    assert pattern.op is not None, "a rule's pattern names an operator at its root"
    if not pattern.takes(mexpr.op):
        return
    for tree, holds in _expand(memo, mexpr, pattern, fresh, fresh is not None):
        if fresh is None or holds:
            yield tree


def may_bind(memo: Memo, mexpr: LogicalExpr, pattern: Pattern) -> bool:
    """Whether each input that a pattern which takes an expression looks into has a member that fits there."""
    below = pattern.inputs
    if below is None or pattern.depth == 1:
        return True
    if len(below) != len(mexpr.inputs):
        return False
    for gid, part in zip(mexpr.inputs, below, strict=True):
        if part.depth and not any(part.takes(member.op, mexpr.op) for member in memo.group(gid).logical):
            return False
    return True


def _expand(
    memo: Memo, mexpr: LogicalExpr, pattern: Pattern, fresh: LogicalExpr | None, only_fresh: bool = False
) -> Iterable[tuple[Tree, bool]]:
    """Bindings of one expression, each with whether it contains `fresh`; with `only_fresh` some of the others are left out."""
    own, below = mexpr is fresh, pattern.inputs
    if below is not None and len(below) != len(mexpr.inputs):
        return ()
    if below is None or pattern.depth == 1:
        return ((Tree(mexpr.op, tuple(map(memo.binding_leaf, mexpr.inputs))), own),)
    choices: list[list[tuple[Node, bool]]] = []
    only_here = only_fresh and not own and sum([part.depth > 0 for part in below]) == 1
    for gid, part in zip(mexpr.inputs, below, strict=True):
        if not part.depth:
            choices.append([(memo.binding_leaf(gid), False)])
            continue
        members = memo.group(gid).logical
        if only_here and part.depth == 1:  # the one place where `fresh` can be
            members = [fresh] if fresh in members else []
        found: list[tuple[Node, bool]] = []
        for member in members:
            if part.takes(member.op, mexpr.op):
                found += _expand(memo, member, part, fresh, only_here)
        if not found:
            return ()
        choices.append(found)
    return (
        (Tree(mexpr.op, tuple([node for node, _ in picked])), own or any(holds for _, holds in picked))
        for picked in product(*choices)
    )
