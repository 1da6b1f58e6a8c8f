"""What a row count belongs to: relations with their predicates and the operators over them, not one way of writing them.

Every expression of a group has the same `RelationSet`, as far as rows go: the inputs of inner joins are one set, their conjuncts
another, wherever an expression tests them.
"""

from collections.abc import Sequence

from optimizer.algebra.building import filtered
from optimizer.algebra.canonical import CanonicalTexts, digest
from optimizer.algebra.columns import Columns
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter, LogicalOperator, Project, Scan
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.rebuild import copy_tree
from optimizer.algebra.scalars import Predicate
from optimizer.algebra.spools import CteReference
from optimizer.algebra.trees import Tree, postorder
from optimizer.stats.estimator import Estimator
from optimizer.stats.relation import RelationStats


class RelationSet:
    """`tree`: an expression that gives the rows. `texts` writes it down."""

    __slots__ = ("_texts", "tree")

    def __init__(self, tree: Tree, texts: CanonicalTexts) -> None:
        self.tree, self._texts = tree, texts

    @property
    def scans(self) -> tuple[Scan, ...]:
        """The tables read (with alias and pushed predicate), as often as they are read."""
        return tuple(node.op for node in postorder(self.tree) if isinstance(node, Tree) and isinstance(node.op, Scan))

    @property
    def predicate(self) -> Predicate:
        """Conjuncts of its joins and filters, without those pushed into scans."""
        ops = [node.op for node in postorder(self.tree) if isinstance(node, Tree)]
        return tuple(s for op in ops if isinstance(op, Join | JoinGraph | Filter) for s in op.predicate)

    @property
    def aliases(self) -> frozenset[str] | None:
        """The aliases of the tables (in lower case) where it is no more than an inner join of them, each read once; else None."""
        found: list[str] = []
        for node in postorder(self.tree):
            match node:
                case Tree(Scan(alias=alias, limit=None)):
                    found.append(alias.lower())
                case Tree(Filter() | Project() | JoinGraph() | Join(kind=JoinKind.INNER)):
                    pass
                case _:
                    return None
        return frozenset(found) if len(set(found)) == len(found) else None

    @property
    def closed(self) -> bool:
        """Whether it has one number of rows: it reads no outer column, and nothing in it is volatile."""
        return not self.tree.outer and not self.tree.volatile

    @property
    def text(self) -> str:
        """The same for every expression of a group and in every query that asks for the same rows."""
        return self._texts(self.tree)

    @property
    def digest(self) -> str:
        """32 hex digits of `text`."""
        return digest(self.text)


def joined(leaves: Sequence[Tree], predicate: Predicate) -> Tree:
    """The inner join of `leaves`, in the order given. Conjuncts that may raise or are volatile are tested after all others."""
    last = tuple(s for s in predicate if s.raises or s.volatile)
    safe = tuple(s for s in predicate if not (s.raises or s.volatile)) if last else predicate
    tree = leaves[0]
    if len(leaves) > 1:
        tree = Tree(JoinGraph(safe), tuple(leaves))
    elif safe:
        tree = Tree(Filter(safe), (tree,))
    return filtered(last, tree)


def estimated(estimator: Estimator, tree: Tree) -> RelationStats:
    """What another estimator says of the rows of a tree."""
    found: dict[int, RelationStats] = {}
    for node in postorder(tree):
        assert isinstance(node, Tree), "a relation set holds no memo groups"
        found[id(node)] = estimator.estimate(node.op, node.props, [found[id(child)] for child in node.inputs])
    return found[id(tree)]


def under_columns(held: Tree, op: CteReference, columns: Columns) -> Tree:
    """The rows that a spool holds, as a reference to it has them."""
    return copy_tree(held, columns, {c.source: c.id for c in op.columns})[0]


def expression(op: LogicalOperator, inputs: Sequence[RelationStats]) -> Tree | None:
    """The canonical expression of an operator over inputs that have one; None if some input has none."""
    trees = [stats.tree for stats in inputs]
    if any(tree is None for tree in trees):
        return None
    return Tree(op, tuple(tree for tree in trees if tree is not None))
