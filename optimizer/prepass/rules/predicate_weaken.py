"""Where only TRUE counts, FALSE and UNKNOWN are one: filters, join predicates, conditions of CASE, FILTER of aggregates.

    NULL → FALSE        x = x → x IS NOT NULL        x < x → FALSE        x IS NOT DISTINCT FROM 5 → x = 5        p ∧ ¬p → FALSE
    x IN (1, NULL) → x IN (1)        x NOT IN (1, NULL) → FALSE        x > 5 ∧ x < 3 → FALSE        x < 5 ∨ x >= 5 → x IS NOT NULL
    COALESCE(p, FALSE) → p        COALESCE(x, 0) = 5 → x = 5        CASE WHEN p THEN q ELSE FALSE END → p ∧ q
    CAST(x AS BIGINT) > 3000000000 → FALSE, of an INTEGER x        x LIKE '%' → x IS NOT NULL

a → b: b is TRUE in the same rows as a, and may be FALSE where a is UNKNOWN, or the other way round. This goes down through AND
and OR, which are TRUE by the TRUE of their operands alone, and through NOT where the operand keeps the rows in which it is FALSE.

Kinds   the predicates of filters, scans, and joins of every kind but mark joins, whose mark shows UNKNOWN
NULLs   as said; wrong anywhere else, so no other rule does any of it
Guards  what is left out is plain; a CASE becomes AND and OR only if nothing in it raises, and of few branches
"""

from functools import lru_cache

from optimizer.algebra.functions import COMPARISONS
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, LogicalOperator, Scan
from optimizer.algebra.logical_joins import Apply, Join, SingleJoin
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.predicates import junction
from optimizer.algebra.scalar_trees import rewrite as rewrite_scalar
from optimizer.algebra.scalar_trees import walk
from optimizer.algebra.scalars import (
    BOOL,
    FALSE,
    TRUE,
    AggregateCall,
    Call,
    Case,
    ColumnRef,
    InList,
    Literal,
    Predicate,
    Scalar,
    WindowCall,
    is_null_literal,
)
from optimizer.algebra.trees import Tree
from optimizer.prepass.comparison_sets import compared, opposite, put_together
from optimizer.prepass.monotone_comparison import Outcome, of_column
from optimizer.prepass.openings import CHOICE, COMPUTED, CONSTANT, JUNCTION, LIKE, TEST, openings
from optimizer.prepass.rules.constant_fold import constant_fold
from optimizer.prepass.scalar_rewrite import changed, plain
from optimizer.rules.interface import RuleContext, node, rewrite

_OPENINGS = CONSTANT | JUNCTION | TEST | CHOICE | LIKE | COMPUTED
MOST_BRANCHES = 20  # of a CASE that becomes AND and OR


@rewrite(node(LogicalOperator), openings=_OPENINGS)
def predicate_weaken(bound: Tree, context: RuleContext) -> Tree | None:
    op = bound.op
    predicate = filtering(op)
    weaker = _conditions_weakened if predicate is None else _conjunct_weakened
    for scalar in op.scalars() if predicate is None else predicate:
        if openings(scalar) & _OPENINGS and weaker(scalar) is not scalar:
            return changed(bound, weaker)
    return None


def filtering(op: LogicalOperator) -> Predicate | None:
    """The predicate of an operator that asks only where it is TRUE; None: it has no such predicate."""
    if isinstance(op, Filter | Scan | Join | SingleJoin) or (isinstance(op, Apply) and op.kind is not JoinKind.MARK):
        return op.predicate
    return None


@lru_cache(maxsize=8192)
def _conditions_weakened(scalar: Scalar) -> Scalar:
    """The scalar with the conditions inside it weakened: those are asked only whether they are TRUE, wherever it stands."""
    return rewrite_scalar(scalar, _conditions) if scalar.children else scalar


def _conditions(part: Scalar) -> Scalar | None:
    if isinstance(part, Case):
        return Case(tuple((weakened(condition), value) for condition, value in part.branches), part.otherwise, part.type)
    if isinstance(part, AggregateCall) and part.filter is not None:
        return AggregateCall(part.function, part.args, part.distinct, weakened(part.filter), part.type)
    if isinstance(part, WindowCall) and part.filter is not None:
        return part.with_children((*part.args, weakened(part.filter)))
    return None


@lru_cache(maxsize=8192)
def _conjunct_weakened(scalar: Scalar) -> Scalar:
    return weakened(_conditions_weakened(scalar))


@lru_cache(maxsize=8192)
def weakened(scalar: Scalar) -> Scalar:
    """A scalar that is TRUE in the same rows."""
    match scalar:
        case Literal(value=None):
            return FALSE
        case Call(function="and" | "or"):
            return _junction(scalar)
        case Call(function="not", args=(arg,)):
            return _negation(scalar, arg)
        case Call(function="is_not_distinct_from", args=(a, b)) if is_not_null(a, 0) or is_not_null(b, 0):
            return Call("=", (a, b), BOOL)
        case Call(function="coalesce", args=args) if args[-1] is FALSE and not _shelters(args[0]):
            return weakened(args[0] if len(args) == 2 else Call("coalesce", args[:-1], BOOL))
        case Call(function=function) if function in COMPARISONS:
            return _comparison(scalar)
        case Call(function="like" | "ilike" | "starts_with" as function, args=(text, Literal(value=pattern))):
            return Call("is_not_null", (text,), BOOL) if pattern == ("" if function == "starts_with" else "%") else scalar
        case InList(arg=arg, items=items):
            return _in_list(scalar, arg, items)
        case Case() if plain(scalar):
            return _case(scalar)
    return scalar


