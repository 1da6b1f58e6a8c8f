"""Trees: an operator and its inputs. The same shape serves the pre-pass, rule bindings and rule results.

In a binding some inputs are `Leaf`s: groups of the memo that the rule's pattern does not look into.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from optimizer.algebra.columns import ColumnSet, union
from optimizer.algebra.flags import APPLY, CHOICE, CROSS_PRODUCT, LIMITED, MARK, OUTER_JOIN, RAISES, REFERENCE
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import LogicalOperator, Scan
from optimizer.algebra.logical_joins import AnyJoin, Apply
from optimizer.algebra.props import LogicalProps

_OF_KIND = dict.fromkeys((JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL), OUTER_JOIN)
_OF_KIND |= {JoinKind.MARK: MARK, JoinKind.SINGLE: RAISES}


def _flags_of(op: LogicalOperator) -> int:
    flags = op.flag
    for scalar in op.scalars():
        flags |= scalar.flags | (RAISES if scalar.raises else 0)
    if isinstance(op, AnyJoin):
        return flags | (_OF_KIND.get(op.kind, 0) if op.predicate or op.kind is not JoinKind.INNER else CROSS_PRODUCT)
    return flags if not isinstance(op, Scan) or op.limit is None else flags | LIMITED


class Tree:
    """A logical operator over input trees (or leaves). Immutable; properties are derived on first use."""

    __slots__ = ("_columns", "_flags", "_outer", "_props", "_volatile", "inputs", "op")
    __match_args__ = ("op", "inputs")

    def __init__(self, op: LogicalOperator, inputs: tuple[Node, ...] = ()) -> None:
        assert op.arity is None or op.arity == len(inputs), f"{op.name} has {op.arity} inputs, not {len(inputs)}"
        self.op, self.inputs = op, inputs
        self._props: LogicalProps | None = None
        self._columns: ColumnSet | None = None
        self._flags: int | None = None
        self._outer: ColumnSet | None = None
        self._volatile: bool | None = None

    def __repr__(self) -> str:
        return f"<{_shown(self)}{' over ' if self.inputs else ''}{', '.join(map(_shown, self.inputs))}>"

    def _without(self, name: str) -> Iterable[Tree]:
        """The tree and those below it that do not know this of themselves yet, inputs first."""
        for below in self.inputs:
            if getattr(below, name) is None:
                return self._all_without(name)
        return (self,)

    def _all_without(self, name: str) -> Iterator[Tree]:
        """Iterative: a tree may be deeper than Python's stack."""
        stack: list[Any] = [self]
        while stack:
            waiting = [below for below in stack[-1].inputs if getattr(below, name) is None]
            if waiting:
                stack += waiting
            else:
                yield stack.pop()

    @property
    def props(self) -> LogicalProps:
        if self._props is None:
            for tree in self._without("_props"):
                tree._props = tree.op.derive_props([i.props for i in tree.inputs])
        assert self._props is not None
        return self._props

    @property
    def columns(self) -> ColumnSet:
        """The columns produced; without deriving the other properties where the operators know a shorter way."""
        if self._columns is None:
            for tree in self._without("_columns"):
                columns = tree.op.output_columns([i.columns for i in tree.inputs])
                tree._columns = tree.props.columns if columns is None else columns
        assert self._columns is not None
        return self._columns

    @property
    def outer(self) -> ColumnSet:
        """Columns of enclosing queries that it reads (its free variables)."""
        if self._outer is None:
            for tree in self._without("_outer"):
                tree._outer = outer_of(tree.op, [i.columns for i in tree.inputs], [i.outer for i in tree.inputs])
        assert self._outer is not None
        return self._outer

    @property
    def volatile(self) -> bool:
        """Whether some scalar in it is volatile, so that evaluating it again may give other rows."""
        if self._volatile is None:
            for tree in self._without("_volatile"):
                tree._volatile = any(i.volatile for i in tree.inputs) or any(s.volatile for s in tree.op.scalars())
        return bool(self._volatile)

    @property
    def relations(self) -> ColumnSet:
        """A column of each relation that it is computed from, for limits on the search."""
        return union(each.relations for each in self.inputs) if self.inputs else relation_of(self.columns)

    @property
    def has_apply(self) -> bool:
        return bool(self.flags & APPLY)

    @property
    def has_choice(self) -> bool:
        return bool(self.flags & CHOICE)

    @property
    def has_reference(self) -> bool:
        """Whether something in it, or in the subqueries of its scalars, reads a spool."""
        return bool(self.flags & REFERENCE)

    @property
    def flags(self) -> int:
        """The flags of its scalars and those above, of all operators at any depth."""
        if self._flags is None:
            for tree in self._without("_flags"):
                tree._flags = _flags_of(tree.op)
                for below in tree.inputs:
                    tree._flags |= below.flags
        assert self._flags is not None
        return self._flags

    def with_inputs(self, inputs: tuple[Node, ...]) -> Tree:
        """The same operator over other inputs; itself when they are the same."""
        for before, now in zip(self.inputs, inputs, strict=True):
            if before is not now:
                return Tree(self.op, inputs)
        return self


def outer_of(op: LogicalOperator, columns: list[ColumnSet], outer: list[ColumnSet]) -> ColumnSet:
    """The columns of enclosing queries that an operator reads over inputs with such columns, which read such `outer` ones."""
    if isinstance(op, Apply):
        outer = [outer[0], outer[1] & ~columns[0]]
    return op.outer_columns() & ~union(columns) | union(outer)


class Leaf:
    """A group of the memo, standing for all its expressions, inside a binding."""

    __slots__ = ("columns", "gid", "outer", "props", "relations", "volatile")
    inputs: tuple[Node, ...] = ()
    op: None = None
    flags = 0  # what a group holds is not looked at
    _columns = _flags = _outer = _props = _volatile = 0  # nothing is to be found out

    def __init__(
        self, gid: int, props: LogicalProps, outer: ColumnSet = 0, volatile: bool = False, relations: ColumnSet = 0
    ) -> None:
        self.gid, self.props, self.outer, self.volatile, self.relations = gid, props, outer, volatile, relations
        self.columns: ColumnSet = props.columns

    def __repr__(self) -> str:
        return f"<{_shown(self)}>"


Node: TypeAlias = Tree | Leaf


def _shown(node: Node) -> str:
    """One operator, or a group."""
    return f"G{node.gid}" if isinstance(node, Leaf) else f"{node.op.name} {node.op.describe('#{}'.format)}".rstrip()


def relation_of(columns: ColumnSet) -> ColumnSet:
    """What stands for a relation in `relations`; those without columns are not told apart."""
    return columns & -columns or 1


def postorder(root: Node) -> Iterator[Node]:
    """Every node, inputs before the operator; a shared node once. Iterative."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in seen:
            continue
        if ready or not node.inputs:
            seen.add(id(node))
            yield node
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.inputs))
