"""Which conjuncts a rule may move to other rows, and how they are written there."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from optimizer.algebra.building import filtered, tree_of
from optimizer.algebra.columns import ColumnId, ColumnSet
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.logical import Filter
from optimizer.algebra.nulls import is_not_null
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalar_trees import as_outer, substitute, walk
from optimizer.algebra.scalars import ColumnRef, Literal, Predicate, Scalar
from optimizer.algebra.trees import Tree

MOST_OPERATIONS = 100  # of a predicate that a rule makes longer


def over(predicate: Predicate, columns: ColumnSet, not_null: ColumnSet | None = None) -> tuple[Predicate, Predicate]:
    """The conjuncts that stay, and those over nothing but `columns` that may move: not volatile, unable to raise, and, with
    `not_null`, never NULL where those columns are not. Parts of a predicate are predicates."""
    below = [s for s in predicate if not (s.columns & ~columns or s.volatile or s.raises)]
    if not_null is not None:
        below = [s for s in below if is_not_null(s, not_null)]
    return (tuple([s for s in predicate if s not in below]), tuple(below)) if below else (predicate, ())


def filter_lowered(
    bound: Tree, below: Callable[[Scalar], Scalar | None], inputs: Sequence[Mapping[ColumnId, Scalar]] = ()
) -> Tree | None:
    """A filter over an operator with those conjuncts below it, over each input, that move, as `below` says them there (None: it
    stays); None where none does. `inputs`: what is called otherwise in each input, if anything is.

    What stays may keep rows from a conjunct that raises, so then none that may raise moves out of this shelter.
    """
    (over,), predicate = map(tree_of, bound.inputs), bound.op.scalars()
    moved = {conjunct: said for conjunct in predicate if (said := below(conjunct)) is not None}
    if len(moved) < len(predicate):
        moved = {conjunct: said for conjunct, said in moved.items() if not said.raises}
    if not moved:
        return None
    lowered = [conjunction(substitute(s, names) for s in moved.values()) for names in inputs or [{}] * len(over.inputs)]
    filters = tuple(Tree(Filter(s), (each,)) for s, each in zip(lowered, over.inputs, strict=True))
    return filtered(tuple(conjunct for conjunct in predicate if conjunct not in moved), Tree(over.op, filters))


def congruent_over(columns: ColumnSet) -> Callable[[Scalar], Scalar | None]:
    """For `filter_lowered`: conjuncts over these columns alone that give equal results for equal values move as they are."""
    return lambda conjunct: conjunct if not conjunct.columns & ~columns and is_congruent(conjunct) else None


def repeats(readers: Iterable[Scalar], values: Mapping[ColumnId, Scalar]) -> bool:
    """Whether something is computed more than once where `values` take the places of columns in `readers`."""
    uses = Counter(s.id for reader in readers for s in walk(reader) if isinstance(s, ColumnRef) and s.id in values)
    return any(times > 1 and not isinstance(values[id], ColumnRef | Literal) for id, times in uses.items())


def grow(readers: Sequence[Scalar], values: dict[ColumnId, Scalar]) -> bool:
    """Whether with `values` in the places of columns `readers` would repeat computed ones and be long: each of many projections
    above each other might double them."""
    return repeats(readers, values) and is_long(substitute(reader, values) for reader in readers)


def over_items(conjunct: Scalar, values: dict[ColumnId, Scalar]) -> Scalar | None:
    """The conjunct below a projection, whose items are `values`; None where it would `grow`."""
    return None if grow((conjunct,), values) else substitute(conjunct, values)


def is_long(scalars: Iterable[Scalar]) -> bool:
    """Whether scalars have more than MOST_OPERATIONS operations together."""
    operations = (part for scalar in scalars for part in walk(scalar) if part.children)
    return any(islice(operations, MOST_OPERATIONS, None))


def for_row(predicate: Predicate, columns: ColumnSet) -> Predicate:
    """The predicate as the right input of an Apply says it: `columns`, of the left one, are references to its row."""
    return conjunction(as_outer(s, columns) for s in predicate)
