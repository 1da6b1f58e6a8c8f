"""Predicates: tuples of conjuncts in canonical order, the empty tuple being TRUE; how they are made and taken apart."""

from collections.abc import Iterable, Iterator, Sequence

from optimizer.algebra.columns import ColumnSet, union
from optimizer.algebra.functions import MIRRORED
from optimizer.algebra.scalars import BOOL, TRUE, Call, ColumnRef, Literal, Predicate, Scalar


def conjuncts(scalar: Scalar) -> Iterator[Scalar]:
    """The operands of a tree of ANDs, without TRUE."""
    for part in walk_and(scalar):
        if part is not TRUE:
            yield part


def walk_and(scalar: Scalar) -> Iterator[Scalar]:
    stack = [scalar]
    while stack:
        current = stack.pop()
        if isinstance(current, Call) and current.function == "and":
            stack.extend(reversed(current.args))
        else:
            yield current


def conjunction(scalars: Iterable[Scalar]) -> Predicate:
    """A predicate in canonical form: ANDs flattened, TRUE and duplicates dropped, sorted by canonical text.

    A volatile conjunct is kept as often as it was written.
    """
    seen: dict[Scalar, None] = {}
    repeated: list[Scalar] = []
    for scalar in scalars:
        for part in conjuncts(scalar):
            if part in seen and part.volatile:
                repeated.append(part)
            seen[part] = None
    return tuple(sorted([*seen, *repeated], key=_canonical))


def combined(conjuncts: Iterable[Scalar]) -> Predicate:
    """Like `conjunction`, for scalars that are conjuncts of predicates already: nothing to flatten, none volatile."""
    return tuple(sorted(dict.fromkeys(conjuncts), key=_canonical))


def _canonical(scalar: Scalar) -> str:
    return scalar._text or scalar.text


def predicate_scalar(predicate: Predicate) -> Scalar:
    """The predicate as one boolean scalar."""
    return junction("and", predicate) if predicate else TRUE


def junction(function: str, operands: Sequence[Scalar]) -> Scalar:
    """The AND or the OR of one operand or more."""
    return operands[0] if len(operands) == 1 else Call(function, tuple(operands), BOOL)


def predicate_columns(predicate: Predicate) -> ColumnSet:
    return union(scalar.columns for scalar in predicate)


def compare(function: str, left: Scalar, right: Scalar) -> Scalar:
    """A comparison with its operands in canonical order, so that `a = b` and `b = a` are one scalar."""
    assert left.type == right.type, f"{function} compares {left.type} with {right.type}: a cast is missing"
    literals = isinstance(left, Literal), isinstance(right, Literal)
    if literals == (True, False) or (literals[0] == literals[1] and right.text < left.text):
        left, right, function = right, left, MIRRORED.get(function, function)
    return Call(function, (left, right), BOOL)


def equality_sides(scalar: Scalar, left: ColumnSet, right: ColumnSet) -> tuple[Scalar, Scalar] | None:
    """(l, r) when `scalar` is an equality of a scalar over `left` columns and one over `right` columns, else None."""
    return _sides(scalar, left, right) if isinstance(scalar, Call) and scalar.function == "=" else None


def comparison_sides(scalar: Scalar, left: ColumnSet, right: ColumnSet) -> tuple[str, Scalar, Scalar] | None:
    """(f, l, r) when `scalar` is a comparison f(l, r) of a scalar over `left` columns and one over `right` columns, else None."""
    if not isinstance(scalar, Call) or scalar.function not in MIRRORED:
        return None
    sides = _sides(scalar, left, right)
    if sides is None:
        return None
    return scalar.function if sides[0] is scalar.args[0] else MIRRORED[scalar.function], *sides


def equated(predicate: Predicate, left: ColumnSet, right: ColumnSet) -> ColumnSet:
    """The `right` columns that the predicate equates with something of `left`."""
    columns = 0
    for conjunct in predicate:
        match equality_sides(conjunct, left, right):
            case _, ColumnRef() as column:
                columns |= column.columns
    return columns


def key_sides(scalar: Scalar, left: ColumnSet, right: ColumnSet) -> tuple[Scalar, Scalar] | None:
    """As `equality_sides`, also for IS NOT DISTINCT FROM."""
    return _sides(scalar, left, right) if isinstance(scalar, Call) and is_key(scalar) else None


def is_key(scalar: Scalar) -> bool:
    """Whether it compares for equality, by = or, NULLs being equal, by IS NOT DISTINCT FROM."""
    return isinstance(scalar, Call) and scalar.function in ("=", "is_not_distinct_from")


def _sides(scalar: Call, left: ColumnSet, right: ColumnSet) -> tuple[Scalar, Scalar] | None:
    a, b = scalar.args
    if a.columns and b.columns:
        if not a.columns & ~left and not b.columns & ~right:
            return a, b
        if not a.columns & ~right and not b.columns & ~left:
            return b, a
    return None


def rows_compared(function: str, left: Sequence[Scalar], right: Sequence[Scalar]) -> Scalar:
    """`left function right` of two rows of one length, three-valued; TRUE for rows without columns.

    As the standard (SQL:2016, part 2, 8.2) and PostgreSQL have it: columns are compared in order, and a NULL makes the result
    UNKNOWN unless other columns decide it. To DuckDB a row is one value, in which NULL equals NULL and is the greatest.

    =   all are equal            <>  some differ
    <   a₁ < b₁ ∨ (a₁ = b₁ ∧ (a₂ < b₂ ∨ ...)), and likewise <=, which compares the last columns by <=
    """
    pairs = list(zip(left, right, strict=True))
    match function:
        case "=" | "is_not_distinct_from":
            return junction("and", [compare(function, a, b) for a, b in pairs]) if pairs else TRUE
        case "<>" | "is_distinct_from":
            return junction("or", [compare(function, a, b) for a, b in pairs])
    decided = []
    for i, (a, b) in enumerate(pairs):
        last = i == len(pairs) - 1
        differ = compare(function if last else function[0], a, b)
        decided.append(junction("and", [*(compare("=", c, d) for c, d in pairs[:i]), differ]))
    return junction("or", decided)
