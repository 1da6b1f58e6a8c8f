"""Runs a program of rewrites over a tree.

A program is a tuple of batches; a batch applies its rules to every node, parents first, either once or to a fixpoint.
Patterns are those of the memo's rules, matched on trees. Nothing recurses, so a tree may be of any depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from optimizer.algebra.trees import Node, Tree
from optimizer.errors import InternalError, PlanscopeError
from optimizer.rules.interface import Pattern, RewriteRule, RuleContext


class Batch(NamedTuple):
    """`fixpoint`: pass over the tree again until nothing fires; else one pass."""

    name: str
    rules: tuple[RewriteRule, ...]
    fixpoint: bool = True


class Firing(NamedTuple):
    """A rule replaced the subtree `before` by `after`."""

    rule: str
    before: Tree
    after: Tree


class Rewritten(NamedTuple):
    """`converged` is False when the limit on firings stopped the program."""

    tree: Tree
    firings: tuple[Firing, ...]
    converged: bool


def run_program(program: Sequence[Batch], tree: Tree, context: RuleContext) -> Rewritten:
    """Apply the batches in order. Rules that the settings disable are left out."""
    firings: list[Firing] = []
    limit = context.settings.prepass_limit
    for batch in program:
        rules = tuple(rule for rule in batch.rules if rule.name not in context.settings.disable)
        while True:
            before = len(firings)
            tree = _pass(tree, rules, context, firings, limit)
            if len(firings) >= limit:
                return Rewritten(tree, tuple(firings), False)
            if not batch.fixpoint or len(firings) == before:
                break
    return Rewritten(tree, tuple(firings), True)


def fits(node: Node, pattern: Pattern) -> bool:
    """Whether `pattern` matches at `node`."""
    if pattern.op is None:
        return True
    if not isinstance(node, Tree) or not isinstance(node.op, pattern.op):
        return False
    if pattern.inputs is None:
        return pattern.some is None or any(fits(child, pattern.some) for child in node.inputs)
    return len(pattern.inputs) == len(node.inputs) and all(map(fits, node.inputs, pattern.inputs))


def _pass(tree: Tree, rules: tuple[RewriteRule, ...], context: RuleContext, firings: list[Firing], limit: int) -> Tree:
    """One pass: at each node rules fire until none does, then its inputs are visited."""
    built: list[Node] = []
    stack: list[tuple[Node, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if not isinstance(node, Tree):
            built.append(node)
        elif ready:
            arity = len(node.inputs)
            inputs = tuple(built[len(built) - arity :])
            del built[len(built) - arity :]
            built.append(node.with_inputs(inputs))
        else:
            node = _rewrite_here(node, rules, context, firings, limit)
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.inputs))
    result = built[0]
    assert isinstance(result, Tree)
    return result


def _rewrite_here(node: Tree, rules: tuple[RewriteRule, ...], context: RuleContext, firings: list[Firing], limit: int) -> Tree:
    fired = True
    while fired and len(firings) < limit:
        fired = False
        for rule in rules:
            if not fits(node, rule.pattern):
                continue
            try:
                after = rule.apply(node, context)
            except PlanscopeError:
                raise
            except Exception as error:
                raise InternalError(f"rule {rule.name} failed in the pre-pass: {type(error).__name__}: {error}") from error
            if after is not None:
                firings.append(Firing(rule.name, node, after))
                node, fired = after, True
                break
    return node
