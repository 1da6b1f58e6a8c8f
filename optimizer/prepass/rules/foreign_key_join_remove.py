"""A join that only follows a foreign key to a table that nobody reads disappears.

    π_A(A ⋈(f = k) B)  ≡  π_A(σ(f IS NOT NULL)(A))        B: all rows of a table, k its key, f in A a foreign key to it
    A ⋉(f = k) B  ≡  σ(f IS NOT NULL)(A)

f may have come to A through any operators: a column keeps its id only where it keeps its values, or is NULL-extended.

Kinds   inner, with the foreign key on either side; semi
NULLs   a NULL in f matches nothing, so its row goes; the filter is left out where f cannot be NULL
Rows    by the foreign key every row of A has a match, by the key only one; for semi, or where duplicates do not matter, the key
        is not needed
Guards  the predicate equates the columns of one declared foreign key with those it refers to, and says nothing else; B is a scan
        without limit, and without predicate but for what holds of f in A, too (join_infer_filter adds such); nothing reads a
        column of B. Foreign keys are trusted as declared in schema.sql, not checked (`catalog.table.ForeignKey`): on data that
        break one, this rewrite changes results. `--disable` turns it off
"""

from __future__ import annotations

from optimizer.algebra.building import reference
from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, column_set
from optimizer.algebra.congruence import is_congruent
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, Scan
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.scalars import BOOL, Call, Predicate
from optimizer.algebra.trees import Node, Tree, postorder
from optimizer.prepass.demand import ENDS, reduce_joins
from optimizer.prepass.known import holds
from optimizer.prepass.rules.join_infer_filter import equated_pairs, moved
from optimizer.rules.interface import RuleContext, rewrite


@rewrite(ENDS)
def foreign_key_join_remove(bound: Tree, context: RuleContext) -> Tree | None:
    def reduce(join: Tree, needed: ColumnSet, once: bool) -> Node | None:
        return without_referenced(join, needed, once, context)

    match bound:
        case Tree(Join(JoinKind.SEMI, predicate), (left, Tree(Scan()) as right)):
            columns = referring(predicate, left, right, context)
            return not_null(left, columns, context) if columns else None
    return reduce_joins(bound, reduce)


def without_referenced(join: Tree, needed: ColumnSet, once: bool, context: RuleContext) -> Node | None:
    """The referring side of an inner join along a foreign key whose other side is not needed."""
    if isinstance(join.op, Join) and join.op.kind is JoinKind.INNER:
        for here, there in (join.inputs, join.inputs[::-1]):
            if isinstance(there, Tree) and isinstance(there.op, Scan) and not needed & there.columns:
                columns = referring(join.op.predicate, here, there, context)
                if columns and (once or there.props.unique_on(join.op.used_columns() & there.columns)):
                    return not_null(here, columns, context)
    return None


def referring(predicate: Predicate, here: Node, other: Tree, context: RuleContext) -> ColumnSet:
    """The columns of `here` that are a foreign key to all rows of `there`, where the predicate says that they equal what
    they refer to, and nothing else; 0 where it does not."""
    there = other.op
    if not isinstance(there, Scan) or there.limit is not None:
        return 0
    names = {column.id: column.source for column in there.columns}
    equated = equated_pairs(predicate, here, other)
    if not equated or len(equated) < len(predicate) or any(pair.null_safe for pair in equated):
        return 0
    pairs: dict[str, ColumnId] = {}
    for pair in equated:
        if pairs.setdefault(names[pair.right.id], pair.left.id) != pair.left.id:
            return 0
    columns = column_set(pairs.values())
    if there.predicate and not _hold_here(there.predicate, predicate, here, other, context):
        return 0
    for source in postorder(here):
        if isinstance(source, Tree) and isinstance(source.op, Scan):
            for key in source.op.foreign_keys:
                if key.table == there.table and dict(zip(key.referenced, key.columns, strict=True)) == pairs:
                    return columns
    return 0


def _hold_here(filtered: Predicate, predicate: Predicate, here: Node, there: Node, context: RuleContext) -> bool:
    """Whether what is filtered of the columns referred to holds of the columns that refer to them."""
    by_column = {pair.left.id: pair for pair in equated_pairs(predicate, there, here)}
    for conjunct in filtered:
        pair = by_column.get(conjunct.columns.bit_length() - 1)
        said = moved(conjunct, pair) if pair is not None and conjunct.columns == pair.left.columns else None
        if said is None or not is_congruent(conjunct) or not holds(here, said, context.columns):
            return False
    return True


def not_null(tree: Node, columns: ColumnSet, context: RuleContext) -> Tree:
    """The rows of `tree` in which none of the columns is NULL."""
    nullable = columns & ~tree.props.not_null
    assert isinstance(tree, Tree), "the pre-pass has no memo groups"
    if not nullable:
        return tree
    tests = (Call("is_not_null", (reference(id, context.columns),), BOOL) for id in column_ids(nullable))
    return Tree(Filter(conjunction(tests)), (tree,))
