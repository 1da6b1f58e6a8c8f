"""Rules written as plain functions, usually with `match` over the operator and its inputs.

    @rewrite(node(Filter, node(Filter, ANY)))
    def filters_to_one(tree, context):
        \"\"\"σp(σq(A)) ≡ σ(p ∧ q)(A)\"\"\"
        match tree:
            case Tree(Filter(p), (Tree(Filter(q), (below,)),)):
                return Tree(Filter(conjunction((*p, *q))), (below,))
        return None

`filters_to_one` is then a RewriteRule like any other, named after the function, described by the first line of its docstring.
With a `sweep` it passes over the whole tree by itself, up or down, as Catalyst's `transformUp` and `transformDown` apply a
partial function; without one it fires in the order of its batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.trees import Tree
from optimizer.rules.interface import Pattern, RewriteRule, RuleContext, Sweep, node

Rewrite: TypeAlias = Callable[[Tree, RuleContext], Tree | None]

ANY_OPERATOR = node(LogicalOperator)


class FunctionRule(RewriteRule):
    """A rewrite that is one function; made by `rewrite`. Each function has a class of its own, which carries its name."""

    function: ClassVar[Rewrite]

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        return type(self).function(bound, context)

    @classmethod
    def summary(cls) -> str:
        return (cls.__doc__ or "").strip().split("\n", 1)[0]


def rewrite(
    pattern: Pattern = ANY_OPERATOR, *, sweep: Sweep | str | None = None, name: str | None = None
) -> Callable[[Rewrite], RewriteRule]:
    """Makes a function a rule. It is asked about trees that fit `pattern`, and answers with a tree of the same rows in the same
    columns, or None where it does not apply. `sweep`: "up" or "down"; `name`: other than the function's."""
    chosen = None if sweep is None else Sweep(sweep)

    def rule_of(function: Rewrite) -> RewriteRule:
        own = name or function.__name__
        parts = {
            "name": own, "pattern": pattern, "sweep": chosen, "function": staticmethod(function), "__doc__": function.__doc__,
            "__module__": function.__module__,
        }  # fmt: skip
        rule: FunctionRule = type(own, (FunctionRule,), parts)()
        return rule

    return rule_of
