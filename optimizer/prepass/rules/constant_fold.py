"""Expressions without columns become literals; AND and OR lose operands that decide nothing.

    1 + 10  ≡  11        x ∧ TRUE  ≡  x        x ∧ FALSE  ≡  FALSE        x ∨ TRUE  ≡  TRUE        ¬¬x  ≡  x

NULLs   safe: computed by the reference semantics, three-valued; FALSE absorbs even UNKNOWN in AND, TRUE in OR
Guards  volatile calls stay. An expression that raises stays as it is, so that the error comes up only if a row reaches it;
        an operand is dropped by absorption only if it cannot raise
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.logical import Aggregate, AggregateItem, Filter, Join, LogicalOperator, Project, ProjectItem, Scan
from optimizer.algebra.scalars import FALSE, TRUE, AggregateCall, Call, ColumnRef, Literal, Scalar, conjunction, rewrite
from optimizer.algebra.trees import Tree
from optimizer.errors import PlanscopeError
from optimizer.rules.interface import RewriteRule, RuleContext, node


class ConstantFold(RewriteRule):
    name = "constant_fold"
    pattern = node(LogicalOperator)

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        op = bound.op
        folded: LogicalOperator = op
        match op:
            case Filter(predicate) | Join(_, predicate) | Scan(predicate=predicate):
                parts = [fold(s) for s in predicate]
                if any(a is not b for a, b in zip(parts, predicate, strict=True)):
                    folded = replace(op, predicate=conjunction(parts))
            case Project(items):
                folded = Project(tuple(ProjectItem(item.id, fold(item.value)) for item in items))
            case Aggregate(keys, aggregates):
                folded = Aggregate(keys, tuple(AggregateItem(item.id, _fold_call(item.call)) for item in aggregates))
        return None if folded is op or folded == op else Tree(folded, bound.inputs)


@lru_cache(maxsize=4096)  # a conjunct passes through many operators on its way down
def fold(scalar: Scalar) -> Scalar:
    """The scalar with every constant part computed."""
    return rewrite(scalar, _fold_one)


def _fold_call(call: AggregateCall) -> AggregateCall:
    folded = call.with_children(tuple(fold(child) for child in call.children))
    assert isinstance(folded, AggregateCall)
    return folded


def _fold_one(scalar: Scalar) -> Scalar | None:
    if isinstance(scalar, Literal | ColumnRef | AggregateCall):
        return None
    if not scalar.columns and not scalar.volatile and all(isinstance(child, Literal) for child in scalar.children):
        try:
            return Literal(evaluate(scalar, {}), scalar.type)
        except PlanscopeError:
            return None
    if isinstance(scalar, Call) and scalar.function in ("and", "or"):
        return _fold_junction(scalar)
    if isinstance(scalar, Call) and scalar.function == "not":
        inner = scalar.args[0]
        if isinstance(inner, Call) and inner.function == "not":
            return inner.args[0]
    return None


def _fold_junction(scalar: Call) -> Scalar | None:
    absorbing, neutral = (FALSE, TRUE) if scalar.function == "and" else (TRUE, FALSE)
    if absorbing in scalar.args and not any(arg.raises for arg in scalar.args):
        return absorbing
    kept = tuple(arg for arg in scalar.args if arg is not neutral)
    if len(kept) == len(scalar.args):
        return None
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else Call(scalar.function, kept, scalar.type)
