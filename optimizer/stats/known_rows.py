"""The base of estimators that look rows up: counts that were made, measured or learned, by relation set.

Each `RelationStats` made here carries an expression of its group (`tree`). What has the rows of its input by definition (Project,
Window, mark and single joins), what follows from them (Limit, UNION ALL, an aggregate without keys) and what the catalog
knows (tables without a filter) is never asked for. Any other set of relations is looked up; where nothing is known of it,

    an inner join of parts that no conjunct links     has the product of the parts' rows
    any other inner join of relations S               rows(S) = f(S) · Π known(T) / f(T)

with f the default formulas over the leaves' (known) rows, and T disjoint connected subsets of S that are known, found by leaving
relations out of S, last ones first, until what remains is known. Both depend on the set alone, so every expression of
a group has the same rows. All other operators have the default formulas over their inputs' known rows.

Figures of columns come from the catalog; where the rows are known no selectivity is asked for.
"""

from collections.abc import Sequence

from optimizer.algebra.canonical import CanonicalTexts
from optimizer.algebra.columns import ColumnId, Columns, column_ids, union
from optimizer.algebra.join_graph import is_inner_join
from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Aggregate, Filter, Limit, LogicalOperator, Project, Scan, SetOp, Values, Window
from optimizer.algebra.logical_joins import MarkJoin, SingleJoin
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.spools import CteReference, Recursion, Spool, With
from optimizer.algebra.trees import Tree
from optimizer.catalog.table import Catalog
from optimizer.plugin_code import number_from
from optimizer.stats.estimator import Estimator
from optimizer.stats.filtered import listed_values
from optimizer.stats.region_parts import region_stats
from optimizer.stats.relation import ColumnFigures, RelationStats
from optimizer.stats.relation_set import RelationSet, expression, joined, under_columns

Leaves = int  # a set of the leaves of a region, as bits


class KnownRows(Estimator):
    """Override `known`. A join that is no inner one is a relation of its own, whose rows may be known."""

    in_regions = False

    def __init__(self, catalog: Catalog, columns: Columns) -> None:
        super().__init__(catalog, columns)
        self._texts = CanonicalTexts()
        self._formulas = False  # while rows are known and only figures are asked for

    def known(self, relations: RelationSet) -> float | None:
        """The rows of a set of relations, None where they are not known. A function of the set alone."""
        return None

    def checked(self, relations: RelationSet) -> float | None:
        """What is known, as a float from 0 up. Raises PlanscopeError where that is no number."""
        rows = self.known(relations)
        return None if rows is None else number_from(f"{type(self).__name__}.known gives", rows, finite=True, by=self.known)

    def relation_set(self, tree: Tree) -> RelationSet:
        return RelationSet(tree, self._texts)

    def estimate(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats]) -> RelationStats:
        if is_inner_join(op):
            return super().estimate(op, props, inputs)  # which asks for `inner_region`
        if isinstance(op, With | Spool | CteReference | Recursion):
            stats = super().estimate(op, props, inputs)
            if not isinstance(op, Recursion):  # which nobody counts: it may not end
                stats.tree = self._read_spool(op) if isinstance(op, CteReference) else inputs[-1].tree
            return stats
        tree = expression(op, inputs)
        rows = None if tree is None or follows_from_input(op) else self.checked(self.relation_set(tree))
        if rows is None:
            stats = super().estimate(op, props, inputs)
        else:
            stats = self._with_rows(op, props, inputs, rows)
        stats.tree = tree
        return stats

    def _read_spool(self, op: CteReference) -> Tree | None:
        """What a spool holds, under the columns of a reference."""
        held = self._spools[op.spool].tree
        return None if held is None else under_columns(held, op, self.columns)

    def _with_rows(self, op: LogicalOperator, props: LogicalProps, inputs: Sequence[RelationStats], rows: float) -> RelationStats:
        """Figures for an operator with so many rows."""
        match op:
            case Scan():
                table = self.table(op)
                stored = {c.id: self._stored(table, c.source, c.id) for c in op.columns}
                base = float(table.stats.rows)
                return RelationStats(rows, narrowed(stored, op.predicate, rows), base, props.keys)
            case Filter():
                return RelationStats(rows, narrowed(inputs[0].columns, op.predicate, rows), inputs[0].base_rows, props.keys)
        self._formulas = True
        try:
            stats = super().estimate(op, props, inputs)
        finally:
            self._formulas = False
        base = rows if stats.base_rows == stats.rows else stats.base_rows
        return RelationStats(rows, narrowed(stats.columns, (), rows), base, props.keys)

    def inner_region(self, leaves: tuple[RelationStats, ...], predicate: Predicate, props: LogicalProps) -> RelationStats:
        if self._formulas or any(leaf.tree is None for leaf in leaves):
            return super().inner_region(leaves, predicate, props)
        region = _Region(self, leaves, predicate)
        everything = (1 << len(leaves)) - 1
        rows = region.known(everything)
        if rows is None:
            rows = region.from_parts()
        stats = region_stats(rows, leaves, predicate, props)
        stats.columns = narrowed(stats.columns, (), rows)
        stats.tree = region.tree(everything)
        return stats


