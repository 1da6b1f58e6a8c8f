"""Logical properties of what each operator produces, from those of its inputs.

Functional dependencies travel up with the rows: a subset of the rows keeps them, repeating rows keeps them, and dropping
columns keeps those that can still be said. NULL-extending rows keeps one only if its determinant tells a row that was
extended from one that was not, or cannot differ from such a row in what it determines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set, union
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.nulls import is_not_null, null_rejected
from optimizer.algebra.props import Dependency, LogicalProps, merge_equivalences, minimal_keys
from optimizer.algebra.scalars import Call, ColumnRef, Literal, Predicate, Scalar


def key_dependencies(keys: Iterable[ColumnSet], columns: ColumnSet) -> list[Dependency]:
    """What keys determine, said in a form that survives when rows repeat."""
    return [Dependency(key, columns & ~key) for key in keys if columns & ~key]


def united(dependencies: Iterable[Dependency]) -> tuple[Dependency, ...]:
    """One dependency for each determinant, in canonical order; without those that say nothing."""
    found: dict[ColumnSet, tuple[ColumnSet, ColumnSet]] = {}
    for determinant, dependent, nulls in dependencies:
        known = found.get(determinant, (0, 0))
        found[determinant] = known[0] | dependent, known[1] | nulls
    return tuple([Dependency(a, b & ~a, nulls & ~a) for a, (b, nulls) in sorted(found.items()) if b & ~a])


def filtered_props(below: LogicalProps, predicate: Predicate) -> LogicalProps:
    """Properties of the rows of `below` that satisfy `predicate`."""
    return _side_by_side((below,), predicate, below.keys, below.dependencies) if predicate else below


def _side_by_side(
    inputs: Sequence[LogicalProps], predicate: Predicate, keys: tuple[ColumnSet, ...], dependencies: Sequence[Dependency]
) -> LogicalProps:
    """What holds of rows of all inputs, side by side, that satisfy `predicate`; `dependencies`: of the inputs."""
    columns = not_null = constants = 0
    classes: list[ColumnSet] = []
    for each in inputs:
        columns |= each.columns
        not_null |= each.not_null
        constants |= each.constants
        classes += each.equivalences
    merged, computed = len(classes) if len(inputs) == 1 else -1, list[Dependency]()
    alike = dict[Scalar, ColumnSet]()  # columns that are one literal
    for equal, constant, dependency, rejected, value in map(_told, predicate):
        constants |= constant
        not_null |= rejected & columns
        if value is not None:
            equal = alike[value] = constant | alike.get(value, 0)
        if equal & equal - 1:
            classes.append(equal)
        if dependency is not None:
            computed.append(dependency)
    equivalences = inputs[0].equivalences if len(classes) == merged else merge_equivalences(classes)
    for members in equivalences:
        if members & constants:
            constants |= members
    known = united((*dependencies, *computed)) if computed else tuple(dependencies)
    return LogicalProps(columns, not_null, keys, constants & columns, equivalences, known)


@lru_cache(maxsize=16384)
def _told(conjunct: Scalar) -> tuple[ColumnSet, ColumnSet, Dependency | None, ColumnSet, Literal | None]:
    """Columns that a conjunct says are equal, those that have one value where it is TRUE, what determines a column there, those
    that are not NULL there, and the value, where it is a literal."""
    constant, dependency, rejected, value = 0, None, null_rejected((conjunct,)), None
    if isinstance(conjunct, Call) and conjunct.function in ("=", "is_not_distinct_from"):
        for a, b in (conjunct.args, conjunct.args[::-1]):
            if not isinstance(a, ColumnRef):
                continue
            if isinstance(b, ColumnRef):
                return a.columns | b.columns, 0, None, rejected, None
            if not b.columns:
                constant = 0 if b.volatile else a.columns
                value = b if isinstance(b, Literal) and b.value is not None else None
            elif is_congruent(b):
                dependency = Dependency(b.columns, a.columns)
    return 0, constant, dependency, rejected, value


def projected_props(below: LogicalProps, values: Mapping[ColumnId, Scalar]) -> LogicalProps:
    """Properties of one row for each row of `below`, with the columns of `values`, each computed as it says."""
    columns, known = column_set(values), below.closure(0)
    not_null = constants = 0
    copies: dict[Scalar, ColumnSet] = {}  # what is computed -> output columns that hold it
    for id, value in values.items():
        bit = 1 << id
        if is_not_null(value, below.not_null):
            not_null |= bit
        if not value.columns & ~known and is_congruent(value):
            constants |= bit
        if not value.volatile:
            copies[value] = copies.get(value, 0) | bit
    sources = {value.id: targets for value, targets in copies.items() if isinstance(value, ColumnRef)}
    equivalences = list(copies.values())
    for members in below.equivalences:
        same = 0
        for source, targets in sources.items():
            if members >> source & 1:
                same |= targets
        equivalences.append(same)

    def said(inner: ColumnSet) -> ColumnSet | None:
        """Output columns that hold the input columns `inner`, one for each; None where one is missing."""
        mapped = 0
        for column in column_ids(inner):
            same = below.equivalents(column)
            target = sources.get(column, 0) if same == 1 << column else next((t for s, t in sources.items() if same >> s & 1), 0)
            if not target:
                return None
            mapped |= target & -target
        return mapped

    keys = [mapped for key in below.keys if (mapped := said(key & ~below.constants)) is not None]
    computed = [(value, targets) for value, targets in copies.items() if not isinstance(value, ColumnRef) and is_congruent(value)]
    dependencies = key_dependencies(keys, columns)
    determinants = [determinant for determinant, *_ in below.dependencies]
    determinants += [value.columns for value, _ in computed]
    for determinant in dict.fromkeys(determinants):
        mapped = said(determinant & ~below.constants)
        if mapped:
            determined = below.closure(determinant)
            follows = 0
            for source, targets in sources.items():
                if determined >> source & 1:
                    follows |= targets
            for value, targets in computed:
                if not value.columns & ~determined:
                    follows |= targets
            dependencies.append(Dependency(mapped, follows))
    return LogicalProps(columns, not_null, minimal_keys(keys), constants, merge_equivalences(equivalences), united(dependencies))


def renamed_props(below: LogicalProps, sources: Sequence[ColumnId], columns: Sequence[ColumnId]) -> LogicalProps:
    """Properties of the rows of `below` with column `sources[i]` under the name `columns[i]`, and no others."""
    return projected_props(below, {out: ColumnRef(source, None) for out, source in zip(columns, sources, strict=True)})


def aggregated_props(below: LogicalProps, keys: ColumnSet, aggregates: ColumnSet, counts: ColumnSet) -> LogicalProps:
    """Properties of one row for each combination of `keys`; `counts` are those of `aggregates` that are never NULL."""
    columns = keys | aggregates
    constants = below.closure(0) & keys if keys else columns
    unique = minimal_keys([below.without_determined(keys), *(k for k in below.keys if not k & ~keys)])
    equivalences = merge_equivalences(m & keys for m in below.equivalences)
    dependencies = [*kept_dependencies(below, keys), *key_dependencies(unique, columns)]
    return LogicalProps(columns, below.not_null & keys | counts, unique, constants, equivalences, united(dependencies))


def kept_dependencies(below: LogicalProps, columns: ColumnSet) -> list[Dependency]:
    """The dependencies that can still be said when only `columns` are left."""
    kept = []
    for determinant, *_ in below.dependencies:
        said = 0
        for column in column_ids(determinant & ~below.constants):
            same = below.equivalents(column) & columns
            if not same:
                break
            said |= same & -same
        else:
            kept.append(Dependency(said, below.closure(determinant) & columns))
    return kept


def join_props(kind: JoinKind, predicate: Predicate, left: LogicalProps, right: LogicalProps) -> LogicalProps:
    """Properties of a join's output. An outer join keeps equivalences and constants only of the side it preserves,
    and of the other side those equivalences that hold within it (both columns turn NULL together)."""
    if kind is JoinKind.ANTI:
        return left
    if kind is JoinKind.SEMI:  # what holds of all pairs of rows that match holds of the left ones
        pairs, columns = inner_join_props(predicate, (left, right)), left.columns
        unique = minimal_keys([*left.keys, *(key for key in pairs.keys if not key & ~columns)])
        equivalences = merge_equivalences(members & columns for members in pairs.equivalences)
        kept = united([*kept_dependencies(pairs, columns), *key_dependencies(unique, columns)])
        return LogicalProps(columns, pairs.not_null & columns, unique, pairs.constants & columns, equivalences, kept)
    if kind is JoinKind.INNER:
        return inner_join_props(predicate, (left, right))
    columns = left.columns | right.columns
    equivalences = merge_equivalences(left.equivalences + right.equivalences)
    joined = _side_by_side((left, right), predicate, (), left.dependencies + right.dependencies)
    keys = [a | b for a in left.keys for b in right.keys]
    if joined.unique_on(left.columns, right.keys):
        keys += left.keys
    if joined.unique_on(right.columns, left.keys):
        keys += right.keys
    not_null = (0 if kind.keeps_right else left.not_null) | (0 if kind.keeps_left else right.not_null)
    constants = (0 if kind.keeps_right else left.constants) | (0 if kind.keeps_left else right.constants)
    if kind is JoinKind.FULL:
        # unmatched rows of the two sides must not look alike: one key must be able to tell itself from all NULL
        keys = [a | b for a in left.keys for b in right.keys if a & left.not_null or b & right.not_null]
    elif kind is JoinKind.LEFT:
        keys = [k for k in keys if k & left.columns or left.at_most_one_row]
    else:
        keys = [k for k in keys if k & right.columns or right.at_most_one_row]
    unique = minimal_keys(keys)
    dependencies = [*outer_dependencies(kind, predicate, left, right), *key_dependencies(unique, columns)]
    return LogicalProps(columns, not_null, unique, constants, equivalences, united(dependencies))


def inner_join_props(predicate: Predicate, inputs: Sequence[LogicalProps]) -> LogicalProps:
    """Properties of the inner join of all inputs. A key of some of them is one of them and another where either's columns
    determine a key of the other: it tells the rows of both apart, since the predicate and all inputs' dependencies hold of every
    row that is left."""
    joined = _side_by_side(inputs, predicate, (), [dependency for each in inputs for dependency in each.dependencies])
    first, *others = inputs
    known, keys = first.columns, first.keys
    for each in others:
        found: list[ColumnSet] = []
        if keys and each.keys:
            known = joined.closure(known)
            found += keys if any(not key & ~known for key in each.keys) else ()
            found += each.keys if joined.unique_on(each.columns, keys) else ()
        keys = minimal_keys(found or [a | b for a in keys for b in each.keys])
        known |= each.columns
    return LogicalProps(joined.columns, joined.not_null, keys, joined.constants, joined.equivalences, joined.dependencies)


def matching_props(predicate: Predicate, *inputs: LogicalProps) -> LogicalProps:
    """What holds of the rows, side by side, that satisfy a join predicate, without keys and the dependencies of the inputs."""
    return _side_by_side(inputs, predicate, (), ())


def outer_dependencies(kind: JoinKind, predicate: Predicate, left: LogicalProps, right: LogicalProps) -> list[Dependency]:
    """What an outer join keeps of its inputs' dependencies, and those that its equalities add.

    A side that is not NULL-extended keeps its own. Of an extended side one is kept if its determinant has a column that is
    not NULL in any row that was not extended: two rows that agree on it are then both extended (and all NULL), or neither; or
    for what is NULL anyhow where the determinant is.
    On one side only, an equality adds a dependency: whether a kept row finds matches is decided by its columns in the
    predicate, and rows that agree on these agree on what the other side's columns are equal to. These are NULL where the kept
    row's are, without a match or with one.
    """
    found: list[Dependency] = []
    rejected = null_rejected(predicate)
    for side, other, extended, whole in (
        (left, right, kind.keeps_right, kind.keeps_left),
        (right, left, kind.keeps_left, kind.keeps_right),
    ):
        if not extended:
            found += side.dependencies
            found += _matched_dependencies(predicate, side, other)
            continue
        # rows of a side that is kept whole appear without a match too, where the predicate says nothing of them
        never_null = side.not_null if whole else side.not_null | rejected & side.columns
        for determinant, dependent, nulls in side.dependencies:
            kept = dependent if determinant & never_null else nulls
            if kept:
                found.append(Dependency(determinant, kept, kept))
        if side.constants:
            found += [Dependency(1 << c, side.constants, side.constants) for c in column_ids(never_null & rejected)]
    return found


def _matched_dependencies(predicate: Predicate, kept: LogicalProps, other: LogicalProps) -> list[Dependency]:
    """Columns of the NULL-extended side that an equality of the predicate ties to the kept side's."""
    pairs = []
    deciding = 0
    for conjunct in predicate:
        if isinstance(conjunct, Call) and conjunct.function in ("=", "is_not_distinct_from"):
            a, b = conjunct.args
            if isinstance(a, ColumnRef) and isinstance(b, ColumnRef):
                if a.columns & other.columns:
                    a, b = b, a
                if a.columns & kept.columns and b.columns & other.columns:
                    pairs.append(b.columns)
                    deciding |= a.columns
                    continue
        if conjunct.volatile or conjunct.columns & kept.columns:
            return []  # it may tell kept rows apart that these columns do not
    return [Dependency(deciding, union(pairs), union(pairs))] if pairs else []


