"""The methods of decorrelation by name, and what is left to the search to choose between."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from optimizer.algebra.columns import Columns
from optimizer.algebra.logical import Apply, Choice
from optimizer.algebra.trees import Node, Tree, postorder
from optimizer.decorrelate.alternatives import alternatives
from optimizer.decorrelate.general import General
from optimizer.decorrelate.steps import Step
from optimizer.decorrelate.value_generator import ValueGenerator


class Decorrelated(NamedTuple):
    tree: Tree
    steps: tuple[Step, ...]


def _none(root: Tree, columns: Columns) -> Decorrelated:
    return Decorrelated(root, ())


def _general(root: Tree, columns: Columns) -> Decorrelated:
    general = General(columns)
    tree = general.decorrelate(root)
    return Decorrelated(tree, tuple(general.steps))


def _cost(root: Tree, columns: Columns) -> Decorrelated:
    """All joins, as `general` makes them, or a choice at each Apply: for the search to decide."""
    general = General(columns)
    whole = general.decorrelate(root)
    chosen = alternatives(root, columns)
    if not any(isinstance(node, Tree) and isinstance(node.op, Choice) for node in postorder(chosen)):
        return Decorrelated(whole, tuple(general.steps))
    return Decorrelated(Tree(Choice(root.columns), (whole, chosen)), tuple(general.steps))


def _value_generator(root: Tree, columns: Columns) -> Decorrelated:
    generator = ValueGenerator(columns)
    tree = generator.decorrelate(root)
    return Decorrelated(tree, tuple(generator.steps))


METHODS: dict[str, Callable[[Tree, Columns], Decorrelated]] = {
    "none": _none,
    "value_generator": _value_generator,
    "general": _general,
    "cost": _cost,
}


def decorrelate(root: Tree, columns: Columns, method: str) -> Decorrelated:
    """The tree with those Applies removed that the method can remove, and what it did; the tree itself without any Apply."""
    if not has_apply(root):
        return Decorrelated(root, ())
    return METHODS[method](root, columns)


def has_apply(root: Node) -> bool:
    return any(isinstance(node, Tree) and isinstance(node.op, Apply) for node in postorder(root))
