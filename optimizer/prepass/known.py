"""What filters and scans below say of columns, and whether that implies a predicate.

Inference asks before it adds anything: a predicate that is implied already is not added again, however simplification has
rewritten it in the meantime (a range cut by another one, an IN list that lost items, a common part taken out of an OR).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import pyarrow as pa

from optimizer.algebra.building import reference
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids, column_set
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.evaluate import evaluate
from optimizer.algebra.functions import MIRRORED
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import Aggregate, Choice, Filter, GroupingSets, Limit, Project, Scan, SetOp, Values, Window
from optimizer.algebra.logical_joins import AnyJoin, Apply, IndependentJoin, Join
from optimizer.algebra.predicates import compare, conjuncts
from optimizer.algebra.props import united
from optimizer.algebra.scalar_trees import rewrite, substitute
from optimizer.algebra.scalars import BOOL, Call, Cast, ColumnRef, Literal, Predicate, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.algebra.types import cast_may_fail, is_integer
from optimizer.errors import PlanscopeError
from optimizer.prepass.movable import for_row
from optimizer.stats.filtered import listed_values

Names = dict[ColumnId, ColumnId]  # a column of some node -> the column of the root that has its values

_DEEPEST = 4  # ORs that one proof looks into
_MOST_ORS = 8  # of more none is looked into: there are too many ways


def known(root: Node, asked: ColumnId, columns: Columns, whole: bool) -> list[Scalar]:
    """Predicates over the column `asked` alone, from filters and scans that its values come from.

    They are TRUE of every row of `root` in which the column is not NULL; with `whole` of every row at all. Outer references in
    them mean the same as they would above `root`.
    """
    start = _below_joins(root, asked, whole)
    if start is None:
        return []
    found: dict[Scalar, None] = {}
    stack: list[tuple[Node, Names, ColumnSet]] = [(start, {asked: asked}, 0)]
    while stack:
        tree, names, inside = stack.pop()  # `inside`: columns that an Apply in between binds
        if not names or not isinstance(tree, Tree):
            continue
        if isinstance(tree.op, AnyJoin):
            stack += _sides(tree, tree.op, names, inside, whole)
            continue
        match tree.op:
            case Filter(predicate) | Scan(predicate=predicate):
                names = _with_equals(predicate, names)
                for conjunct in predicate:
                    id = conjunct.columns.bit_length() - 1
                    if id in names and conjunct.columns == 1 << id and not conjunct.outer & inside and is_congruent(conjunct):
                        name = ColumnRef(names[id], columns[id].type)
                        found[conjunct if names[id] == id else substitute(conjunct, {id: name})] = None
            case Values(ids, types, (row,)):
                for id, type, value in zip(ids, types, row, strict=True):
                    if id in names and isinstance(value, Literal) and value.value is not None:
                        found[compare("=", ColumnRef(names[id], type), value)] = None
        stack += _below(tree, names, inside, found, whole)
    return list(found)


def _below_joins(root: Node, asked: ColumnId, whole: bool) -> Tree | None:
    """Where something may be said of a column, below joins and filters of other columns. None: nowhere, or of rows that may be
    NULL-extended, where `whole` asks of all rows."""
    node = root
    while isinstance(node, Tree):
        op = node.op
        if isinstance(op, IndependentJoin):
            left, right = node.inputs
            node, extends = (left, op.kind.keeps_right) if left.columns >> asked & 1 else (right, op.kind.keeps_left)
            if whole and extends:
                return None
        elif isinstance(op, (Filter, Scan)) and not [s for s in op.predicate if s.columns >> asked & 1]:
            if not node.inputs:
                return None
            node = node.inputs[0]
        else:
            return node
    return None


def _with_equals(predicate: Predicate, names: Names) -> Names:
    """Also the columns that the predicate says are equal to some of `names`."""
    pairs = [p for s in predicate if (p := equal_columns(s)) is not None]
    for a, b in pairs * 2:
        for one, other in ((a, b), (b, a)):
            if one in names and other not in names:
                names = {**names, other: names[one]}
    return names


def equal_columns(scalar: Scalar) -> tuple[ColumnId, ColumnId] | None:
    """The columns that a conjunct says are equal."""
    if isinstance(scalar, Call) and scalar.function == "=":
        a, b = scalar.args
        if isinstance(a, ColumnRef) and isinstance(b, ColumnRef) and a.id != b.id:
            return a.id, b.id
    return None


@lru_cache(maxsize=4096)
def equalities(predicate: Predicate) -> list[ColumnSet]:
    """The pairs of columns of one type that conjuncts equate."""
    return [column_set(pair) for conjunct in predicate if (pair := equal_columns(conjunct)) is not None]


def _below(
    tree: Tree, names: Names, inside: ColumnSet, found: dict[Scalar, None], whole: bool
) -> Iterable[tuple[Node, Names, ColumnSet]]:
    """The inputs that columns of `names` come from, under their names there."""
    match tree.op:
        case Filter() | Limit() | Window() | Choice():
            return [(tree.inputs[0], names, inside)]
        case Project(items):
            passed = {}
            for item in items:
                if item.id in names:
                    if isinstance(item.value, ColumnRef):
                        passed[item.value.id] = names[item.id]
                    elif isinstance(item.value, Literal) and item.value.value is not None:
                        found[compare("=", ColumnRef(names[item.id], item.value.type), item.value)] = None
            return [(tree.inputs[0], passed, inside)]
        case Aggregate(keys):
            return [(tree.inputs[0], {key: names[key] for key in keys if key in names}, inside)]
        case GroupingSets(keys) if not whole:
            return [(tree.inputs[0], {key.source: names[key.id] for key in keys if key.id in names}, inside)]
        case SetOp(kind, _, outputs, sources) if kind is not SetOpKind.UNION:
            first = {source: names[out] for out, source in zip(outputs, sources[0], strict=True) if out in names}
            return [(tree.inputs[0], first, inside)]
    return ()


def _sides(tree: Tree, join: AnyJoin, names: Names, inside: ColumnSet, whole: bool) -> Iterable[tuple[Node, Names, ColumnSet]]:
    """The inputs of a join that columns of `names` come from."""
    left, right = tree.inputs
    on_left = _among(names, left.columns)
    on_right = {} if on_left is names else _among(names, right.columns)  # a column comes from one of them
    if on_left and not (whole and join.kind.keeps_right):
        yield left, on_left, inside
    if on_right and not (whole and join.kind.keeps_left):
        yield right, on_right, inside | left.columns if isinstance(join, Apply) else inside


def _among(names: Names, columns: ColumnSet) -> Names:
    """Those of the names that are among the columns; mostly there is one name."""
    kept = [id for id in names if columns >> id & 1]
    return names if len(kept) == len(names) else {id: names[id] for id in kept}


def settled(root: Node, asked: Scalar, columns: Columns) -> bool:
    """Whether nothing is gained by filtering `root` by `asked`: it is implied by what is filtered and scanned below, or it would
    have to be tested on a computed column, where simplification may leave nothing of it that could be told again."""
    return _implied_below(root, asked, columns, False)


def holds(root: Node, asked: Scalar, columns: Columns) -> bool:
    """Whether `asked` is TRUE of every row of `root`, by what is filtered and scanned below; sound, not complete."""
    return _implied_below(root, asked, columns, True)


def _implied_below(root: Node, asked: Scalar, columns: Columns, computed: bool) -> bool:
    """`computed`: whether to say no of a predicate over computed columns."""
    if stated(root, asked):
        return True
    stack: list[tuple[Node, Scalar, list[Scalar]]] = [(root, asked, [])]
    while stack:  # of a union all branches have to be settled, so the first node that is not decides
        tree, wanted, facts = stack.pop()
        if not isinstance(tree, Tree):
            return False
        op, outside = tree.op, ~tree.columns
        facts = [f for f in facts if not f.columns & outside]
        if isinstance(op, Filter | Scan) or (isinstance(op, Join) and op.kind is JoinKind.INNER):
            facts += op.predicate
        if implied(canonical(wanted), list(map(canonical, facts))) or _equals_itself(wanted, tree):
            continue
        read = wanted.columns
        match tree.op:
            case Filter() | Limit() | Choice():
                stack.append((tree.inputs[0], wanted, facts))
            case Project(items):
                values = {item.id: item.value for item in items}
                if any(not isinstance(values[id], ColumnRef) for id in column_ids(read)):
                    if computed:
                        return False
                    continue
                facts = [f for f in facts if all(isinstance(values[id], ColumnRef) for id in column_ids(f.columns))]
                stack.append((tree.inputs[0], substitute(wanted, values), [substitute(f, values) for f in facts]))
            case Aggregate() | Window():
                if read & ~tree.inputs[0].columns:
                    return False
                facts = [f for f in facts if not f.columns & ~tree.inputs[0].columns]
                stack.append((tree.inputs[0], wanted, facts))
            case GroupingSets(keys, sets):
                grouped: dict[ColumnId, Scalar] = {k.id: reference(k.source, columns) for k in keys}
                for each in sets:
                    grouped = {id: source for id, source in grouped.items() if each >> id & 1}
                if any(id not in grouped for id in column_ids(read)):
                    return False
                facts = [f for f in facts if all(id in grouped for id in column_ids(f.columns))]
                stack.append((tree.inputs[0], substitute(wanted, grouped), [substitute(f, grouped) for f in facts]))
            case SetOp(kind, _, outputs, sources):
                for branch, source in zip(tree.inputs, sources, strict=True):
                    own: dict[ColumnId, Scalar] = {out: reference(id, columns) for out, id in zip(outputs, source, strict=True)}
                    stack.append((branch, substitute(wanted, own), [substitute(f, own) for f in facts]))
                    if kind is not SetOpKind.UNION:
                        break
            case AnyJoin() as join:
                left, right = tree.inputs
                if isinstance(join, Apply) and join.kind is JoinKind.INNER and read & right.columns:
                    within = for_row((wanted,), left.columns), for_row(tuple(facts), left.columns)
                    stack.append((right, within[0][0], list(within[1])))
                elif not read & ~left.columns and not join.kind.keeps_right:
                    stack.append((left, wanted, facts))
                elif not read & ~right.columns and not join.kind.keeps_left:
                    stack.append((right, wanted, facts))
                else:
                    return False
            case Values() as values_list:
                if not _holds_of_all(values_list, wanted):
                    return False
            case _:
                return False
    return True


def _equals_itself(wanted: Scalar, tree: Tree) -> bool:
    """Whether it says that a column equals itself, and the column is not NULL."""
    match wanted:
        case Call(function="=", args=(ColumnRef(id=a), ColumnRef(id=b))):
            return a == b and bool(tree.props.not_null >> a & 1)
    return False


def stated(root: Node, asked: Scalar) -> bool:
    """Whether it is a conjunct of a filter, scan, inner or semi join that all rows come through: quicker seen than implied."""
    node = root
    while isinstance(node, Tree):
        op = node.op
        if isinstance(op, AnyJoin):
            if op.kind in (JoinKind.INNER, JoinKind.SEMI) and asked in op.predicate:
                return True
            left, right = node.inputs
            node, extends = (right, op.kind.keeps_left) if asked.columns & ~left.columns else (left, op.kind.keeps_right)
            if extends:
                return False
        elif isinstance(op, Limit | Window) or (isinstance(op, Filter) and asked not in op.predicate):
            node = node.inputs[0]
        else:
            return isinstance(op, Filter | Scan) and asked in op.predicate
    return False


@lru_cache(maxsize=4096)
def canonical(scalar: Scalar) -> Scalar:
    """The scalar with the operands of every comparison in canonical order: putting one column for another may change it. What
    equals a truth value is written as simplification leaves it: b = FALSE as NOT b."""

    def ordered(part: Scalar) -> Scalar | None:
        if isinstance(part, Call) and part.function in MIRRORED and part.args[0].type == part.args[1].type:
            made = compare(part.function, *part.args)
            match made:
                case Call(function="=", args=(a, Literal(value=bool(value)))):
                    return a if value else Call("not", (a,), BOOL)
            return made
        return None

    return rewrite(scalar, ordered)


def _holds_of_all(listed: Values, wanted: Scalar) -> bool:
    """Whether a predicate is TRUE of every row of a list of literals."""
    if wanted.outer or any(not isinstance(item, Literal) for item in listed.scalars()):
        return False
    rows = [{id: evaluate(item, {}) for id, item in zip(listed.columns, row, strict=True)} for row in listed.rows]
    try:
        return all(evaluate(wanted, row) is True for row in rows)
    except PlanscopeError:
        return False


def implied(asked: Scalar, facts: Sequence[Scalar], depth: int = _DEEPEST) -> bool:
    """Whether `asked` is TRUE wherever all of `facts` are; sound, not complete."""
    if asked in facts:
        return True
    if isinstance(asked, Call) and asked.function == "and":
        return all(implied(part, facts, depth) for part in asked.args)
    if isinstance(asked, Call) and asked.function == "or" and any(implied(part, facts, depth) for part in asked.args):
        return True
    if any(fact.columns == asked.columns and _implies(fact, asked) for fact in facts) or _equal_by(asked, facts):
        return True
    if depth:
        ors = [fact for fact in facts if isinstance(fact, Call) and fact.function == "or"]
        for fact in ors if len(ors) <= _MOST_ORS else ():
            others = [f for f in facts if f is not fact]
            if all(implied(asked, [*others, *conjuncts(branch)], depth - 1) for branch in fact.args):
                return True
    return False


def _equal_by(asked: Scalar, facts: Sequence[Scalar]) -> bool:
    """Whether an equality of two columns is among the facts, either way round, follows from others of them, or both columns
    have one and the same value."""
    pair = equal_columns(asked)
    if pair is None:
        return False
    pairs = [p for s in facts if (p := equal_columns(s)) is not None]
    if any(members >> pair[0] & members >> pair[1] & 1 for members in united(map(column_set, pairs))):
        return True
    values = [[v for s in facts if s.columns == 1 << id and (v := listed_values(s)) is not None and len(v) == 1] for id in pair]
    return any(one == other for one in values[0] for other in values[1])


def _implies(fact: Scalar, asked: Scalar) -> bool:
    """Whether one comparison of a column with literals implies a predicate over that column."""
    if asked.outer or asked.volatile or fact.columns & fact.columns - 1:
        return False
    values = listed_values(fact)
    if values is not None:
        id = fact.columns.bit_length() - 1
        try:
            return all(evaluate(asked, {id: value}) is True for value in values)
        except PlanscopeError:
            return False
    low, high = bound(fact), bound(asked)
    if low is None or high is None or low[0][0] != high[0][0]:
        return False
    (function, tight), (wanted, loose) = low, high
    try:
        if evaluate(compare("=", tight, loose), {}) is True:
            return function == wanted or wanted.endswith("=")
        return evaluate(compare(function[0], tight, loose), {}) is True
    except (PlanscopeError, AssertionError):  # literals of two types: nothing is said
        return False


def bound(scalar: Scalar) -> tuple[str, Literal] | None:
    """(`<`, `<=`, `>` or `>=`, value) when the scalar compares a column, perhaps widened, with a literal that is not NULL."""
    if not isinstance(scalar, Call) or scalar.function not in ("<", "<=", ">", ">="):
        return None
    function, (column, literal) = scalar.function, scalar.args
    if isinstance(column, Literal):
        function, column, literal = MIRRORED[function], literal, column
    if not isinstance(literal, Literal) or literal.value is None or widened_column(column) is None:
        return None
    return function, _widest(literal)


def _widest(literal: Literal) -> Literal:
    """An integer as the same value of one type, so that bounds of columns of several types can be compared."""
    return Literal(literal.value, pa.int64()) if is_integer(literal.type) and abs(literal.value) < 1 << 63 else literal


def widened_column(scalar: Scalar) -> ColumnRef | None:
    """The column behind a reference, or behind casts of integers that keep every value."""
    while isinstance(scalar, Cast) and _widens(scalar):
        scalar = scalar.arg
    return scalar if isinstance(scalar, ColumnRef) else None


def _widens(cast: Cast) -> bool:
    return is_integer(cast.type) and is_integer(cast.arg.type) and not cast_may_fail(cast.arg.type, cast.type)
