"""A conjunct that every branch of an OR contains moves out of it.

    (a ∧ b) ∨ (a ∧ c)  ≡  a ∧ (b ∨ c)        (a ∧ b) ∨ a  ≡  a

So a join equality that is written into every branch (TPC-H Q19) becomes usable as a join key.

NULLs   safe: AND distributes over OR in three-valued logic, and absorption holds in it
Guards  a volatile conjunct is not common to two branches, even when it reads the same; one that may raise stays where another
        that may is, which can keep rows from it
"""

from dataclasses import replace

from optimizer.algebra.logical import Filter, LogicalOperator, Scan
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import conjunction, conjuncts, predicate_scalar
from optimizer.algebra.scalars import BOOL, Call, Predicate, Scalar
from optimizer.algebra.trees import Tree
from optimizer.prepass.openings import JUNCTION
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(node(LogicalOperator), openings=JUNCTION)
def or_factor(bound: Tree, context: RuleContext) -> Tree | None:
    op = bound.op
    if not isinstance(op, Filter | Join | Scan) or not any(isinstance(s, Call) and s.function == "or" for s in op.predicate):
        return None
    factored = factor_predicate(op.predicate)
    return None if factored == op.predicate else Tree(replace(op, predicate=factored), bound.inputs)


def factor_predicate(predicate: Predicate) -> Predicate:
    """The predicate with common conjuncts taken out of its ORs."""
    return conjunction(part for conjunct in predicate for part in _factor(conjunct))


def _factor(scalar: Scalar) -> list[Scalar]:
    if not isinstance(scalar, Call) or scalar.function != "or":
        return [scalar]
    branches = [list(conjuncts(arg)) for arg in scalar.args]
    common = [s for s in branches[0] if not s.volatile and all(s in other for other in branches[1:])]
    if sum(s.raises for s in dict.fromkeys(s for branch in branches for s in branch)) > 1:
        common = [s for s in common if not s.raises]
    if not common:
        return [scalar]
    rests = [conjunction(s for s in branch if s not in common) for branch in branches]
    if not all(rests):  # a branch that has nothing else: the OR is TRUE wherever the common part is
        return common
    return [*common, Call("or", tuple(predicate_scalar(rest) for rest in rests), BOOL)]
