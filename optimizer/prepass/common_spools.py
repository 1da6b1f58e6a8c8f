"""Common parts of a query are computed once, kept, and read wherever they stand.

    ... A ... A' ...   ≡   With( Spool 1 [A],  ... read 1 ... read 1 as A' ... )        A' is A under other column ids

Readings of a table differ in the columns that pruning left of them, so each first reads what any of them reads; once the parts
are found, all are pruned again. Of parts within parts the largest are taken, and the others where they stand elsewhere too. What
is kept is not reordered with the joins around it, nor filtered by them, so it is not always cheaper: the search has the choice.

Kinds, NULLs, rows   untouched: each reader has the rows that its part would have had
Guards               nothing volatile, no column of an enclosing query; nothing inside a choice, of which one alternative is run
Source               Silva, Larson and Zhou, ICDE 2012 (common subexpressions in a Cascades optimizer, chosen by cost)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from optimizer.algebra.columns import ColumnId, Columns, column_ids
from optimizer.algebra.ctes import inlined_spools, references
from optimizer.algebra.logical import Choice, Filter, Limit, Project, Scan, ScanColumn, Values
from optimizer.algebra.rebuild import map_down, map_tree
from optimizer.algebra.spools import CteReference, Spool, SpoolColumn, With
from optimizer.algebra.trees import Node, Tree, postorder
from optimizer.prepass.semi_joins import selects
from optimizer.prepass.shapes import Shapes

MOST = 1_000  # operators of a query that are looked through
TITLE = "common part"
_ONE_ROW_EACH = (Filter, Limit, Project, Scan, Values)  # less than a join or groups to compute


def with_common_spools(root: Tree, columns: Columns) -> Tree:
    """The tree with a spool for each of its common parts; the same object where it has none."""
    if not _reads_again(root):
        return root
    wide = _widened(root, columns)
    found = _Spools(wide)
    body = map_down(wide, None, found.visit)
    assert isinstance(body, Tree)
    spools, numbers = found.spools, found.numbers
    readers = Counter(op.spool for part in (*spools, body) for op in references(part))
    once = [number for number in numbers.values() if readers[number] < 2]
    if len(once) == len(spools):
        return root
    return inlined_spools(Tree(With(), (*spools, body)), once, columns)


class _Spools:
    """The spools made so far. `numbers`: of each shape its spool; `first`: and the columns made in its tree, by place."""

    def __init__(self, root: Tree) -> None:
        self.shapes = Shapes()
        self.shapes.of(root)
        self.times = Counter(self.shapes.of(part) for part in _parts(root))
        self.numbers: dict[int, int] = {}
        self.first: dict[int, Sequence[ColumnId]] = {}
        self.spools: list[Tree] = []

    def visit(self, node: Node, state: None) -> Node | tuple[Tree, Sequence[None]]:
        """What stands in place of a node (`map_down`)."""
        if not isinstance(node, Tree) or isinstance(node.op, Choice):
            return node
        shape = self.shapes.of(node)
        if self.times[shape] == 1 or not _is_kept(node):
            return node, [None] * len(node.inputs)
        if shape not in self.numbers:
            self.first[shape] = self.shapes.columns(node)
            held = node.with_inputs(tuple(map_down(each, None, self.visit) for each in node.inputs))
            self.numbers[shape] = len(self.numbers) + 1
            self.spools.append(Tree(Spool(self.numbers[shape], TITLE), (held,)))
        return Tree(_reading(node, self.numbers[shape], self.shapes.columns(node), self.first[shape]))


def _reads_again(root: Tree) -> bool:
    """Whether some table is read twice by the same condition, as it has to be in a part that stands there twice."""
    scans = [part.op for _, part in zip(range(MOST), _parts(root), strict=False) if isinstance(part.op, Scan)]
    times = Counter(scan.table for scan in scans)
    seen = set[tuple[str, frozenset[str]]]()
    for scan in scans:
        if times[scan.table] > 1:
            names = defaultdict(str, {column.id: column.source for column in scan.columns})  # "": of the query around it
            read = scan.table, frozenset(conjunct.show(names.__getitem__) for conjunct in scan.predicate)
            if read in seen:
                return True
            seen.add(read)
    return False


def _parts(root: Tree) -> Iterator[Tree]:
    """The trees in a tree, each as often as it stands there, but for those inside a choice."""
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Tree) and not isinstance(node.op, Choice):
            yield node
            stack += node.inputs


def _is_kept(part: Tree) -> bool:
    """Whether it may be kept, and is more than a table as it is stored."""
    if part.volatile or part.outer or part.has_choice:
        return False
    ops = [node.op for node in postorder(part) if isinstance(node, Tree)]
    return any(not isinstance(op, _ONE_ROW_EACH) or (isinstance(op, Scan) and any(map(selects, op.predicate))) for op in ops)


def _reading(part: Tree, spool: int, own: Sequence[ColumnId], held: Sequence[ColumnId]) -> CteReference:
    """What reads a spool in place of a part; `own`, `held`: the columns made in the part and in the spool's tree, by place."""
    source = dict(zip(own, held, strict=True))
    read = tuple(SpoolColumn(id, source[id]) for id in column_ids(part.columns))
    return CteReference(spool, TITLE, read, part.props.keys, part.props.not_null)


def _widened(root: Tree, columns: Columns) -> Tree:
    """The tree in which all scans of a table read the same columns of it."""
    read: dict[str, dict[str, ColumnId]] = {}
    for node in postorder(root):
        if isinstance(node, Tree) and isinstance(node.op, Scan):
            read.setdefault(node.op.table, {}).update((column.source, column.id) for column in node.op.columns)

    def one(tree: Tree) -> Tree:
        if not isinstance(tree.op, Scan):
            return tree
        own = {column.source for column in tree.op.columns}
        added = tuple(ScanColumn(columns.copy(id), source) for source, id in read[tree.op.table].items() if source not in own)
        return Tree(replace(tree.op, columns=(*tree.op.columns, *added))) if added else tree

    return map_tree(root, one)
