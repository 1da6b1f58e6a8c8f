"""What holds of a column holds of the columns that a join equates with it.

    σ(a = 5)(A) ⋈(a = b) B  ≡  σ(a = 5)(A) ⋈(a = b) σ(b = 5)(B)        likewise ranges, IN lists and prefixes
    A ⋈(a = b ∧ a = c) B    ≡  A ⋈(a = b ∧ a = c) σ(b = c)(B)

Once pushed down, a predicate is inferred for the next join's columns, and so for all columns of an equivalence class.

Kinds   from left to right: inner, left, semi, anti, single, since rows of the right input that match nothing may go; there, also
        conjuncts of the join over the left input alone hold of all that matches. From right to left: inner, semi, right.
        Mark: from left to right where the equality is never NULL, so that it is FALSE for the rows that go. Full: none
NULLs   an equality is not TRUE of NULL, so what holds of a column where it is not NULL is enough. IS NOT DISTINCT FROM matches
        NULLs: there it has to hold of every row
Rows    a row that goes matches nothing
Guards  comparisons, IN, LIKE and starts_with of a bare column with something without columns, and ORs of them: they can be told
        again when simplification has rewritten them (`known.settled`), so a predicate that is implied by what there is is not
        inferred again. Nothing volatile, nothing that may raise; integers of two types are compared by value
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from optimizer.algebra.building import filtered
from optimizer.algebra.columns import ColumnId, column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import IndependentJoin
from optimizer.algebra.predicates import compare, conjunction, is_key
from optimizer.algebra.scalar_trees import rewrite as rewrite_scalar
from optimizer.algebra.scalar_trees import substitute
from optimizer.algebra.scalars import Call, ColumnRef, InList, Literal, Predicate, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.known import canonical, known, settled, widened_column
from optimizer.rules.interface import ANY, RuleContext, node, rewrite


@rewrite(node(IndependentJoin, ANY, ANY))
def join_infer_filter(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(IndependentJoin(predicate=predicate) as join, (left, right)):
            pairs = equated_pairs(predicate, left, right)
            if not pairs:
                return None
            kind = join.kind
            if kind is JoinKind.MARK:
                never_null = left.props.not_null, right.props.not_null
                pairs = [p for p in pairs if never_null[0] >> p.left.id & 1 and never_null[1] >> p.right.id & 1]
            on_left, on_right = [], []
            if kind.drops_right or kind is JoinKind.MARK:
                own = predicate if kind in (JoinKind.LEFT, JoinKind.ANTI, JoinKind.SINGLE) else ()
                on_right = _inferred(pairs, own, left, right, context)
            if kind.drops_left:
                own = predicate if kind is JoinKind.RIGHT else ()
                on_left = _inferred(equated_pairs(predicate, right, left), own, right, left, context)
            if on_left or on_right:
                return Tree(join, (filtered(conjunction(on_left), left), filtered(conjunction(on_right), right)))
    return None


class EquatedPair(NamedTuple):
    """Equated columns of the two inputs, and how they are written: as they are, or as wider integers."""

    left: ColumnRef
    right: ColumnRef
    left_side: Scalar
    right_side: Scalar
    null_safe: bool


def equated_pairs(predicate: Predicate, left: Node, right: Node) -> list[EquatedPair]:
    """The pairs of columns that conjuncts of a join predicate equate."""
    on_left, on_right = left.columns, right.columns
    return [pair for pair in _equated(predicate) if on_left >> pair.left.id & 1 and on_right >> pair.right.id & 1]


@lru_cache(maxsize=4096)
def _equated(predicate: Predicate) -> list[EquatedPair]:
    """The pairs either way round."""
    pairs: list[EquatedPair] = []
    for conjunct in predicate:
        if is_key(conjunct):
            a, b = conjunct.children
            one, other = widened_column(a), widened_column(b)
            if one is not None and other is not None:
                null_safe = isinstance(conjunct, Call) and conjunct.function != "="
                pairs += EquatedPair(one, other, a, b, null_safe), EquatedPair(other, one, b, a, null_safe)
    return pairs


def _inferred(pairs: list[EquatedPair], own: Predicate, source: Node, target: Node, context: RuleContext) -> list[Scalar]:
    """What is known of `source` (the left of the pairs), and of what matches by `own`, said of `target`; only what is new."""
    new: list[Scalar] = []
    for pair in pairs:
        facts = known(source, pair.left.id, context.columns, pair.null_safe)
        facts += [s for s in own if s.columns == pair.left.columns and not s.volatile]
        for fact in facts:
            said = moved(fact, pair) if _simple(fact) else None
            if said is not None and said not in new and not settled(target, said, context.columns):
                new.append(said)
    if len(pairs) < 2:
        return new
    bare = [p for p in pairs if p.left_side is p.left and p.right_side is p.right and not p.null_safe]
    if len({pair.right for pair in bare}) < 2:
        return new
    lefts = column_set(pair.left.id for pair in bare)
    one = not lefts & (lefts - 1)
    first: dict[ColumnId, ColumnRef] = {}
    for pair in bare:
        column = first.setdefault(pair.left.id if one else source.props.representative(pair.left.id), pair.right)
        if column is not pair.right and column.type == pair.right.type:
            equality = compare("=", column, pair.right)
            if equality not in new and not settled(target, equality, context.columns):  # before properties: it is found soon
                if not target.props.equivalents(column.id) >> pair.right.id & 1:
                    new.append(equality)
    return new


def _simple(fact: Scalar) -> bool:
    """Whether it compares a bare column with something without columns, or is a combination of such comparisons."""
    if fact.raises or fact.volatile:
        return False
    match fact:
        case Call(function="and" | "or", args=args):
            return all(map(_simple, args))
        case Call(function="=" | "<" | "<=" | ">" | ">=", args=(a, b)):
            return (isinstance(a, ColumnRef) and not b.columns) or (isinstance(b, ColumnRef) and not a.columns)
        case Call(function="like" | "starts_with", args=(ColumnRef(), *rest)):
            return not any(s.columns for s in rest)
        case InList(arg=ColumnRef(), items=items):
            return not any(item.columns for item in items)
    return False


def moved(fact: Scalar, pair: EquatedPair) -> Scalar | None:
    """The fact about the left column of a pair as one about the right column; None where the types do not let it be said."""
    if pair.left_side is pair.left:
        return canonical(substitute(fact, {pair.left.id: pair.right_side}))
    if fact.outer:
        return None

    def widened(part: Scalar) -> Scalar | None:
        match part:
            case ColumnRef():
                return pair.right_side
            case Literal(value=value) if part.type == pair.left.type:
                return Literal(value, pair.left_side.type)
            case Call() | InList():
                return None
        return part

    if any(not isinstance(s, Literal) or s.type != pair.left.type for s in _operands(fact)):
        return None
    return canonical(rewrite_scalar(fact, widened))


def _operands(fact: Scalar) -> Iterator[Scalar]:
    """What the columns of a simple fact are compared with."""
    stack = [fact]
    while stack:
        part = stack.pop()
        if isinstance(part, Call) and part.function in ("and", "or"):
            stack += part.args
        else:
            yield from (child for child in part.children if not isinstance(child, ColumnRef))