def _junction(call: Call) -> Scalar:
    args = tuple(dict.fromkeys(map(weakened, call.args))) if not call.volatile else tuple(map(weakened, call.args))
    if call.function == "and":
        together = intersected(args)
        if together is None:
            return FALSE
        args = together
    else:
        sets = put_together("or", args)
        if sets is not None:
            args = sets.operands
            if sets.decided:
                args = _known_values(args, sets.decided)
    if args == call.args:
        return call
    return args[0] if len(args) == 1 else constant_fold.simplify(Call(call.function, args, BOOL))


def intersected(args: tuple[Scalar, ...]) -> tuple[Scalar, ...] | None:
    """Operands of an AND, fewer where some say the same together; None if they are never all TRUE.

    Those that are not plain are left out then: they are evaluated only where the plain ones are TRUE.
    """
    tests = [arg for arg in args if plain(arg)]
    if FALSE in tests or any(opposite(test) in tests for test in tests):
        return None
    sets = put_together("and", args)
    if sets is None:
        return args
    return None if sets.decided else sets.operands


def _known_values(args: tuple[Scalar, ...], decided: tuple[tuple[Scalar, ...], ...]) -> tuple[Scalar, ...]:
    """Operands of an OR where the comparisons of some terms are TRUE of all values: they say that the terms are not NULL."""
    for terms in decided:
        tests = tuple(Call("is_not_null", (term,), BOOL) for term in terms)
        args = (*(arg for arg in args if compared(arg) != terms), junction("and", tests))
    return tuple(dict.fromkeys(args))


def _shelters(scalar: Scalar) -> bool:
    """Whether it is an AND whose order keeps rows from what may raise: conjuncts of a predicate have none."""
    return isinstance(scalar, Call) and scalar.function == "and" and sum(arg.raises for arg in scalar.args) > 1


def _negation(scalar: Scalar, arg: Scalar) -> Scalar:
    """NOT is TRUE where its operand is FALSE: UNKNOWN and TRUE are one in it."""
    match arg:
        case InList(items=items) if any(is_null_literal(item) for item in items) and plain(arg):
            return FALSE
        case Call(function="coalesce", args=args) if args[-1] is TRUE:
            return weakened(Call("not", (args[0] if len(args) == 2 else Call("coalesce", args[:-1], BOOL),), BOOL))
        case Case(branches=branches, otherwise=otherwise) if plain(arg):
            negated = tuple((condition, _not(value)) for condition, value in branches)
            whole = _case(Case(negated, _not(otherwise), BOOL))
            return scalar if isinstance(whole, Case) else whole
    return scalar


def _not(scalar: Scalar) -> Scalar:
    return constant_fold.simplify(Call("not", (scalar,), BOOL))


def _comparison(call: Call) -> Scalar:
    a, b = call.args
    if a is b and plain(a):
        return Call("is_not_null", (a,), BOOL) if call.function in ("=", "<=", ">=") else FALSE
    if isinstance(b, Literal):
        found = of_column(call)
        if isinstance(found, Outcome):
            return Call("is_not_null", (_column_of(a),), BOOL) if found is Outcome.ALWAYS else FALSE
        if b.value is True or b.value is False:
            certain = (call.function, b.value) in ((">=", False), ("<=", True))
            impossible = (call.function, b.value) in (("<", False), (">", True))
            if plain(a) and (certain or impossible):
                return Call("is_not_null", (a,), BOOL) if certain else FALSE
        if isinstance(a, Call) and a.function == "coalesce" and isinstance(a.args[-1], Literal) and b.value is not None:
            instead = constant_fold.simplify(Call(call.function, (a.args[-1], b), BOOL))
            first = a.args[0] if len(a.args) == 2 else Call("coalesce", a.args[:-1], a.type)
            if isinstance(instead, Literal) and instead.value is not True and first.type == b.type:
                return weakened(Call(call.function, (first, b), BOOL))
    return call


def _column_of(scalar: Scalar) -> Scalar:
    """The column that a monotone expression is of."""
    return next(part for part in walk(scalar) if isinstance(part, ColumnRef))


def _in_list(scalar: Scalar, arg: Scalar, items: tuple[Scalar, ...]) -> Scalar:
    kept = tuple(item for item in items if not is_null_literal(item))
    if not kept:
        return FALSE if plain(scalar) else scalar
    if len(kept) < len(items):
        return Call("=", (arg, kept[0]), BOOL) if len(kept) == 1 else InList(arg, kept)
    return FALSE if of_column(scalar) is Outcome.NEVER else scalar


def _case(case: Case) -> Scalar:
    """CASE as AND and OR, as long as each branch says just whether its condition, or nothing but it, is enough. Of many branches
    it stays as it is: each would be nested in the one before."""
    if len(case.branches) > MOST_BRANCHES:
        return case
    result = weakened(case.otherwise)
    for condition, value in reversed(case.branches):
        value = weakened(value)
        if value is TRUE:
            result = condition if result is FALSE else TRUE if result is TRUE else Call("or", (condition, result), BOOL)
        elif value is FALSE:
            if result is not FALSE:
                untrue = Call("is_distinct_from", (condition, TRUE), BOOL)
                result = untrue if result is TRUE else Call("and", (untrue, result), BOOL)
        elif result is FALSE:
            result = Call("and", (condition, value), BOOL)
        else:
            return case
    return result
