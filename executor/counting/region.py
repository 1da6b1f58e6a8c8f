"""An inner join as factors (see `factor`): inputs, sets of equated keys, and what has to be joined beforehand.

A set of keys equated with one another, directly or in turn, is one variable. Where one of the equalities is `=`, rows with NULL
in the key are in no result; where all are IS NOT DISTINCT FROM, NULL is a value like others. A conjunct that is no equality of
two inputs' values cannot be counted by key: the inputs that it reads, with those on the way from one to the other, become one
input, joined by the executors.
"""

from collections.abc import Sequence
from typing import NamedTuple

from optimizer.algebra.columns import column_ids, column_set, union
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import Filter
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import combined, key_sides
from optimizer.algebra.scalars import Call, Literal, Scalar
from optimizer.algebra.trees import Tree

Inputs = int  # a set of inputs, as bits


class KeyUse(NamedTuple):
    """One variable of an input: `keys` are its scalars that are equated there, the first to be read, the others equal to it."""

    variable: int
    keys: tuple[Scalar, ...]
    null_safe: bool


class CountedInput(NamedTuple):
    """An input with the variables that it has."""

    tree: Tree
    uses: tuple[KeyUse, ...]


def countable(tree: Tree) -> bool:
    """Whether it is an inner join whose conjuncts can be tested in any order."""
    match tree.op:
        case JoinGraph(predicate=predicate) | Join(kind=JoinKind.INNER, predicate=predicate):
            return not any(s.volatile or s.raises for s in predicate)
    return False


def inputs_of(tree: Tree) -> list[CountedInput] | None:
    """The inputs of an inner join, filters of their own put in; None where a conjunct can never be TRUE."""
    leaves, conjuncts = _flattened(tree)
    if any(isinstance(s, Literal) for s in conjuncts):
        return None  # TRUE is never a conjunct
    leaves, conjuncts = _without_residuals(leaves, conjuncts)
    own = [combined([s for s in conjuncts if not s.columns & ~leaf.columns]) for leaf in leaves]
    edges = [(s, *ends) for s in conjuncts if (ends := _ends(s, leaves)) is not None]
    variables = _variables(edges)
    found = []
    for i, leaf in enumerate(leaves):
        filtered = Tree(Filter(own[i]), (leaf,)) if own[i] else leaf
        uses = []
        for number, (nodes, null_safe) in enumerate(variables):
            keys = tuple(scalar for at, scalar in nodes if at == i)
            if keys:
                uses.append(KeyUse(number, keys, null_safe))
        found.append(CountedInput(filtered, tuple(uses)))
    return found


def _flattened(tree: Tree) -> tuple[list[Tree], list[Scalar]]:
    """Inputs and conjuncts of an inner join and the inner joins directly below it."""
    leaves: list[Tree] = []
    conjuncts: list[Scalar] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if countable(node):
            conjuncts += node.op.scalars()
            stack += [child for child in reversed(node.inputs) if isinstance(child, Tree)]
        else:
            leaves.append(node)
    return leaves, list(combined(conjuncts))


def _ends(scalar: Scalar, leaves: Sequence[Tree]) -> tuple[int, Scalar, int, Scalar] | None:
    """The two inputs whose values it compares for equality, and their values."""
    touched = [i for i, leaf in enumerate(leaves) if scalar.columns & leaf.columns]
    if len(touched) != 2:
        return None
    sides = key_sides(scalar, leaves[touched[0]].columns, leaves[touched[1]].columns)
    return None if sides is None else (touched[0], sides[0], touched[1], sides[1])


def _variables(edges: Sequence[tuple[Scalar, int, Scalar, int, Scalar]]) -> list[tuple[list[tuple[int, Scalar]], bool]]:
    """The sets of equated values, each with whether all its equalities are IS NOT DISTINCT FROM."""
    variables: list[tuple[list[tuple[int, Scalar]], bool]] = []
    for scalar, i, a, j, b in edges:
        nodes: list[tuple[int, Scalar]] = [(i, a), (j, b)]
        null_safe = isinstance(scalar, Call) and scalar.function == "is_not_distinct_from"
        apart = []
        for each in variables:
            if any(node in each[0] for node in nodes):
                nodes += [node for node in each[0] if node not in nodes]
                null_safe = null_safe and each[1]
            else:
                apart.append(each)
        variables = [*apart, (nodes, null_safe)]
    return variables


def _without_residuals(leaves: list[Tree], conjuncts: list[Scalar]) -> tuple[list[Tree], list[Scalar]]:
    """The same join with the inputs of each conjunct that is no key joined to one input."""
    touched: list[Inputs] = [column_set(i for i, leaf in enumerate(leaves) if s.columns & leaf.columns) for s in conjuncts]
    keys = [t for s, t in zip(conjuncts, touched, strict=True) if _ends(s, leaves) is not None]
    groups: list[Inputs] = []
    for s, t in zip(conjuncts, touched, strict=True):
        if t & (t - 1) and _ends(s, leaves) is None:
            joined = _linked(t, keys)
            for group in [g for g in groups if g & joined]:
                groups.remove(group)
                joined |= group
            groups.append(joined)
        elif not t:
            return [Tree(JoinGraph(combined(conjuncts)), tuple(leaves))], []
    merged = union(groups)
    rest = [leaf for i, leaf in enumerate(leaves) if not merged >> i & 1]
    inside = set()
    for group in groups:
        within = [s for s, t in zip(conjuncts, touched, strict=True) if not t & ~group]
        inside |= set(within)
        rest.append(Tree(JoinGraph(combined(within)), tuple(leaves[i] for i in column_ids(group))))
    return rest, [s for s in conjuncts if s not in inside]


def _linked(wanted: Inputs, keys: Sequence[Inputs]) -> Inputs:
    """`wanted` with the inputs on shortest ways between its members, as far as keys link them."""
    reached = wanted & -wanted
    while missing := wanted & ~reached:
        before: dict[int, Inputs] = {}  # input -> the way to it
        level = dict.fromkeys(column_ids(reached), reached)
        while level and not any(missing >> i & 1 for i in before):
            following: dict[int, Inputs] = {}
            for i, way in level.items():
                for edge in keys:
                    other = edge & ~(1 << i)
                    if edge >> i & 1 and not reached & other and other.bit_length() - 1 not in before:
                        following.setdefault(other.bit_length() - 1, way | other)
            before |= following
            level = following
        ends = [i for i in before if missing >> i & 1]
        reached |= before[min(ends)] if ends else missing & -missing
    return reached
