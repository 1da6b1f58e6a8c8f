"""General unnesting: every Apply becomes a join, from the root downwards (Neumann and Kemper, BTW 2015; Neumann, BTW 2025).

    L A⊗p R  ≡  L ⊗_{p ∧ F ≐ r} (D A× R)          F: columns of L that R reads, D = Γ_F(L), ≐: IS NOT DISTINCT FROM

`D A× R` has the rows of R for each binding in D, with the binding in columns r (`push`). At the place where an operand no
longer reads outer columns, D is joined to it, or left out: where a conjunct k = F holds, k itself is the binding (substitution),
a superset of D that the join back filters. Where R may raise an error, D is exact: no binding is tried that no row of L has.

Before that, simpler forms are tried: a right input that reads nothing of L; correlated conjuncts that can be taken up into the
join (`pull_up`); a scalar aggregate (`one_row`). An Apply that cannot be removed stays, and nothing else is held up by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from optimizer.algebra.building import filtered, passed_all, passed_as, reference, tree_of
from optimizer.algebra.columns import ColumnId, Columns, ColumnSet, column_ids, column_set, union
from optimizer.algebra.flags import RAISES
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import (
    Aggregate,
    Filter,
    GroupingKey,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    ProjectItem,
    Scan,
    SetOp,
    Values,
    Window,
)
from optimizer.algebra.logical_joins import Apply, IndependentJoin, Join, join_of_kind
from optimizer.algebra.predicates import conjunction
from optimizer.algebra.rebuild import replace_outer
from optimizer.algebra.scalar_trees import as_outer, bound_to
from optimizer.algebra.scalars import Case, ColumnRef, OuterRef, Predicate, Scalar
from optimizer.algebra.trees import Tree
from optimizer.decorrelate.applies import replace_applies
from optimizer.decorrelate.correlation import ambiguous, named, with_zeros, zeros_told_apart
from optimizer.decorrelate.domains import Domains
from optimizer.decorrelate.empty_sets import apart
from optimizer.decorrelate.first_rows import first_rows
from optimizer.decorrelate.one_row import one_row, over_one_row, row_for_each
from optimizer.decorrelate.pull_up import pull_up, pulled_join, with_witness, without_idle_distinct
from optimizer.decorrelate.state import (
    Equal,
    Unnesting,
    join_back,
    local_calls,
    localized,
    localized_predicate,
    meet,
    renamed_equal,
    with_equalities,
    within,
)
from optimizer.decorrelate.stays import Stays
from optimizer.prepass.report import Firing

Repr = dict[ColumnId, ColumnId]  # outer column -> the local column that holds its value


class General:
    """Unnests a tree. `substitute`: leave the domain out where inner columns equal all outer ones (the cover)."""

    def __init__(self, columns: Columns, substitute: bool = True) -> None:
        self.columns, self.substitute = columns, substitute
        self.domains = Domains(columns)
        self.steps: list[Firing] = []

    def decorrelate(self, root: Tree) -> Tree:
        """The tree without those Applies that can be removed. Recursive over nested Applies only."""
        return replace_applies(root, self._eliminate)

    # -- one Apply --------------------------------------------------------------------------------------------------------

    def _eliminate(self, node: Tree) -> Tree:
        """An Apply of which nothing further out is being unnested."""
        left = self.decorrelate(tree_of(node.inputs[0]))
        assert isinstance(node.op, Apply)
        return self._joined(node, node.op, left, tree_of(node.inputs[1]))

    def over(self, apply: Tree, source: Tree) -> Tree:
        """An Apply whose left input is done with and has choices; domains are made of `source`, the same rows without any."""
        assert isinstance(apply.op, Apply)
        return self._joined(apply, apply.op, tree_of(apply.inputs[0]), tree_of(apply.inputs[1]), source)

    def _joined(self, node: Tree, op: Apply, left: Tree, right: Tree, source: Tree | None = None) -> Tree:
        """The Apply of `right` to a left input that is done with; `node` is what it was, for the trace. `source`: what domains
        are made of, if not of `left`."""
        if op.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK):
            right = without_idle_distinct(right)
        free = right.outer & left.columns
        try:
            after, note = self._removed(op, left, right, free, left if source is None else source)
        except Stays as stays:
            after = Tree(op, (left, self.decorrelate(right)))
            note = f"stays: {stays}"
        self.steps.append(Firing("unnest", node, after, f"free columns: {named(self.columns, free)}; {note}"))
        return after

    def _removed(self, op: Apply, left: Tree, right: Tree, free: ColumnSet, source: Tree) -> tuple[Tree, str]:
        predicate = tuple(bound_to(s, left.columns) for s in op.predicate)
        if right.volatile and free:
            raise Stays("its right input is volatile, so it is evaluated anew for each row")
        if not free:
            return Tree(join_of_kind(op.kind, predicate, op.mark), (left, self.decorrelate(right))), "independent"
        pulled = pull_up(right, free, self.columns)
        if pulled is not None:
            pulled = pulled._replace(tree=self.decorrelate(pulled.tree))
            return pulled_join(op, predicate, left, pulled, self.columns), "conjuncts taken up into the join"
        found = one_row(right)
        inside = right if found is None else found.aggregate
        exact = bool(inside.flags & RAISES)
        marks: list[ColumnSet] = []
        told: dict[ColumnId, ColumnId] = {}

        def bindings(needed: ColumnSet) -> tuple[Tree, Repr]:
            if left.volatile:
                raise Stays("its left input is volatile, so it cannot be evaluated twice for a domain")
            marks.append(needed)
            found, held = self.domains.of(source, needed, exact)
            return with_zeros(found, held, told, self.columns), held

        free &= inside.outer  # what stands above an aggregate is computed of the left row
        if zeros := ambiguous(inside, free, self.columns):
            same = source is left
            left = zeros_told_apart(left, zeros, told, self.columns)
            source = left if same else zeros_told_apart(source, zeros, told, self.columns)
            free |= column_set(told.values())
        state = Unnesting(free, bindings, self.substitute and not exact, told)
        if found is not None:
            below, repr = self.push(tree_of(found.aggregate.inputs[0]), state, state.outer, {})
            after = over_one_row(op, predicate, left, found, below, repr, self.columns)
        else:
            # UNKNOWN matters to a mark
            seen = () if op.kind is JoinKind.MARK else tuple(as_outer(s, left.columns) for s in predicate)
            equal = with_equalities({}, seen, free)
            inner, repr = self.push(right, state, free, equal)
            predicate = conjunction([*predicate, *join_back(left, inner, repr, op.kind, self.columns)])
            after = Tree(join_of_kind(op.kind, predicate, op.mark), (left, inner))
        how = f"domain of {named(self.columns, union(marks))}" if marks else "inner columns cover the free columns"
        return after, how

    # -- D A× R -----------------------------------------------------------------------------------------------------------

    def push(self, tree: Tree, state: Unnesting, need: ColumnSet, equal: Equal) -> tuple[Tree, Repr]:
        """The rows of `tree` for each binding, with the bindings of at least `need` in the columns returned.

        `equal`: local columns of the tree that are known to equal an outer one in every row that matters further up.
        """
        need = state.read(need)
        if not tree.outer & state.outer:
            return self._reached(tree, state, need, equal)
        op, inputs = tree.op, [tree_of(each) for each in tree.inputs]
        match op:
            case Filter(predicate):
                known = with_equalities(equal, predicate, state.outer)
                inner, repr = self.push(inputs[0], state, need | _read(op, state), known)
                return filtered(localized_predicate(predicate, repr), inner), repr
            case Scan(predicate=predicate):
                plain = Tree(replace(op, predicate=()))
                return self.push(Tree(Filter(predicate), (plain,)), state, need, equal)
            case Project(items):
                return self._push_project(items, inputs[0], state, need, equal)
            case Values():
                return self._push_values(op, state, need)
            case Join(JoinKind.INNER):
                return self._push_inner(op, inputs[0], inputs[1], state, need, equal)
            case Join(JoinKind.RIGHT, predicate):
                swapped = Tree(Join(JoinKind.LEFT, predicate), (inputs[1], inputs[0]))
                return self.push(swapped, state, need, equal)
            case Join(JoinKind.FULL, predicate):
                return self._push_full(predicate, inputs[0], inputs[1], state, need)
            case IndependentJoin():
                return self._push_left(op, inputs[0], inputs[1], state, need, equal)
            case Apply():
                return self._push_apply(tree, op, state, need, equal)
            case Aggregate(keys, aggregates):
                if not keys:
                    return self._push_scalar_aggregate(op, inputs[0], state, need)
                inner, repr = self.push(inputs[0], state, need | _read(op, state), within(equal, column_set(keys)))
                held = {c: repr[c] for c in column_ids(need)}
                every = tuple(dict.fromkeys((*keys, *held.values())))
                return Tree(Aggregate(every, local_calls(aggregates, repr)), (inner,)), held
            case GroupingSets():
                return self._push_grouping_sets(op, inputs[0], state, need)
            case Window(partition, order, windows):
                inner, repr = self.push(inputs[0], state, need | _read(op, state), within(equal, column_set(partition)))
                parts = tuple(dict.fromkeys((*partition, *(repr[c] for c in column_ids(need)))))
                return Tree(Window(parts, order, local_calls(windows, repr)), (inner,)), repr
            case Limit():
                inner, repr = self.push(inputs[0], state, need, {})
                return first_rows(op, inner, tuple(repr[c] for c in column_ids(need)), self.columns), repr
            case SetOp(columns=columns, sources=sources):
                renamings = [renamed_equal(equal, dict(zip(columns, source, strict=True))) for source in sources]
                branches = [self.push(each, state, need, own) for each, own in zip(inputs, renamings, strict=True)]
                return self._united(op, branches, need)
        raise Stays(f"it has {op.name} in it")

    def _reached(self, tree: Tree, state: Unnesting, need: ColumnSet, equal: Equal) -> tuple[Tree, Repr]:
        """An operand that reads no outer column: the bindings are columns of its own, or it is joined with D."""
        tree = self.decorrelate(tree)
        if tree.volatile:
            raise Stays("a volatile expression must be evaluated for each row on its own")
        cover = within(equal, tree.columns)
        if state.substitute and all(c in cover for c in column_ids(need)):
            return tree, {c: cover[c][0] for c in column_ids(need)}
        if not need:
            return tree, {}
        bindings, repr = state.domain(need)
        return Tree(Join(JoinKind.INNER, ()), (bindings, tree)), repr

    def _push_project(
        self, items: tuple[ProjectItem, ...], below: Tree, state: Unnesting, need: ColumnSet, equal: Equal
    ) -> tuple[Tree, Repr]:
        op = Project(items)
        sources = {item.id: item.value.id for item in items if isinstance(item.value, ColumnRef)}
        wanted = renamed_equal(equal, sources)
        inner, repr = self.push(below, state, need | _read(op, state), wanted)
        made = {item.id: item for item in items}
        kept = [ProjectItem(item.id, localized(item.value, repr)) for item in items]
        found: Repr = {}
        for outer, local in repr.items():
            if local in made:
                value = made[local].value
                if isinstance(value, ColumnRef) and value.id == local:
                    found[outer] = local
                    continue
                raise Stays("a projection gives a new meaning to a column that holds a binding")
            if local not in found.values():
                kept.append(ProjectItem(local, reference(local, self.columns)))
            found[outer] = local
        return Tree(Project(tuple(kept)), (inner,)), found

    def _push_values(self, op: Values, state: Unnesting, need: ColumnSet) -> tuple[Tree, Repr]:
        """Each row that reads outer columns is a projection of D."""
        needed = need | _read(op, state)
        branches: list[tuple[Tree, Repr]] = []
        sources: list[tuple[ColumnId, ...]] = []
        for row in op.rows:
            bindings, repr = state.domain(needed)
            ids = tuple(self.columns.like(c) for c in op.columns)
            items = [ProjectItem(id, localized(item, repr)) for id, item in zip(ids, row, strict=True)]
            branches.append((Tree(Project((*passed_all(bindings, self.columns), *items)), (bindings,)), repr))
            sources.append(ids)
        return self._united(SetOp(SetOpKind.UNION, True, op.columns, tuple(sources)), branches, need)

    def _push_inner(
        self, op: Join, left: Tree, right: Tree, state: Unnesting, need: ColumnSet, equal: Equal
    ) -> tuple[Tree, Repr]:
        needed = need | _read(op, state)
        equal = with_equalities(equal, op.predicate, state.outer)
        reads_left, reads_right = left.outer & state.outer, right.outer & state.outer
        on_left, on_right = within(equal, left.columns), within(equal, right.columns)
        if reads_left and reads_right:
            a, repr = self.push(left, state, needed | reads_right, on_left)
            b, other = self.push(right, state, reads_right, on_right)
            predicate = [*localized_predicate(op.predicate, repr), *meet(a, repr, b, other, False, self.columns)]
            return Tree(Join(JoinKind.INNER, conjunction(predicate)), (a, b)), repr
        if not reads_left and not reads_right:
            plain = Tree(replace(op, predicate=tuple(s for s in op.predicate if not s.outer & state.outer)), (left, right))
            reading = tuple(s for s in op.predicate if s.outer & state.outer)
            return self.push(Tree(Filter(reading), (plain,)), state, need, equal)
        sides = (left, on_left), (right, on_right)
        (reader, on_reader), (beside, on_beside) = sides if reads_left else sides[::-1]
        taken = needed & ~(reads_left | reads_right) & column_set(on_beside) & ~column_set(on_reader) if state.substitute else 0
        a, repr = self.push(reader, state, needed & ~taken, on_reader)
        b, other = self._reached(beside, state, taken, on_beside)  # it has those in columns of its own
        repr = {**repr, **other}
        pair = (a, b) if reads_left else (b, a)
        return Tree(Join(JoinKind.INNER, localized_predicate(op.predicate, repr)), pair), repr

    def _push_left(
        self, op: IndependentJoin, left: Tree, right: Tree, state: Unnesting, need: ColumnSet, equal: Equal
    ) -> tuple[Tree, Repr]:
        """A join that keeps its left rows carries the bindings on the left; on the right too where that reads outer columns."""
        reads_right, mark = right.outer & state.outer, op.kind is JoinKind.MARK
        on_left = within(equal, left.columns)
        if op.kind is JoinKind.SEMI:
            on_left = within(with_equalities(equal, op.predicate, state.outer), left.columns)
        a, repr = self.push(left, state, need | reads_right | _read(op, state), on_left)
        predicate = localized_predicate(op.predicate, repr, mark)
        if reads_right:
            on_right = within(with_equalities({}, () if mark else op.predicate, state.outer), right.columns)
            b, other = self.push(right, state, reads_right, on_right)
            predicate = conjunction([*predicate, *meet(a, repr, b, other, mark, self.columns)])
        else:
            b = self.decorrelate(right)
        return Tree(op.with_predicate(predicate), (a, b)), repr

    def _push_full(self, predicate: Predicate, left: Tree, right: Tree, state: Unnesting, need: ColumnSet) -> tuple[Tree, Repr]:
        """Both sides carry the bindings; above the join they come from the side that has a row."""
        op = Join(JoinKind.FULL, predicate)
        needed = need | _read(op, state) | state.read(left.outer | right.outer)
        a, repr = self.push(left, state, needed, {})
        b, other = self.push(right, state, needed, {})
        a, from_left = with_witness(a, "left_row", self.columns)
        on = conjunction([*localized_predicate(predicate, repr), *meet(a, repr, b, other, False, self.columns)])
        joined = Tree(Join(JoinKind.FULL, on), (a, b))
        items = list(passed_all(joined, self.columns))
        found: Repr = {}
        for outer in column_ids(needed):
            here, there = (reference(side[outer], self.columns) for side in (repr, other))
            found[outer] = self.columns.like(here.id)
            items.append(ProjectItem(found[outer], Case(((from_left, here),), there, here.type)))
        return Tree(Project(tuple(items)), (joined,)), found

    def _push_apply(self, tree: Tree, op: Apply, state: Unnesting, need: ColumnSet, equal: Equal) -> tuple[Tree, Repr]:
        """A nested Apply: its left input carries the bindings, and they are ordinary columns of it to the right input."""
        left, right = tree_of(tree.inputs[0]), tree_of(tree.inputs[1])
        if not right.outer & left.columns:
            plain = Tree(join_of_kind(op.kind, tuple(bound_to(s, left.columns) for s in op.predicate), op.mark), (left, right))
            return self.push(plain, state, need, equal)
        reads = (right.outer | op.outer_columns()) & state.outer
        a, repr = self.push(left, state, need | reads, within(equal, left.columns))
        values: dict[ColumnId, Scalar] = {o: OuterRef(c, self.columns[c].type) for o, c in repr.items()}
        predicate = tuple(localized(s, repr) for s in op.predicate)
        return self._joined(tree, replace(op, predicate=conjunction(predicate)), a, replace_outer(right, values)), repr

    def _push_scalar_aggregate(self, op: Aggregate, below: Tree, state: Unnesting, need: ColumnSet) -> tuple[Tree, Repr]:
        """One row for each binding, also for those without input rows: D ⟕ Γ_D, with the values over no rows put in."""
        needed = need | _read(op, state)
        inner, repr = self.push(below, state, needed, {})
        bindings, outer = state.domain(needed)
        held = {c: repr[c] for c in column_ids(needed)}
        return row_for_each(op.aggregates, bindings, outer, inner, held, self.columns), outer

    def _push_grouping_sets(self, op: GroupingSets, below: Tree, state: Unnesting, need: ColumnSet) -> tuple[Tree, Repr]:
        """The bindings are keys of every set. An empty set has a row also without input: it is a scalar aggregate of its own."""
        if 0 in op.sets:
            return self.push(apart(op, below, self.columns), state, need, {})
        inner, repr = self.push(below, state, need | _read(op, state), {})
        found = {c: self.columns.like(repr[c], self.columns[repr[c]].nullable) for c in column_ids(need)}
        keys = (*op.keys, *(GroupingKey(id, repr[outer]) for outer, id in found.items()))
        sets = tuple(each | column_set(found.values()) for each in op.sets)
        return Tree(GroupingSets(keys, sets, local_calls(op.aggregates, repr), op.number), (inner,)), found

    def _united(self, op: SetOp, branches: Sequence[tuple[Tree, Repr]], need: ColumnSet) -> tuple[Tree, Repr]:
        """The set operation with a column more for each binding, in the same positions of every branch."""
        found = {c: self.columns.like(c) for c in column_ids(need)}
        columns = (*op.columns, *found.values())
        sources = tuple((*s, *(repr[c] for c in found)) for s, (_, repr) in zip(op.sources, branches, strict=True))
        parts = tuple(tree for tree, _ in branches)
        if len(parts) == 1:
            return Tree(Project(passed_as(columns, sources[0], self.columns)), parts), found
        return Tree(replace(op, columns=columns, sources=sources), parts), found


def _read(op: LogicalOperator, state: Unnesting) -> ColumnSet:
    return state.read(op.outer_columns())
