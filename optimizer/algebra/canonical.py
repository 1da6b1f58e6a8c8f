"""Texts that stand for the rows of a tree, whatever its column ids and aliases and in whatever order its inner joins stand.

Two trees with one text give the same number of rows on the same data, so a row count can be kept under it. The reverse is best
effort: two spellings of one query may have two texts, which costs a second count and no more.

A column is named by its place: a column of a scan by its stored name, one of input i of an operator `i.name`, a computed one
by its expression. Operators that give a row for each row of their input (Project, Window) name columns and add no text. The
inputs of an inner join are sorted by their texts; inputs with equal texts are told apart by the conjuncts around them
(colour refinement, Weisfeiler and Leman 1968), and where that does not tell them apart, by their place in the query.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from optimizer.algebra.columns import ColumnId, ColumnSet, column_ids
from optimizer.algebra.functions import MIRRORED
from optimizer.algebra.join_graph import is_inner_join
from optimizer.algebra.logical import (
    Aggregate,
    Filter,
    GroupingSets,
    Limit,
    LogicalOperator,
    Project,
    Scan,
    SetOp,
    Values,
    Window,
)
from optimizer.algebra.logical_joins import AnyJoin, Apply, IndependentJoin, Join
from optimizer.algebra.predicates import combined
from optimizer.algebra.scalars import Call, ColumnRef, Predicate, Scalar
from optimizer.algebra.spools import CteReference, Recursion, Spool
from optimizer.algebra.traits import Collation
from optimizer.algebra.trees import Leaf, Node, Tree, postorder
from optimizer.errors import SettingsError

LONGEST = 120  # characters of a column's name; a longer one is replaced by its digest
LONGEST_TEXT = 4000  # likewise of a tree below another
Names = Mapping[ColumnId, str]


class _Known:
    """The text of a node, and the names of its columns. `inputs`, `predicate`: what it joins, if it is an inner join."""

    __slots__ = ("inputs", "names", "node", "predicate", "text")

    def __init__(self, node: Node, text: str, names: dict[ColumnId, str]) -> None:
        self.node, self.names = node, names
        self.text = _short(text, LONGEST_TEXT)
        self.inputs: tuple[_Known, ...] = (self,)
        self.predicate: Predicate = ()


class CanonicalTexts:
    """Texts of trees that share parts: each part is written once. Trees hold no memo groups."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}  # by identity of a node, which the entry keeps alive

    def __call__(self, tree: Tree) -> str:
        for node in postorder(tree):
            if id(node) not in self._known:
                assert not isinstance(node, Leaf), "a tree with memo groups in it has no text of its own"
                below = [self._known[id(child)] for child in node.inputs]
                self._known[id(node)] = _inner_join(node, below) if is_inner_join(node.op) else _described(node, below)
        return self._known[id(tree)].text


