"""A region of joins of any kind that may be reordered: its relations, and the join that stands over each split of them.

The operators within a set of relations are those whose TES lies in it. Every plan of the set has applied exactly these, so
all its plans give the same rows. A split (a, b) is valid if what is within a | b and in neither part can be applied by one
join: at most one operator that is not inner, with its left relations on one side and its right ones on the other, and
inner conjuncts, which go into the predicate of an inner join and into a filter above any other.

`graph` has an edge for each operator, a superset of the valid splits: a partitioner proposes, `joins` decides, and `buildable`
tells whether a part has any plan at all.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from optimizer.algebra.building import tree_of
from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids, union
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, LogicalOperator, show_predicate
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import combined, equality_sides
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import ColumnRef, Predicate, Scalar
from optimizer.algebra.trees import Node, Tree
from optimizer.joins.conflicts import Edge, detect
from optimizer.joins.forced import Forced
from optimizer.joins.graph import JoinGraph, Relations, bits, subsets, union_over
from optimizer.joins.operator_tree import RegionOperator, operators_of
from optimizer.joins.partition.hypergraph import connected, hypergraph

T = TypeVar("T")
OperatorSet = int  # operators of a region, by number

WIDEST = 6  # relations of a conjunct that may be split in every way; a wider one only as in the initial tree


class RegionJoin(NamedTuple):
    """The join to put on top of two plans, in the order of the split, and the filter above it (empty: none)."""

    join: Join
    filter: Predicate

    def over(self, left: Node, right: Node) -> Tree:
        tree = Tree(self.join, (left, right))
        return Tree(Filter(self.filter), (tree,)) if self.filter else tree


class _Made(NamedTuple):
    """What a set of operators makes of a split: `forward` with `left` in its first part and `right` in its second, `backward`
    the other way round; for inner joins both sides are empty."""

    left: Relations
    right: Relations
    hidden: bool  # the right part must be no more than the operator's right input
    forward: RegionJoin
    backward: RegionJoin | None


class JoinRegion:
    """Vertex i is `leaves[i]`, with `columns[i]`. `operators[k]` has the TES and rules `edges[k]`."""

    def __init__(self, tree: Tree, cross: bool | None = False) -> None:
        """The maximal region at a join; its leaves are trees or memo groups. `cross`: with all cross products, or with none
        (None); else with those of sets that have no plan without."""
        self.leaves, self.columns, self.operators = operators_of(tree, bool(cross))
        self.edges = edges = tuple[Edge, ...](detect([o.operator for o in self.operators]))
        self.inner_only = all(o.operator.kind is JoinKind.INNER for o in self.operators)
        n = len(self.leaves)
        self._everything: OperatorSet = (1 << len(self.operators)) - 1
        needing = [0] * n  # by relation: operators whose TES holds it
        needing_left, needing_right = needing[:], needing[:]  # those that are not inner, by side
        outer = linking = ruled = products = 0
        for k, (operator, edge) in enumerate(zip(self.operators, self.edges, strict=True)):
            for bit in bits(edge.tes):
                needing[bit.bit_length() - 1] |= 1 << k
            if operator.operator.kind is not JoinKind.INNER:
                outer |= 1 << k
                for side, relations in ((needing_left, edge.tes_left), (needing_right, edge.tes_right)):
                    for bit in bits(relations):
                        side[bit.bit_length() - 1] |= 1 << k
            if operator.operator.kind is not JoinKind.INNER or operator.reads == edge.tes:
                linking |= 1 << k
            if edge.rules:
                ruled |= 1 << k
            if not operator.predicate and operator.operator.kind is JoinKind.INNER:
                products |= 1 << k
        self._needing, self._outer, self._linking, self._ruled = needing, outer, linking, ruled
        self._needing_left, self._needing_right = needing_left, needing_right
        self._idle: OperatorSet = products if cross is None else 0  # what must not be all that joins two sets
        self.graph = JoinGraph(n, (), (pair for k in range(len(edges)) if not self._idle >> k & 1 for pair in self._ends(k)))
        self._dead: dict[Relations, bool] = {}
        self._within: dict[Relations, OperatorSet] = {}
        self._made: dict[OperatorSet, _Made | None] = {}
        self._buildable: dict[Relations, bool] = {}
        self._first: dict[Relations, tuple[Relations, Relations]] = {}
        self.props: dict[Relations, LogicalProps] = {}  # of sets, as their join graphs derived them
        self._plain = JoinRegion(tree, None) if products and cross is False else None
        self.force(())

    def within(self, s: Relations) -> OperatorSet:
        """Operators applied in every plan of `s`."""
        known = self._within.get(s)
        if known is None:
            known = self._within[s] = self._everything & ~union_over(self.graph.all & ~s, self._needing)
        return known

    def inner_predicate(self, s: Relations) -> Predicate | None:
        """What is joined on in a set whose joins are all inner, and such that a join graph may have it; else None."""
        if self.within(s) & self._outer:
            return None
        conjuncts = [c for operator in self._applied(s) for c in operator.predicate]
        return None if any(c.volatile or c.raises for c in conjuncts) else combined(conjuncts)

    def visible(self, s: Relations) -> ColumnSet:
        """Columns that a plan of `s` gives: those of its relations, without the right side of semi and anti joins."""
        for k in bits(self.within(s) & self._outer):
            operator = self.operators[k.bit_length() - 1].operator
            if operator.kind.left_only:
                s &= ~operator.right
        return union_over(s, self.columns)

    def joins(self, a: Relations, b: Relations) -> RegionJoin | None:
        """The join of a plan of `a`, its left input, with a plan of `b`; None if none, or more than one, is due there."""
        new = self.within(a | b) & ~(self.within(a) | self.within(b))
        links = new & ~self._idle
        if not links or (new & self._ruled and not self._rules_allow(new, a | b)) or (self._outer and self._stuck(a | b)):
            return None
        if not links & self._linking and not self._links(links, a, b):
            return None
        if new in self._made:
            made = self._made[new]
        else:
            made = self._made[new] = self._make(new)
        if made is None:
            return None
        if not made.left & ~a and not made.right & ~b:
            return made.forward if not made.hidden or not b & ~made.right else None
        if not made.left & ~b and not made.right & ~a:
            return made.backward
        return None

    def buildable(self, s: Relations) -> bool:
        """Whether `s` has a plan: it is one relation, or it has a valid split into buildable parts. Iterative."""
        if self.inner_only:
            return connected(self.graph, s)
        known = self._buildable
        splits: dict[Relations, list[Relations]] = {}  # of the sets on the stack, those not refuted yet
        stack = [s] if s & s - 1 else []
        while stack:
            at = stack[-1]
            if at not in splits:
                splits[at] = [] if at in known else self._proposals(at)
            while splits[at]:
                part, other = splits[at][-1], at ^ splits[at][-1]
                if self._joined(part, other):
                    unknown = [p for p in (part, other) if p & p - 1 and p not in known]
                    if unknown:
                        stack.append(unknown[0])
                        break
                    if known.get(part, True) and known.get(other, True):
                        known[at] = True
                        stack.pop()
                        break
                splits[at].pop()
            else:
                known.setdefault(at, False)
                stack.pop()
        return known.get(s, s != 0)

    def partitions(self, s: Relations) -> list[Relations]:
        """The valid splits of `s` into two buildable parts, each once, as the part with the lowest relation."""
        parts = [part for part in self._proposals(s) if self._joined(part, s ^ part)]
        return parts if self.inner_only else [part for part in parts if self.buildable(part) and self.buildable(s ^ part)]

    def force(self, sets: Iterable[Relations]) -> None:
        """From now on every join order has to have these sets (`joins.forced`)."""
        self.forced = Forced(sets)
        self._splits: dict[Relations, list[Relations]] = {}

    def splits(self, s: Relations) -> list[Relations]:
        """The partitions of `s` that the forced order leaves. Deep as a join tree."""
        if not self.forced.sets:
            return self.partitions(s)
        known = self._splits.get(s)
        if known is None:
            allows = self.forced.allows
            parts = [part for part in self.partitions(s) if allows(part) and allows(s ^ part)]
            known = self._splits[s] = [part for part in parts if self.possible(part) and self.possible(s ^ part)]
        return known

    def possible(self, s: Relations) -> bool:
        """Whether `s` has a plan in the forced order."""
        return not s & (s - 1) or bool(self.splits(s))

    def written(self, s: Relations, leaves: Sequence[Node]) -> Tree:
        """A join tree of a set over its leaves (lowest relation first): at each set the first valid split."""
        return tree_of(self.folded(s, leaves, Tree, {}))

    def folded(
        self, s: Relations, leaves: Sequence[T], apply: Callable[[LogicalOperator, tuple[T, ...]], T], known: dict[Relations, T]
    ) -> T:
        """What `apply` makes, operator by operator, of the join tree of a set that `written` gives. `known`: what it made of sets
        before, which holds as long as the leaves are the same. Iterative."""
        given = dict(zip(bits(s), leaves, strict=True))
        if any(known.get(bit, leaf) is not leaf for bit, leaf in given.items()):
            known.clear()
        known.update(given)
        stack = [] if s in known else [s]
        while stack:
            at = stack[-1]
            a, b = self._first_split(at)
            missing = [part for part in (b, a) if part not in known]
            if missing:
                stack += missing
                continue
            stack.pop()
            made = self.joins(a, b)
            assert made is not None
            joined = apply(made.join, (known[a], known[b]))
            known[at] = apply(Filter(made.filter), (joined,)) if made.filter else joined
        return known[s]

    def _first_split(self, s: Relations) -> tuple[Relations, Relations]:
        """The two parts of the first valid split of `s`, in an order in which they can be joined."""
        known = self._first.get(s)
        if known is None:
            a = self.partitions(s)[0]
            known = self._first[s] = (a, s ^ a) if self.joins(a, s ^ a) is not None else (s ^ a, a)
        return known

    def _proposals(self, s: Relations) -> list[Relations]:
        return hypergraph(self.graph, s) if connected(self.graph, s) else []

    def _joined(self, a: Relations, b: Relations) -> bool:
        if self.joins(a, b) is None and self.joins(b, a) is None:
            return False
        plain = self._plain
        return plain is None or not plain.buildable(a | b) or (plain.buildable(a) and plain.buildable(b))

    def _stuck(self, s: Relations) -> bool:
        """Whether `s` has a part of both sides of an operator that is not inner and lacks another: no join will apply it."""
        known = self._dead.get(s)
        if known is None:
            left, right = self._sides(s)
            known = self._dead[s] = bool(left & right & ~self.within(s))
        return known

    def _rules_allow(self, new: OperatorSet, s: Relations) -> bool:
        return all(rule.allows(s) for k in bits(new & self._ruled) for rule in self.edges[k.bit_length() - 1].rules)

    def _links(self, new: OperatorSet, a: Relations, b: Relations) -> bool:
        """Whether some of the operators reads relations of both parts: else they would be joined by a cross product."""
        reads = (self.operators[k.bit_length() - 1].reads for k in bits(new))
        return any(r & a and r & b for r in reads)

    def _make(self, new: OperatorSet) -> _Made | None:
        conjuncts: list[Scalar] = []
        for k in bits(new & ~self._outer):
            conjuncts += self.operators[k.bit_length() - 1].predicate
        outer = new & self._outer
        if not outer:
            # a predicate that is kept whole may hold a volatile conjunct more than once
            predicate = tuple(conjuncts) if not new & new - 1 else combined(conjuncts)
            plain = RegionJoin(Join(JoinKind.INNER, predicate), ())
            return _Made(0, 0, False, plain, plain)
        if outer & outer - 1:
            return None
        number = outer.bit_length() - 1
        edge, predicate, above = self.edges[number], self.operators[number].predicate, combined(conjuncts)
        kind = edge.operator.kind
        if not kind.left_only:
            forward, mirrored = (RegionJoin(Join(k, predicate), above) for k in (kind, kind.mirrored) if k is not None)
            return _Made(edge.tes_left, edge.tes_right, False, forward, mirrored)
        hidden = union_over(edge.operator.right, self.columns)
        if any(s.columns & hidden for s in above):
            return None
        return _Made(edge.tes_left, edge.operator.right, True, RegionJoin(Join(kind, predicate), above), None)

    def _ends(self, number: int) -> Iterator[tuple[Relations, Relations]]:
        """The pairs of sets that an operator connects.

        The TES of an inner conjunct may be split anywhere that parts relations it reads. Where this would part both sides of
        another kind of operator, that one has to be applied there, and connects the sets itself.
        """
        edge, reads = self.edges[number], self.operators[number].reads
        if edge.operator.kind is JoinKind.INNER and 2 < edge.tes.bit_count() <= WIDEST:
            for v in subsets(edge.tes ^ (edge.tes & -edge.tes)):
                u = edge.tes ^ v
                (u_left, u_right), (v_left, v_right) = self._sides(u), self._sides(v)
                if u & reads and v & reads and not u_left & v_right and not u_right & v_left:
                    yield u, v
        elif reads & edge.operator.left and reads & edge.operator.right:
            yield edge.tes_left, edge.tes_right

    def _sides(self, s: Relations) -> tuple[OperatorSet, OperatorSet]:
        """The operators that are not inner and need some of `s` on their left, and on their right."""
        return union_over(s, self._needing_left), union_over(s, self._needing_right)

    # -- for those who look ---------------------------------------------------------------------------------------------------

    def describe_set(self, s: Relations, label: Callable[[ColumnId], str] = str) -> str:
        """The operators that every plan of a set applies: kinds and predicates."""
        return "; ".join(f"{o.operator.kind.value} on {show_predicate(o.predicate, label)}" for o in self._applied(s))

    def outer_columns(self, s: Relations) -> ColumnSet:
        """Columns of enclosing queries that the operators read that every plan of a set applies."""
        return union(conjunct.outer for operator in self._applied(s) for conjunct in operator.predicate)

    def left_keys(self, s: Relations) -> list[ColumnId]:
        """Columns that the operators of `s` equate with others, of each pair the one on the left, which a merge join comes by."""
        found = []
        for each in self._applied(s):
            kind, sides = each.operator.kind, (each.operator.left, each.operator.right)
            left, right = (union_over(side, self.columns) for side in sides)
            for conjunct in each.predicate if kind is not JoinKind.FULL else ():
                match equality_sides(conjunct, left, right):
                    case ColumnRef() as a, ColumnRef():
                        found.append(a.id)
        return found

    def _applied(self, s: Relations) -> list[RegionOperator]:
        return [self.operators[k.bit_length() - 1] for k in bits(self.within(s))]

    def refusal(self, a: Relations, b: Relations, name: Callable[[int], str] = str) -> str | None:
        """Why this is no split, in words; None if it is one. `name`: of a relation."""
        if self.joins(a, b) is not None:
            return None if self._joined(a, b) else "one of these is a cross product, as cross_products=true allows"
        new = self.within(a | b) & ~(self.within(a) | self.within(b))
        if not new:
            due = [edge for edge in self.edges if edge.tes & a and edge.tes & b]
            return _needs(due[0], name) if due else "no operator becomes applicable"
        for k in bits(new & self._ruled):
            for rule in self.edges[k.bit_length() - 1].rules:
                if not rule.allows(a | b):
                    kind = self.edges[k.bit_length() - 1].operator.kind.value
                    return f"the {kind} join needs {_names(rule.then, name)} where there is {_names(rule.when, name)}"
        if not new & self._linking and not self._links(new, a, b):
            return "a cross product: no operator reads relations of both parts"
        outer = [k.bit_length() - 1 for k in bits(new & self._outer)]
        if len(outer) > 1:
            kinds = [self.edges[k].operator.kind.value for k in outer]
            return f"a {' and a '.join(kinds)} join cannot be one join"
        edge = self.edges[outer[0]]
        if not edge.tes_left & ~b and not edge.tes_right & ~a:
            return f"a {edge.operator.kind.value} join has no mirror image"
        return _needs(edge, name)


def _names(s: Relations, name: Callable[[int], str] = str) -> str:
    return "{" + ", ".join(name(i) for i in column_ids(s)) + "}"


def _needs(edge: Edge, name: Callable[[int], str]) -> str:
    sides = _names(edge.tes_left, name), _names(edge.tes_right, name)
    return f"the {edge.operator.kind.value} join needs {sides[0]} on one side and {sides[1]} on the other"
