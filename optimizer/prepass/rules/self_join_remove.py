"""A table joined with itself by a key is read once: the row that matches is the row itself.

    A ⋈(k = k' ∧ q) σp(T')  ≡  π_A,A'(σ(q ∧ p ∧ k IS NOT NULL)(A))        q and p read columns of A in place of those of T'
    A ⋉(k = k' ∧ q) σp(T')  ≡  σ(q ∧ p ∧ k IS NOT NULL)(A)
    A ▷(k = k' ∧ q) σp(T')  ≡  σ((q ∧ p ∧ k IS NOT NULL) IS NOT TRUE)(A)

k may have come to A from a scan of T through any operators: a column keeps its id only where it keeps its values, or is
NULL-extended, and all columns of one scan then come from one row.

Kinds   inner, with either side as A; semi, anti
NULLs   a NULL in k matches nothing: k = k, as it is written, is not TRUE there
Rows    a key of T has at most one row for each value, and the row of A is one of T
Guards  T' is a scan of the same table, perhaps below a projection, without limit; every column of it that is read comes to A
        from that other scan, which gets those it lacks where it is A itself in an inner join; nothing is volatile, and q and p
        cannot raise: p was computed of all rows. Keys are trusted
Source  PostgreSQL 18 calls it self-join elimination
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from optimizer.algebra.building import filtered, passed_all, tree_of
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_set
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Project, ProjectItem, Scan
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import compare, conjunction, predicate_columns, predicate_scalar
from optimizer.algebra.rebuild import renamed_scalar
from optimizer.algebra.scalar_trees import substitute
from optimizer.algebra.scalars import TRUE, Predicate
from optimizer.algebra.trees import Node, Tree, postorder
from optimizer.prepass.known import equal_columns
from optimizer.rules.interface import ANY, RuleContext, node, rewrite

Pairs = list[tuple[ColumnId, ColumnId]]


@rewrite(node(Join, ANY, ANY))
def self_join_remove(bound: Tree, context: RuleContext) -> Tree | None:
    match bound:
        case Tree(Join(JoinKind.INNER | JoinKind.SEMI | JoinKind.ANTI as kind, predicate), (left, right)):
            once = _once(kind, predicate, left, right, context.columns)
            if once is None and kind is JoinKind.INNER:
                once = _once(kind, predicate, right, left, context.columns)
            return once
    return None


def _once(kind: JoinKind, predicate: Predicate, here: Node, there: Node, columns: Columns) -> Tree | None:
    """The join from `here` alone, if `there` is a scan, perhaps below a projection, of rows that are scanned in `here`."""
    made, scanned = there.op, there
    if isinstance(made, Project):
        scanned = there.inputs[0]
        predicate = tuple(substitute(s, {item.id: item.value for item in made.items}) for s in predicate)
    scan = scanned.op
    if not isinstance(scan, Scan) or scan.limit is not None:
        return None
    pairs = _key_pairs(predicate, scan, columns)
    if not pairs or there.volatile or any(s.volatile or s.raises for s in (*predicate, *scan.predicate)):
        return None
    items = made.items if isinstance(made, Project) else passed_all(there, columns)
    read = predicate_columns((*predicate, *scan.predicate, *(item.value for item in items))) & scanned.columns
    wider = _with_columns(here, scan, read) if kind is JoinKind.INNER else here
    new = _same_row(scan, read, wider, pairs)
    if not new:
        return None
    asked = conjunction(renamed_scalar(s, new) for s in (*predicate, *scan.predicate))
    if kind is JoinKind.ANTI:
        asked = (compare("is_distinct_from", predicate_scalar(asked), TRUE),)
    kept = filtered(asked, tree_of(wider))
    if kind is not JoinKind.INNER:
        return kept
    own = (ProjectItem(item.id, renamed_scalar(item.value, new)) for item in items)
    return Tree(Project((*passed_all(here, columns), *own)), (kept,))


def _with_columns(here: Node, scan: Scan, read: ColumnSet) -> Node:
    """A scan of the same table with those columns too that are read of the other one; what it lacks nobody needed so far."""
    if not isinstance(here.op, Scan) or here.op.table != scan.table:
        return here
    there = {column.source for column in here.op.columns}
    more = tuple([c for c in scan.columns if read >> c.id & 1 and c.source not in there])
    not_null = here.op.not_null | scan.not_null & column_set(c.id for c in more)
    return Tree(replace(here.op, columns=(*here.op.columns, *more), not_null=not_null), ()) if more else here


def _key_pairs(predicate: Predicate, scan: Scan, columns: Columns) -> Pairs:
    """Columns of one name that are equal, each way round; none where no key of the scan is among them."""
    same = [(a, b) for a, b in _equal_pairs(predicate) if columns[a].name == columns[b].name]
    return [*same, *((b, a) for a, b in same)] if same and _has_key(scan, chain.from_iterable(same)) else []


@lru_cache(maxsize=4096)
def _equal_pairs(predicate: Predicate) -> Pairs:
    return [pair for pair in map(equal_columns, predicate) if pair is not None]


def _same_row(scan: Scan, read: ColumnSet, here: Node, pairs: Pairs) -> dict[ColumnId, ColumnId]:
    """For columns `read` of the scan those of `here` that have them of the same row; none where another row may match."""
    for below in postorder(here):
        if isinstance(below.op, Scan) and below.op.table == scan.table:
            found = {column.source: column.id for column in below.op.columns if here.columns >> column.id & 1}
            new = {c.id: found[c.source] for c in scan.columns if read >> c.id & 1 and c.source in found}
            if not read & ~column_set(new) and _has_key(scan, [pair[0] for pair in new.items() if pair in pairs]):
                return new
    return {}


def _has_key(scan: Scan, equated: Iterable[ColumnId]) -> bool:
    columns = column_set(equated)
    return any(not key & ~columns for key in scan.keys)