def kept_props(below: LogicalProps, columns: ColumnSet) -> LogicalProps:
    """Properties of the rows of `below` when only `columns` of it are kept."""
    return below if columns == below.columns else renamed_props(below, ids := list(column_ids(columns)), ids)


def marked_props(predicate: Predicate, mark: ColumnId, left: LogicalProps, right: LogicalProps) -> LogicalProps:
    """Properties of the left rows with a mark, which is never NULL where the predicate cannot be."""
    known = left.not_null | right.not_null
    never = all(is_not_null(conjunct, known) for conjunct in predicate)
    not_null = left.not_null | (1 << mark if never else 0)
    return LogicalProps(
        left.columns | 1 << mark, not_null, left.keys, left.constants, left.equivalences,
        united((*left.dependencies, *key_dependencies(left.keys, left.columns | 1 << mark))),
    )  # fmt: skip


def single_props(predicate: Predicate, left: LogicalProps, right: LogicalProps) -> LogicalProps:
    """Properties of a left outer join in which every left row comes once."""
    joined = join_props(JoinKind.LEFT, predicate, left, right)
    dependencies = united((*joined.dependencies, *key_dependencies(left.keys, joined.columns)))
    return LogicalProps(joined.columns, joined.not_null, left.keys, joined.constants, joined.equivalences, dependencies)


