"""Runs a program of rewrites over a tree.

A program is a tuple of batches; a batch applies its rules to every node, parents first, either once or to a fixpoint.
Patterns are those of the memo's rules, matched on trees. Nothing recurses, so a tree may be of any depth.

Trees are immutable and rules are functions of them, so a rule that did not apply to a tree is not asked again about the same
object: a pass over a tree that has settled costs one look at each part that changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from optimizer.algebra.logical import LogicalOperator
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
    run = _Run(program, context)
    for batch in program:
        run.begin(batch)
        while True:
            before = len(run.firings)
            tree = run.one_pass(tree)
            if len(run.firings) >= run.limit:
                return Rewritten(tree, tuple(run.firings), False)
            if not batch.fixpoint or len(run.firings) == before:
                break
    return Rewritten(tree, tuple(run.firings), True)


def fits(node: Node, pattern: Pattern) -> bool:
    """Whether `pattern` matches at `node`."""
    if pattern.op is None:
        return True
    if not isinstance(node, Tree) or not isinstance(node.op, pattern.op):
        return False
    if pattern.inputs is None:
        return True
    return len(pattern.inputs) == len(node.inputs) and all(map(fits, node.inputs, pattern.inputs))


class _Run:
    """One run of a program: what fired, and what is known of trees by their id (they are kept alive, so ids stay theirs).

    `_refused`: the rules that do not apply at a tree's root, as bits. `_settled`: trees in which no rule of the present
    batch applies anywhere.
    """

    __slots__ = ("_alive", "_bits", "_by_operator", "_refused", "_rules", "_settled", "context", "firings", "limit")

    def __init__(self, program: Sequence[Batch], context: RuleContext) -> None:
        self.context, self.limit = context, context.settings.prepass_limit
        self.firings: list[Firing] = []
        self._settled: dict[int, Tree] = {}
        self._refused: dict[int, int] = {}
        self._alive: list[Tree] = []
        self._bits = {id(rule): 1 << i for i, rule in enumerate(rule for batch in program for rule in batch.rules)}
        self._rules: tuple[RewriteRule, ...] = ()
        self._by_operator: dict[type, list[tuple[RewriteRule, int, bool]]] = {}

    def begin(self, batch: Batch) -> None:
        """Go on with the rules of `batch`, without those that the settings disable."""
        self._rules = tuple(rule for rule in batch.rules if rule.name not in self.context.settings.disable)
        self._by_operator.clear()
        self._settled.clear()

    def one_pass(self, tree: Tree) -> Tree:
        """At each node rules fire until none does, then its inputs are visited."""
        built: list[Node] = []
        settled, firings = self._settled, self.firings
        stack: list[tuple[Node, int]] = [(tree, -1)]  # a node to visit, or, once its inputs are done, firings before them
        while stack:
            node, before = stack.pop()
            if not isinstance(node, Tree) or (before < 0 and id(node) in settled):
                built.append(node)
            elif before >= 0:
                below = len(built) - len(node.inputs)
                if before == len(firings):
                    settled[id(node)] = node
                else:
                    node = node.with_inputs(tuple(built[below:]))
                del built[below:]
                built.append(node)
            else:
                node = self._rewrite(node)
                stack.append((node, len(firings)))
                for child in reversed(node.inputs):
                    stack.append((child, -1))
        result = built[0]
        assert isinstance(result, Tree)
        return result

    def _rewrite(self, node: Tree) -> Tree:
        """What `node` has become when no rule applies to it any more, or the limit is reached."""
        firings = self.firings
        while True:
            refused = before = self._refused.get(id(node), 0)
            after = None
            for rule, bit, deep in self._by_operator.get(type(node.op)) or self._candidates(node.op):
                if refused & bit:
                    continue
                if len(firings) >= self.limit:
                    return node
                if not deep or fits(node, rule.pattern):
                    try:
                        after = rule.apply(node, self.context)
                    except PlanscopeError:
                        raise
                    except Exception as error:
                        raise InternalError(
                            f"rule {rule.name} failed in the pre-pass: {type(error).__name__}: {error}"
                        ) from error
                    if after is not None:
                        firings.append(Firing(rule.name, node, after))
                        break
                refused |= bit
            if refused != before:
                self._refused[id(node)] = refused
                self._alive.append(node)
            if after is None:
                return node
            node = after

    def _candidates(self, op: LogicalOperator) -> list[tuple[RewriteRule, int, bool]]:
        """The rules that can apply at such an operator, each with its bit and whether its pattern looks at the inputs too."""
        found = []
        for rule in self._rules:
            pattern = rule.pattern
            if pattern.op is None or isinstance(op, pattern.op):
                inputs = pattern.inputs
                plain = inputs is None or (op.arity == len(inputs) and all(below.op is None for below in inputs))
                found.append((rule, self._bits[id(rule)], not plain))
        self._by_operator[type(op)] = found
        return found