def digest(text: str) -> str:
    """32 hex digits for a text, the same in every process."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _short(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"~{digest(text)}"


def _described(tree: Tree, below: Sequence[_Known]) -> _Known:
    text, names = _written(tree, below)
    return _Known(tree, text, {c: _short(name) for c, name in names.items()})


def _written(tree: Tree, below: Sequence[_Known]) -> tuple[str, dict[ColumnId, str]]:
    op = tree.op
    match op:
        case Scan():
            names = {c.id: json.dumps(c.source) for c in op.columns}
            limit = "" if op.limit is None else f" limit {op.limit}"
            limit += f" after {op.offset}" if op.offset else ""
            return f"scan {json.dumps(op.table)}{_predicate(op.predicate, names)}{limit}", names
        case CteReference():
            return f"spool {op.spool}", {c.id: f"#{c.source}" for c in op.columns}
        case Values():
            rows = "; ".join(", ".join(_scalar(item, {}) for item in row) for row in op.rows)
            return f"values({rows})", {c: f"#{i}" for i, c in enumerate(op.columns)}
        case Project():
            names = below[0].names
            return below[0].text, {i.id: _scalar(i.value, names) for i in op.items}
        case Window():
            names = below[0].names
            by = ", ".join(sorted(names[c] for c in op.partition))
            over = f" over ({by}; {_order(op.order, names)})"
            return below[0].text, {**names, **{i.id: _scalar(i.call, names) + over for i in op.items}}
    names = _input_names(below)
    if isinstance(op, SetOp | Recursion):
        what = op.kind.value if isinstance(op, SetOp) else f"recursion {op.spool}"
        sources = "; ".join("=".join(names[c] for c in each) for each in zip(*op.sources, strict=True))
        return _over(f"{what}{' all' if op.all else ''} {sources}", below), {c: f"#{i}" for i, c in enumerate(op.columns)}
    return _over(_detail(op, names, tree), below), _output_names(op, names, tree.columns)


def _detail(op: LogicalOperator, names: Names, tree: Tree) -> str:
    match op:
        case Filter():
            return f"filter{_predicate(op.predicate, names)}"
        case Join():
            return f"{op.kind.value} join{_predicate(op.predicate, names)}"
        case IndependentJoin():
            return f"{op.name}{_predicate(op.predicate, names)}"
        case Apply():
            left, right = tree.inputs
            outer = right.outer & left.columns
            bound = ", ".join(f"$#{c}={names[c]}" for c in column_ids(outer))
            return f"apply {op.kind.value} ({bound}){_predicate(op.predicate, names)}"
        case Aggregate():
            return f"group by {', '.join(sorted(names[k] for k in op.keys))}" if op.keys else "aggregate"
        case Spool():
            return f"spool {op.spool}"
        case GroupingSets():
            sources = {k.id: names[k.source] for k in op.keys}
            sets = sorted(", ".join(sorted(sources[c] for c in column_ids(each))) for each in op.sets)
            return f"grouping sets ({'; '.join(sets)})"
        case Limit():
            return f"limit {op.offset} {op.count} {_order(op.order, names)}"
    raise SettingsError(f"rows of {op.name} cannot be counted, nor be looked up: choose another estimator")


def _output_names(op: LogicalOperator, names: Names, columns: ColumnSet) -> dict[ColumnId, str]:
    made: dict[ColumnId, str] = {}
    match op:
        case Aggregate():
            made = {i.id: _scalar(i.call, names) for i in op.aggregates}
        case GroupingSets():
            made = {k.id: f"key {names[k.source]}" for k in op.keys} | {i.id: _scalar(i.call, names) for i in op.aggregates}
            held = [", ".join(sorted(names[k.source] for k in op.keys if each >> k.id & 1)) for each in op.sets]
            made[op.number] = f"set ({'; '.join(held)})"
        case AnyJoin(mark=int() as mark):
            made = {mark: "mark"}
    return {c: made[c] if c in made else names[c] for c in column_ids(columns)}


def _input_names(below: Sequence[_Known]) -> dict[ColumnId, str]:
    """Names of input columns; where there are several inputs, with the number of the input."""
    if len(below) == 1:
        return below[0].names
    return {c: f"{i}.{name}" for i, each in enumerate(below) for c, name in each.names.items()}


def _over(detail: str, below: Sequence[_Known]) -> str:
    return f"{detail}({', '.join(each.text for each in below)})"


def _inner_join(tree: Tree, below: Sequence[_Known]) -> _Known:
    """All that is joined by inner joins from here down, as one."""
    inputs = [each for known in below for each in known.inputs]
    predicate = combined([*tree.op.scalars(), *(s for known in below for s in known.predicate)])
    ordered = _sorted_inputs(predicate, inputs)
    names = {c: _short(f"{i}.{name}") for i, each in enumerate(ordered) for c, name in each.names.items()}
    joined = _Known(tree, f"join{_predicate(predicate, names)}({', '.join(each.text for each in ordered)})", names)
    joined.inputs, joined.predicate = tuple(inputs), predicate
    return joined


def _sorted_inputs(predicate: Predicate, below: Sequence[_Known]) -> list[_Known]:
    colours = [each.text for each in below]
    if len(set(colours)) < len(colours):
        home = {c: i for i, each in enumerate(below) for c in each.names}
        touching = [[s for s in predicate if any(home.get(c) == i for c in column_ids(s.columns))] for i in range(len(below))]
        while True:
            seen = []
            for i, colour in enumerate(colours):
                names = {c: ("here" if home[c] == i else colours[home[c]]) + "." + below[home[c]].names[c] for c in home}
                seen.append(digest(colour + "|".join(sorted(_scalar(s, names) for s in touching[i]))))
            if len(set(seen)) == len(set(colours)):
                break
            colours = seen
    first = [min(each.names, default=-1) for each in below]
    return [below[i] for i in sorted(range(len(below)), key=lambda i: (below[i].text, colours[i], first[i]))]


def _predicate(predicate: Predicate, names: Names) -> str:
    return " [" + " AND ".join(sorted(_scalar(s, names) for s in predicate)) + "]" if predicate else ""


def _order(order: Collation, names: Names) -> str:
    return ", ".join(key.show(lambda c: names.get(c, f"#{c}")) for key in order)


def _scalar(scalar: Scalar, names: Names) -> str:
    """The scalar's text; a comparison has its operands in the order of their texts."""
    if isinstance(scalar, ColumnRef):
        return names[scalar.id]

    def label(id: ColumnId) -> str:
        return names.get(id, f"#{id}")

    if isinstance(scalar, Call) and len(scalar.args) == 2:
        mirrored = "is_not_distinct_from" if scalar.function == "is_not_distinct_from" else MIRRORED.get(scalar.function)
        if mirrored is not None:
            a, b = (arg.text_with(label) for arg in scalar.args)
            return f"({a} {scalar.function} {b})" if a <= b else f"({b} {mirrored} {a})"
    return scalar.text_with(label)
