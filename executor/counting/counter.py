"""Counts the rows of logical trees: what the estimator `true` asks for.

Inner joins are counted by key (`factor`, `region`): reading their inputs is all it takes. Other operators are run under a
`count(*)`, planned with default estimates; but those that give a row for each row of their input are passed over.

What one query's relation sets share is read once: the join keys of an input, and its factors. Counts are kept by the text of
the tree (`optimizer.algebra.canonical`), in memory and, with `kept`, on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import numpy as np
import pyarrow as pa

from executor.counting.factor import Factor, product_total
from executor.counting.kept import KeptCounts
from executor.counting.key_rows import KeyReader, KeyRows
from executor.counting.region import CountedInput, KeyUse, countable, inputs_of
from optimizer.algebra.canonical import CanonicalTexts, digest
from optimizer.algebra.columns import Columns, ColumnSet
from optimizer.algebra.connect import connect
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical import Aggregate, AggregateItem, Project, ProjectItem, Scan, Window
from optimizer.algebra.rebuild import map_tree
from optimizer.algebra.scalars import AggregateCall, Scalar
from optimizer.algebra.trees import Tree
from optimizer.errors import ExecutionError

Run = Callable[[Tree, Columns], pa.RecordBatchReader]
"""Plans a tree and runs it; column 12 of the tree is called c12. Raises ExecutionError."""

COUNT_ROWS = AggregateCall("count", (), False, None, pa.int64())
HELD_BYTES = 512 << 20  # of join keys and factors kept for other sets of the same query
WORDS = 4  # of a variable at most
_LARGEST = 10**308
Input = tuple[str, ColumnSet]  # text and columns: equal inputs under other column ids are other inputs


class RowCounter:
    """`counted`: trees that were counted, not looked up."""

    def __init__(self, run: Run, kept: KeptCounts | None = None) -> None:
        self._run, self._kept = run, kept
        self._counts: dict[str, int] = {}
        self._failed: dict[str, str] = {}
        self._query: _Query | None = None
        self.counted = 0

    def __call__(self, tree: Tree, columns: Columns) -> float:
        """The rows of a tree that reads no outer columns and has nothing volatile. Raises ExecutionError."""
        if self._query is None or self._query.columns is not columns:
            self._query = _Query(columns, self._run)
        key = digest(self._query.texts(tree))
        rows = self._counts.get(key)
        if rows is None and self._kept is not None:
            rows = self._kept.get(key)
        if rows is None:
            if key in self._failed:
                raise ExecutionError(self._failed[key])
            try:
                rows = self._query.count(tree)
            except ExecutionError as error:
                self._failed[key] = str(error)
                raise
            self.counted += 1
            if self._kept is not None:
                self._kept.put(key, rows)
        self._counts[key] = rows
        return float(rows) if rows < _LARGEST else inf


class _Query:
    """What the relation sets of one query share. `columns` may grow while it is planned."""

    def __init__(self, columns: Columns, run: Run) -> None:
        self.columns = columns
        self.texts = CanonicalTexts()
        self._run = run
        self._reader = KeyReader()
        self._keys: dict[Input, dict[Scalar, KeyRows]] = {}
        self._factors: dict[tuple[Input, tuple[tuple[tuple[Scalar, ...], bool], ...]], tuple[Factor, list[int]]] = {}
        self._held = 0

    def count(self, tree: Tree) -> int:
        while isinstance(tree.op, Project | Window):
            below = tree.inputs[0]
            assert isinstance(below, Tree), "a counted tree holds no memo groups"
            tree = below
        if countable(tree):
            inputs = inputs_of(tree)
            if inputs is None:
                return 0
            if len(inputs) > 1:
                return self._joined(inputs)
            tree = inputs[0].tree
        columns = _copied(self.columns)
        number = columns.new("rows", COUNT_ROWS.type, False).id
        root = Tree(Aggregate((), (AggregateItem(number, COUNT_ROWS),)), (tree,))
        table = self._run(_with_binary_joins(root), columns).read_all()
        return int(table.column(f"c{number}")[0].as_py())

    def _joined(self, inputs: Sequence[CountedInput]) -> int:
        """Tables first: where one gives no rows, nothing else has to be run."""
        factors = []
        for each in sorted(inputs, key=lambda each: not isinstance(each.tree.op, Scan)):
            factors.append(self._factor(each))
            if not len(factors[-1].counts):
                return 0
        return product_total(factors)

    def _factor(self, counted: CountedInput) -> Factor:
        """Rows of an input by the values of its variables; word k of variable v is called WORDS · v + k."""
        if not counted.uses:
            return Factor((), [], np.array([self.count(counted.tree)], object))
        shape = (self._input(counted.tree), tuple((use.keys, use.null_safe) for use in counted.uses))
        if shape not in self._factors:
            keys = self._read(counted.tree, [key for use in counted.uses for key in use.keys])
            words = [len(keys[use.keys[0]].words) + use.null_safe for use in counted.uses]
            factor = _summed_keys(counted.uses, keys)
            self._hold([*factor.keys, factor.counts])
            self._factors[shape] = factor, words
        factor, words = self._factors[shape]
        pairs = zip(counted.uses, words, strict=True)
        return factor.renamed(tuple(WORDS * use.variable + k for use, number in pairs for k in range(number)))

    def _input(self, tree: Tree) -> Input:
        return self.texts(tree), tree.columns

    def _read(self, tree: Tree, wanted: Sequence[Scalar]) -> dict[Scalar, KeyRows]:
        """Keys of all rows of an input; with them those that were read before, so that all are in the same order of rows."""
        known = self._keys.get(self._input(tree), {})
        if all(key in known for key in wanted):
            return known
        keys = list(dict.fromkeys([*known, *wanted]))
        columns = _copied(self.columns)
        items = tuple(ProjectItem(columns.new("key", key.type, True).id, key) for key in keys)
        reader = self._run(_with_binary_joins(Tree(Project(items), (tree,))), columns)
        positions = [reader.schema.get_field_index(f"c{item.id}") for item in items]
        read = dict(zip(keys, self._reader.read(reader, positions), strict=True))
        self._hold([word for key in read.values() for word in key.words])
        self._keys[self._input(tree)] = read
        return read

    def _hold(self, arrays: Sequence[np.ndarray]) -> None:
        """Count what is kept; forget everything when it is too much."""
        self._held += sum(array.nbytes for array in arrays)
        if self._held > HELD_BYTES:
            self._keys, self._factors, self._held = {}, {}, 0


def _summed_keys(uses: Sequence[KeyUse], keys: dict[Scalar, KeyRows]) -> Factor:
    """The rows by their keys, without those that match nothing: NULL in a key, or two keys of one variable that differ."""
    rows = len(keys[uses[0].keys[0]].words[0])
    kept = np.ones(rows, np.bool_)
    words: list[np.ndarray] = []
    for use in uses:
        first = keys[use.keys[0]]
        valid = np.ones(rows, np.bool_) if first.valid is None else first.valid
        if not use.null_safe:
            kept &= valid
        for key in use.keys[1:]:
            other = keys[key]
            same = np.ones(rows, np.bool_) if other.valid is None else other.valid
            equal = np.logical_and.reduce([a == b for a, b in zip(first.words, other.words, strict=True)])
            kept &= (valid & same & equal) | (~valid & ~same) if use.null_safe else same & equal
        words += [np.where(valid, word, 0) for word in first.words] if use.null_safe else first.words
        if use.null_safe:
            words.append((~valid).astype(np.int64))
    if not kept.all():
        words = [word[kept] for word in words]
    variables = tuple(range(len(words)))
    return Factor(variables, words, np.ones(len(words[0]), np.int64)).summed(frozenset(variables))


def _copied(columns: Columns) -> Columns:
    """The same columns under the same ids, to which others can be added without the query seeing them."""
    copy = Columns()
    for column in columns:
        copy.new(column.name, column.type, column.nullable, column.origin)
    return copy


def _with_binary_joins(root: Tree) -> Tree:
    """The tree with joins of two inputs, one after the other, for each join of more."""

    def change(tree: Tree) -> Tree:
        return connect(list(tree.inputs), list(tree.op.predicate)) if isinstance(tree.op, JoinGraph) else tree

    return map_tree(root, change)
