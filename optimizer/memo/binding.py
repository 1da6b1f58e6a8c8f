"""Bindings: the trees that a rule's pattern finds below a multi-expression."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from optimizer.algebra.trees import Node, Tree
from optimizer.memo.memo import Memo
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.interface import Pattern


def matches(mexpr: LogicalExpr, pattern: Pattern) -> bool:
    """Whether the root of `pattern` fits."""
    if pattern.op is None:
        return True
    return isinstance(mexpr.op, pattern.op) and (pattern.where is None or pattern.where(mexpr.op))


def bindings(memo: Memo, mexpr: LogicalExpr, pattern: Pattern, fresh: LogicalExpr | None = None) -> Iterator[Tree]:
    """Trees of `mexpr` that fit `pattern`, in the order in which the expressions were made.

    With `fresh` only those that contain that expression (a new member of some input group): so a rule that has already
    bound `mexpr` sees exactly the new bindings. The memo may grow while bindings are consumed; expressions added
    meanwhile are not seen, they come as `fresh` later.
    """
    assert pattern.op is not None, "a rule's pattern names an operator at its root"
    if not matches(mexpr, pattern):
        return
    for tree, holds in _expand(memo, mexpr, pattern, fresh, fresh is not None):
        if fresh is None or holds:
            yield tree


def _expand(
    memo: Memo, mexpr: LogicalExpr, pattern: Pattern, fresh: LogicalExpr | None, only_fresh: bool = False
) -> Iterator[tuple[Tree, bool]]:
    """Bindings of one expression, each with whether it contains `fresh`; with `only_fresh` some of the others are left out."""
    own = mexpr is fresh
    if pattern.inputs is None:
        yield Tree(mexpr.op, tuple(memo.binding_leaf(g) for g in mexpr.inputs)), own
        return
    if len(pattern.inputs) != len(mexpr.inputs):
        return
    choices: list[list[tuple[Node, bool]]] = []
    only_here = only_fresh and not own and sum(below.op is not None for below in pattern.inputs) == 1
    for gid, below in zip(mexpr.inputs, pattern.inputs, strict=True):
        if below.op is None:
            choices.append([(memo.binding_leaf(gid), False)])
            continue
        found: list[tuple[Node, bool]] = []
        members = memo.group(gid).logical
        if only_here and below.depth == 1:  # the one place where `fresh` can be
            members = [fresh] if fresh in members else []
        for member in list(members):
            if isinstance(member.op, below.op) and (below.where is None or below.where(member.op)):
                found += _expand(memo, member, below, fresh, only_here)
        if not found:
            return
        choices.append(found)
    for picked in product(*choices):
        contains = own or (fresh is not None and any(holds for _, holds in picked))
        yield Tree(mexpr.op, tuple([node for node, _ in picked])), contains