class _Region:
    """The leaves of one inner join and its conjuncts. Sets of leaves are bits."""

    def __init__(self, estimator: KnownRows, leaves: tuple[RelationStats, ...], predicate: Predicate) -> None:
        self.estimator, self.leaves, self.predicate = estimator, leaves, predicate
        home = {c: 1 << i for i, leaf in enumerate(leaves) for c in leaf.columns}
        self._touches = [union(home.get(c, 0) for c in column_ids(s.columns)) for s in predicate]
        self._known: dict[Leaves, float | None] = {}

    def within(self, s: Leaves) -> Predicate:
        """The conjuncts tested in the join of `s`; those without a column where all leaves are."""
        everything = s == (1 << len(self.leaves)) - 1
        pairs = zip(self.predicate, self._touches, strict=True)
        return tuple(scalar for scalar, touched in pairs if not touched & ~s and (touched or everything))

    def tree(self, s: Leaves) -> Tree:
        trees = [self.leaves[i].tree for i in column_ids(s)]
        return joined([tree for tree in trees if tree is not None], self.within(s))

    def known(self, s: Leaves) -> float | None:
        """The rows of the join of `s`, where they are known."""
        if s not in self._known:
            self._known[s] = self._look_up(s)
        return self._known[s]

    def _look_up(self, s: Leaves) -> float | None:
        predicate = self.within(s)
        if not s & (s - 1) and not predicate:
            return self.leaves[s.bit_length() - 1].rows
        if all(scalar.columns for scalar in predicate):
            parts = self._connected_parts(s)
            if len(parts) > 1:
                rows = 1.0
                for part in parts:
                    found = self.known(part)
                    if found is None:
                        return None
                    rows *= found
                return rows
        return self.estimator.checked(self.estimator.relation_set(self.tree(s)))

    def from_parts(self) -> float:
        """Rows of the join of all leaves from the formulas and the known rows of its parts."""
        everything = (1 << len(self.leaves)) - 1
        formula = self.estimator.region(self.leaves, self.predicate).rows
        rows = formula(everything)
        for part in self._known_parts(everything):
            thought, found = formula(part), self.known(part)
            assert found is not None, "a part was chosen because its rows are known"
            rows = 0.0 if thought <= 0.0 or found <= 0.0 else rows * (found / thought)
        return rows

    def _known_parts(self, s: Leaves) -> list[Leaves]:
        """Disjoint subsets of two leaves and more with known rows, each as large as leaving out last leaves gives."""
        parts: list[Leaves] = []
        waiting = self._connected_parts(s)
        while waiting:
            whole = part = waiting.pop()
            while part & (part - 1) and self.known(part) is None:
                part = self._without_last(part)
            if part & (part - 1):
                parts.append(part)
            waiting += self._connected_parts(whole & ~part) if whole != part else []
        return parts

    def _without_last(self, s: Leaves) -> Leaves:
        """`s` without the last leaf that leaves it connected."""
        for i in sorted(column_ids(s), reverse=True):
            if len(self._connected_parts(s ^ 1 << i)) == 1:
                return s ^ 1 << i
        raise AssertionError("a connected set stays so without one of its leaves")

    def _connected_parts(self, s: Leaves) -> list[Leaves]:
        """`s` cut where no conjunct within it links; by first leaf."""
        links = [touched for touched in self._touches if touched and not touched & ~s]
        parts: list[Leaves] = []
        while s:
            part, grown = s & -s, 0
            while part != grown:
                grown = part
                for touched in links:
                    if touched & part:
                        part |= touched
            parts.append(part)
            s &= ~part
        return parts


def follows_from_input(op: LogicalOperator) -> bool:
    """Whether the rows of an operator follow exactly from those of its inputs."""
    match op:
        case Project() | Window() | MarkJoin() | SingleJoin() | Limit() | Values() | Aggregate(keys=()):
            return True
        case SetOp(kind=SetOpKind.UNION, all=True):
            return True
    return False


def narrowed(columns: dict[ColumnId, ColumnFigures], predicate: Predicate, rows: float) -> dict[ColumnId, ColumnFigures]:
    """The figures where `predicate` has left `rows` rows: no more values than rows, nor than a conjunct lists."""
    listed = {c.columns: float(len(values)) for c in predicate if (values := listed_values(c)) is not None}
    changed = {}
    for id, f in columns.items():
        ndv = max(1.0, min(f.ndv, rows, listed.get(1 << id, f.ndv)))
        if ndv != f.ndv:
            f = f.with_nulls(0.0)
            f.ndv = ndv
            changed[id] = f
    return {**columns, **changed} if changed else columns
