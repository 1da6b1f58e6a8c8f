"""Expressions over columns that are never NULL need not provide for NULL.

    x IS NULL ≡ FALSE        x IS NOT NULL ≡ TRUE        x IS DISTINCT FROM y ≡ x <> y        COALESCE(x, y) ≡ x
    x = x ≡ TRUE        x < x ≡ FALSE        p ∧ ¬p ≡ FALSE        x > 5 ∧ x < 3 ≡ FALSE        x LIKE '%' ≡ TRUE
    CASE WHEN p THEN TRUE ELSE FALSE END ≡ p        CASE WHEN p THEN FALSE ELSE TRUE END ≡ ¬p

with x and p never NULL (and y, for DISTINCT FROM): by the input's properties, where keys, earlier predicates and outer joins have
left their mark.

NULLs   that is the point; a predicate of an outer join is evaluated for pairs of rows of its inputs, before any is NULL-extended
Guards  what is left out is plain, but for arguments of COALESCE that are never evaluated
"""

from functools import lru_cache

from optimizer.algebra.columns import ColumnSet, column_set, union
from optimizer.algebra.functions import COMPARISONS
from optimizer.algebra.logical import LogicalOperator, Scan
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.scalar_trees import rewrite as rewrite_scalar
from optimizer.algebra.scalar_trees import walk
from optimizer.algebra.scalars import BOOL, FALSE, TRUE, Call, Case, Literal, Scalar
from optimizer.algebra.trees import Tree
from optimizer.prepass.comparison_sets import opposite, put_together
from optimizer.prepass.openings import CHOICE, JUNCTION, LIKE, TEST, openings
from optimizer.prepass.scalar_rewrite import changed, plain
from optimizer.rules.interface import RuleContext, node, rewrite

_OPENINGS = JUNCTION | TEST | CHOICE | LIKE
_TESTS = frozenset(("is_null", "is_not_null", "is_distinct_from", "is_not_distinct_from", "coalesce"))
_OF_ITSELF = {"=": TRUE, "<=": TRUE, ">=": TRUE, "<>": FALSE, "<": FALSE, ">": FALSE}


@rewrite(node(LogicalOperator), openings=_OPENINGS)
def not_null_simplify(bound: Tree, context: RuleContext) -> Tree | None:
    scalars = bound.op.scalars()
    if not any(map(_asks, scalars)):
        return None
    known = _never_null(bound)
    if all(simplified(scalar, known & scalar.columns) is scalar for scalar in scalars):
        return None
    return changed(bound, lambda scalar: simplified(scalar, known & scalar.columns))


def _never_null(bound: Tree) -> ColumnSet:
    """The columns that are not NULL in any row the operator's scalars are evaluated for."""
    if isinstance(bound.op, Scan):
        return bound.op.not_null & column_set(c.id for c in bound.op.columns)
    return union(each.props.not_null for each in bound.inputs)


@lru_cache(maxsize=8192)
def _asks(scalar: Scalar) -> bool:
    """Whether it would help to know that a column is not NULL: cheaper to see than the properties of the inputs."""
    return bool(openings(scalar) & _OPENINGS) and any(_may_gain(part) for part in walk(scalar))


def _may_gain(part: Scalar) -> bool:
    if isinstance(part, Case):
        return _as_condition(part) is not None
    if not isinstance(part, Call):
        return False
    if part.function in ("and", "or"):
        return _decided(part, (1 << part.columns.bit_length()) - 1)
    return part.function in _TESTS or (len(part.args) == 2 and part.args[0] is part.args[1]) or _holds_for_any_text(part)


@lru_cache(maxsize=8192)
def simplified(scalar: Scalar, not_null: ColumnSet) -> Scalar:
    """The scalar where the columns of `not_null` are not NULL."""
    return rewrite_scalar(scalar, lambda part: _one(part, not_null))


def _one(part: Scalar, not_null: ColumnSet) -> Scalar | None:
    if isinstance(part, Case):
        condition = _as_condition(part)
        return condition if condition is not None and is_not_null(condition, not_null) else None
    if not isinstance(part, Call):
        return None
    match part.function, part.args:
        case "is_null" | "is_not_null" as function, (arg,):
            if plain(arg) and is_not_null(arg, not_null):
                return FALSE if function == "is_null" else TRUE
        case "is_distinct_from" | "is_not_distinct_from" as function, (a, b):
            if is_not_null(a, not_null) and is_not_null(b, not_null):
                return Call("<>" if function == "is_distinct_from" else "=", (a, b), BOOL)
        case "coalesce", args:
            for i, arg in enumerate(args):
                if is_not_null(arg, not_null):
                    if i == 0 and arg.type == part.type:
                        return arg
                    return Call("coalesce", args[: i + 1], part.type) if 0 < i < len(args) - 1 else None
        case "and" | "or" as function, _:
            if _decided(part, not_null):
                return FALSE if function == "and" else TRUE
        case function, (a, b) if a is b and function in COMPARISONS:
            if plain(a) and is_not_null(a, not_null):
                return _OF_ITSELF[function]
        case _ if _holds_for_any_text(part) and plain(part.args[0]) and is_not_null(part.args[0], not_null):
            return TRUE
    return None


def _decided(junction: Call, not_null: ColumnSet) -> bool:
    """Whether operands that are never NULL exclude each other (AND), or leave nothing out (OR)."""
    args = junction.args
    if not all(map(plain, args)):
        return False
    if any(opposite(arg) in args and is_not_null(arg, not_null) for arg in args):
        return True
    sets = put_together(junction.function, args)
    return sets is not None and any(all(is_not_null(term, not_null) for term in terms) for terms in sets.decided)


def _as_condition(case: Case) -> Scalar | None:
    """p of CASE WHEN p THEN TRUE ELSE FALSE END, or its negation where the results are exchanged."""
    if len(case.branches) == 1:
        condition, value = case.branches[0]
        if value is TRUE and case.otherwise is FALSE:
            return condition
        if value is FALSE and case.otherwise is TRUE:
            return Call("not", (condition,), BOOL)
    return None


def _holds_for_any_text(call: Call) -> bool:
    """Whether it is TRUE of every string."""
    if call.function not in ("like", "ilike", "starts_with") or len(call.args) != 2:
        return False
    pattern = call.args[1]
    return isinstance(pattern, Literal) and pattern.value == ("" if call.function == "starts_with" else "%")
