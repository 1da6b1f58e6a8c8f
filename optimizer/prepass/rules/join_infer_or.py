"""What every branch of an OR asks of one relation is asked of that relation first.

    A ⋈((a = 1 ∧ b = 2) ∨ (a = 3 ∧ b = 4)) B  ≡  σ(a = 1 ∨ a = 3)(A) ⋈(...) σ(b = 2 ∨ b = 4)(B)        (TPC-H Q7, Q19)

The OR stays: it says which values go together.

Kinds   an OR of a join predicate: to the right for inner, left, semi, anti, single; to the left for inner, semi, right. An OR
        above a join, in a filter: to the side whose rows reach the output as they are
NULLs   where the OR is TRUE some branch is, and so are all its parts; so what is inferred is TRUE there, and a row of which it is
        not TRUE makes the OR FALSE or UNKNOWN
Rows    a row that goes makes the OR TRUE with no row of the other side
Guards  one relation's columns at a time, as estimates can follow these; every branch has an equality, IN or LIKE among what it
        asks of the relation, since a few ranges together leave out little and cost their test; parts that are volatile or may
        raise say nothing; what is implied by the filters and scans below is not inferred again (`known.settled`)
"""

from collections.abc import Iterator

from optimizer.algebra.columns import ColumnSet, column_ids
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, LogicalOperator
from optimizer.algebra.logical_joins import Join, SingleJoin
from optimizer.algebra.predicates import conjunction, conjuncts, junction, predicate_scalar
from optimizer.algebra.scalars import Call, InList, Predicate, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.known import settled
from optimizer.prepass.openings import JUNCTION
from optimizer.prepass.rules.or_factor import factor_predicate
from optimizer.rules.interface import RuleContext, node, rewrite


@rewrite(node(LogicalOperator), openings=JUNCTION)
def join_infer_or(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree((Join(predicate=predicate) | SingleJoin(predicate)) as join, _) if _has_or(predicate):
            return _narrowed(bound, predicate, join.kind.drops_left, join.kind.drops_right, context)
        case Tree(Filter(predicate), (Tree((Join() | SingleJoin()) as join) as joined,)) if _has_or(predicate):
            to_left, to_right = not join.kind.keeps_right, join.kind in (JoinKind.INNER, JoinKind.RIGHT)
            narrowed = _narrowed(joined, predicate, to_left, to_right, context)
            return None if narrowed is None else Tree(bound.op, (narrowed,))
    return None


def _has_or(predicate: Predicate) -> bool:
    return any(isinstance(s, Call) and s.function == "or" for s in predicate)


def _narrowed(join: Tree, predicate: Predicate, to_left: bool, to_right: bool, context: RuleContext) -> Tree | None:
    """The join with inferred filters on its inputs; None where there is nothing new to say."""
    inputs = list(join.inputs)
    for i, allowed in enumerate((to_left, to_right)):
        if allowed:
            new = list(_inferred(predicate, inputs[i], context))
            if new:
                inputs[i] = Tree(Filter(conjunction(new)), (inputs[i],))
    changed = join.with_inputs(tuple(inputs))
    return None if changed is join else changed


def _inferred(predicate: Predicate, side: Node, context: RuleContext) -> Iterator[Scalar]:
    for conjunct in predicate:
        if isinstance(conjunct, Call) and conjunct.function == "or" and conjunct.columns & side.columns and not conjunct.volatile:
            for relation in _relations(conjunct.columns & side.columns, context):
                if conjunct.columns & ~relation:
                    part = _asked_of(conjunct, relation)
                    for each in factor_predicate((part,)) if part is not None and _picks(part) else ():
                        if not settled(side, each, context.columns):
                            yield each


def _relations(columns: ColumnSet, context: RuleContext) -> list[ColumnSet]:
    """The columns, those of one stored relation together."""
    found: dict[str, ColumnSet] = {}
    for id in column_ids(columns):
        alias = context.columns[id].alias
        if alias:
            found[alias] = found.get(alias, 0) | 1 << id
    return list(found.values())


def _asked_of(scalar: Scalar, columns: ColumnSet) -> Scalar | None:
    """What the scalar, if TRUE, says of `columns` alone; None where that is nothing."""
    if not scalar.columns & ~columns:
        return scalar if scalar.columns and not scalar.volatile and not scalar.raises else None
    if isinstance(scalar, Call) and scalar.function == "or":
        branches = [_asked_of(branch, columns) for branch in scalar.args]
        said = [branch for branch in branches if branch is not None]
        return _either(said) if len(said) == len(branches) else None
    if isinstance(scalar, Call) and scalar.function == "and":
        parts = [part for each in conjuncts(scalar) if (part := _asked_of(each, columns)) is not None]
        return predicate_scalar(conjunction(parts)) if parts else None
    return None


def _picks(scalar: Scalar) -> bool:
    """Whether it asks for few values: an equality, IN or LIKE, in every branch of an OR and in some part of an AND."""
    match scalar:
        case Call(function="or", args=args):
            return all(map(_picks, args))
        case Call(function="and", args=args):
            return any(map(_picks, args))
        case Call(function="=" | "is_not_distinct_from" | "like" | "starts_with" | "is_null") | InList():
            return True
    return False


def _either(branches: list[Scalar]) -> Scalar:
    """The OR of what is left of the branches, nested ORs flattened; a branch that occurs twice is said once."""
    flat: dict[Scalar, None] = {}
    for branch in branches:
        parts = branch.children if isinstance(branch, Call) and branch.function == "or" else (branch,)
        flat.update(dict.fromkeys(parts))
    return junction("or", sorted(flat, key=lambda s: s.text))
