"""Semi-join reduction: below a join, only those groups are computed that the other side has partners for.

    γG;f(A) ⋈p B  ≡  γG;f(A ⋉k π(B)) ⋈p B        k: what p says is equal, columns of G and of B

Groups without a partner are not in the result, so none of their rows needs to be aggregated. The same for windows and what they
are partitioned by. What B says goes through the operators between: filters, projections, unions, further joins. B is computed
twice, so the reduced tree is not always cheaper: the search has the choice of both.

Kinds   inner and semi: either side says what the other needs; left and anti: the left side, right: the right side
NULLs   safe: a NULL equals nothing, in the join and in the semi-join
Rows    same bag: groups are kept or dropped as a whole, and only those are dropped that the join drops
Guards  B is a filtered scan; the columns of k are keys of the groups, and of the partitions; nothing on the way or below is
        volatile or reads outer columns; no LIMIT, INTERSECT, EXCEPT, mark or single join on the way
Source  Bernstein and Chiu, JACM 28(1), 1981 (semi-joins); Seshadri et al., SIGMOD 1996 (magic sets, chosen by cost)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from optimizer.algebra.building import tree_of
from optimizer.algebra.columns import ColumnSet, column_ids, column_set, union
from optimizer.algebra.kinds import JoinKind, SetOpKind
from optimizer.algebra.logical import Aggregate, Choice, Filter, LogicalOperator, Project, Scan, SetOp, Window
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import compare, conjunction
from optimizer.algebra.props import merge_equivalences
from optimizer.algebra.rebuild import copy_tree
from optimizer.algebra.scalars import Call, ColumnRef, Scalar
from optimizer.algebra.trees import Node, Tree, postorder
from optimizer.prepass.known import equalities
from optimizer.prepass.rules.column_prune import narrow
from optimizer.rules.interface import RuleContext

MOST = 4  # semi-joins that are added to a query


class _Known(NamedTuple):
    """Of the rows that matter: `equal`, classes of columns that are equal; `producers`: each has a row for each of them. Rows
    with another value in a column that equals a producer's do not matter: they may be dropped, or others put in their place."""

    equal: tuple[ColumnSet, ...] = ()
    producers: tuple[Tree, ...] = ()

    def with_equal(self, classes: Iterable[ColumnSet]) -> _Known:
        return self._replace(equal=merge_equivalences((*self.equal, *classes)))

    def within(self, columns: ColumnSet) -> _Known:
        """What is left of it where only `columns` are seen."""
        columns |= union(producer.columns for producer in self.producers)
        return self._replace(equal=tuple(members & columns for members in self.equal))


NOTHING = _Known()


def with_semi_joins(root: Tree, context: RuleContext) -> Tree:
    """The tree with semi-joins below groups and windows; the same object where there are none to add."""
    if not any(isinstance(node, Tree) and _groups(node.op) for node in postorder(root)):
        return root
    left = MOST
    built: list[Node] = []
    stack: list[tuple[Node, _Known, bool]] = [(root, NOTHING, False)]
    while stack:
        node, known, inputs_done = stack.pop()
        if not isinstance(node, Tree) or isinstance(node.op, Choice):
            built.append(node)
        elif not inputs_done:
            known = known.within(node.columns)
            stack.append((node, known, True))
            stack += [(i, k, False) for i, k in reversed(list(zip(node.inputs, _below(node, known), strict=True)))]
        else:
            first = len(built) - len(node.inputs)
            tree = node.with_inputs(tuple(built[first:]))
            del built[first:]
            if tree is node and _groups(node.op):
                for producer in known.producers:
                    reduced = _reduced(tree, producer, known, context) if left else tree
                    left -= reduced is not tree
                    tree = reduced
            built.append(tree)
    return tree_of(built[0])


def _groups(op: LogicalOperator) -> ColumnSet:
    """The columns of which an operator needs all rows with the same values, or none."""
    return column_set(op.keys if isinstance(op, Aggregate) else op.partition if isinstance(op, Window) else ())


def _below(node: Tree, known: _Known) -> list[_Known]:
    """What is known of the rows that matter in each input."""
    nothing = [NOTHING] * len(node.inputs)
    if any(s.volatile for s in node.op.scalars()):
        return nothing
    known = known.with_equal(node.props.equivalences)
    match node.op:
        case Aggregate() | Window():
            return [known.within(_groups(node.op))]
        case Filter():
            return [known]
        case Project(items):
            return [known.with_equal(1 << i.id | 1 << i.value.id for i in items if isinstance(i.value, ColumnRef))]
        case SetOp(SetOpKind.UNION, _, columns, sources):
            return [known.with_equal(1 << a | 1 << b for a, b in zip(columns, source, strict=True)) for source in sources]
        case Join(kind, predicate) if kind is not JoinKind.FULL:
            found = []
            for drops, one, other in zip((kind.drops_left, kind.drops_right), node.inputs, reversed(node.inputs), strict=True):
                mine = known
                if drops:  # the other side says which rows matter, too
                    mine = known.with_equal((*other.props.equivalences, *equalities(predicate)))
                    mine = mine._replace(producers=(*mine.producers, *_producers(other)))
                found.append(mine.with_equal(one.props.equivalences))
            return found
    return nothing


def _producers(root: Node) -> list[Tree]:
    """Filtered scans that have a row for each row of a tree."""
    found, stack = [], [root]
    while stack:
        match stack.pop():
            case Tree(Scan(predicate=predicate, limit=None)) as scan if any(selects(s) for s in predicate):
                if not scan.volatile and not scan.outer:
                    found.append(scan)
            case Tree(Filter() | Project(), (below,)):
                stack.append(below)
            case Tree(Join(kind), (left, right)):
                stack += [right] * (kind in (JoinKind.INNER, JoinKind.RIGHT))
                stack += [left] * (kind not in (JoinKind.RIGHT, JoinKind.FULL))
    return found


def selects(conjunct: Scalar) -> bool:
    return not (isinstance(conjunct, Call) and conjunct.function == "is_not_null")


def _reduced(tree: Tree, producer: Tree, known: _Known, context: RuleContext) -> Tree:
    """Groups without those that have no partner in `producer`, if its columns are among what is grouped by."""
    below = tree.inputs[0]
    columns, keys = context.columns, _groups(tree.op)
    pairs = [
        (a, b)
        for members in known.equal
        for b in column_ids(members & producer.columns)
        for a in column_ids(members & keys)
        if columns[a].type == columns[b].type
    ]
    if not pairs or not isinstance(below, Tree) or tree.volatile or below.outer:
        return tree
    narrowed = tree_of(narrow(producer, column_set(b for _, b in pairs), context))
    partner, new = copy_tree(narrowed, columns)
    conjuncts = []
    for a, b in pairs:  # columns are in one class also where NULL is as NULL
        strict = below.props.not_null >> a & 1 or partner.props.not_null >> new[b] & 1
        function = "=" if strict else "is_not_distinct_from"
        conjuncts.append(compare(function, ColumnRef(a, columns[a].type), ColumnRef(new[b], columns[b].type)))
    return Tree(tree.op, (Tree(Join(JoinKind.SEMI, conjunction(conjuncts)), (below, partner)),))