def applied_props(
    kind: JoinKind, predicate: Predicate, mark: ColumnId | None, left: LogicalProps, right: LogicalProps
) -> LogicalProps:
    """Properties of an Apply. Those of the right hold within one evaluation of it, so its constants, dependencies and keys say
    nothing across left rows; what holds of each row by itself (NULLs, equal columns) stays."""
    each = LogicalProps(right.columns, right.not_null, (), 0, right.equivalences)
    if kind is JoinKind.MARK:
        assert mark is not None, "a mark apply has a mark column"
        return marked_props(predicate, mark, left, each)
    if kind.left_only:
        return join_props(kind, predicate, left, each)
    if kind is JoinKind.INNER:
        joined = join_props(kind, predicate, left, each)
    else:  # whether a left row has a match depends on all that the right input reads, not on the predicate alone
        equivalences = merge_equivalences([*left.equivalences, *right.equivalences])
        joined = LogicalProps(left.columns | right.columns, left.not_null, (), left.constants, equivalences, left.dependencies)
    keys = [a | b for a in left.keys for b in right.keys]
    if kind is JoinKind.SINGLE or right.at_most_one_row:
        keys += left.keys
    unique = minimal_keys(keys)
    dependencies = united((*joined.dependencies, *key_dependencies(unique, joined.columns)))
    return LogicalProps(joined.columns, joined.not_null, unique, joined.constants, joined.equivalences, dependencies)
