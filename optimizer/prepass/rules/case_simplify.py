"""CASE, COALESCE, GREATEST and LEAST without the branches and arguments that cannot be chosen.

    CASE WHEN TRUE THEN x …  ≡  x        CASE WHEN FALSE THEN x ELSE y END  ≡  y        CASE WHEN p THEN x ELSE x END  ≡  x
    CASE WHEN p THEN x ELSE CASE WHEN q THEN y ELSE z END END  ≡  CASE WHEN p THEN x WHEN q THEN y ELSE z END
    CASE WHEN p THEN 1 ELSE 2 END = 1  ≡  CASE WHEN p THEN TRUE ELSE FALSE END        COALESCE(NULL, x, x) ≡ x

A function whose other arguments are constants moves into a CASE whose results are all constants, and is computed there.

NULLs   exact: a condition that is FALSE or UNKNOWN chooses nothing
Guards  a condition goes only if it is plain, or stands behind a branch that is always taken; two volatile conditions or results
        that read the same are two. Where the function raises on one of the constant results the CASE stays as it is
"""

from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.predicates import junction
from optimizer.algebra.scalars import TRUE, Call, Case, Cast, InList, Literal, Scalar, is_null_literal
from optimizer.errors import PlanscopeError
from optimizer.prepass.openings import CHOICE
from optimizer.prepass.scalar_rewrite import plain, scalar_rewrite


@scalar_rewrite(CHOICE)
def case_simplify(scalar: Scalar) -> Scalar | None:
    if isinstance(scalar, Case):
        return _case(scalar)
    if isinstance(scalar, Call):
        if scalar.function in ("coalesce", "greatest", "least"):
            return _of_arguments(scalar)
    if isinstance(scalar, Call | Cast | InList):
        return _over_case(scalar)
    return None


def _case(case: Case) -> Scalar | None:
    runs: list[tuple[list[Scalar], Scalar]] = []  # conditions one after the other that choose one value
    otherwise = case.otherwise
    tested: set[Scalar] = set()
    for condition, value in case.branches:
        if condition is TRUE:
            otherwise = value
            break
        if (isinstance(condition, Literal) and condition.value is not True) or (condition in tested and not condition.volatile):
            continue
        if isinstance(value, Case) and not condition.volatile:
            value = _known(value, frozenset((condition,)), frozenset(tested))
        if not (runs and runs[-1][1] is value and not value.volatile):
            runs.append(([], value))
        runs[-1][0].append(condition)
        tested.add(condition)
    branches = [(junction("or", conditions), value) for conditions, value in runs]
    if isinstance(otherwise, Case):
        if otherwise.type == case.type:
            branches += otherwise.branches
            otherwise = otherwise.otherwise
    while branches and branches[-1][1] is otherwise and not otherwise.volatile and plain(branches[-1][0]):
        branches.pop()
    if not branches:
        return otherwise
    result = Case(tuple(branches), otherwise, case.type)
    return None if result is case else result


def _known(case: Case, true: frozenset[Scalar], not_true: frozenset[Scalar]) -> Scalar:
    """The value of a CASE where the conditions `true` are TRUE and those of `not_true` are not."""
    branches = []
    otherwise = case.otherwise
    for condition, value in case.branches:
        if condition in true:
            otherwise = value
            break
        if condition not in not_true or condition.volatile:
            branches.append((condition, value))
    return Case(tuple(branches), otherwise, case.type) if branches else otherwise


def _of_arguments(call: Call) -> Scalar | None:
    kept: list[Scalar] = []
    for arg in call.args:
        nested = isinstance(arg, Call) and arg.function == call.function == "coalesce"
        kept += (p for p in (arg.children if nested else (arg,)) if not is_null_literal(p) and (p.volatile or p not in kept))
    if call.function == "coalesce":
        for i, part in enumerate(kept):
            if is_not_null(part, 0):
                del kept[i + 1 :]  # what comes after it is never evaluated
                break
    if not kept:
        return Literal(None, call.type)
    if len(kept) == 1 and kept[0].type == call.type:
        return kept[0]
    return Call(call.function, tuple(kept), call.type) if tuple(kept) != call.args else None


def _over_case(scalar: Scalar) -> Scalar | None:
    """f(CASE WHEN p THEN constant …) with f computed of the constants."""
    cases = [child for child in scalar.children if not isinstance(child, Literal)]
    if len(cases) != 1 or not isinstance(cases[0], Case) or scalar.volatile:
        return None
    case = cases[0]
    results = (*(value for _, value in case.branches), case.otherwise)
    if not all(isinstance(result, Literal) for result in results):
        return None
    try:
        over = [scalar.with_children(tuple(result if c is case else c for c in scalar.children)) for result in results]
        computed = [Literal(evaluate(each, {}), scalar.type) for each in over]
    except PlanscopeError:
        return None
    conditions = (condition for condition, _ in case.branches)
    return Case(tuple(zip(conditions, computed[:-1], strict=True)), computed[-1], scalar.type)
