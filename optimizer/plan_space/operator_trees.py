"""How many different trees of operators the plans of a space are.

Plans that run the same operators over the same groups and differ only in what the operators were asked for are one tree.
A tree may then be a plan of several choices of its group, and in several ways; to count it once, trees are put together
bottom-up by the exact set of choices that accept them (the subset construction that makes a tree automaton deterministic).
"""

from collections import Counter
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from optimizer.algebra.physical import PhysicalOperator
from optimizer.plan_space.settle import Settled
from optimizer.plan_space.ways import Choice, Way

MOST_STEPS = 2_000_000

Accepting = frozenset[int]  # numbers of choices
Signature = tuple[PhysicalOperator, tuple[int, ...]]  # an operator and its input groups


def count_operator_trees(choices: Sequence[Choice], settled: Settled, root: int, most_steps: int = MOST_STEPS) -> int | None:
    """Different trees among the plans of choice `root`; None when groups are recursive or the work exceeds `most_steps`."""
    order = _group_order(choices, settled)
    if order is None:
        return None
    by_group: dict[int, list[int]] = {}
    for number in settled.order:
        by_group.setdefault(choices[number].group, []).append(number)
    trees: dict[int, Counter[Accepting]] = {}
    budget = most_steps
    for group in order:
        native: dict[Signature, list[tuple[int, Way]]] = {}
        enforcers: dict[Signature, list[tuple[int, Way]]] = {}
        for number in by_group[group]:
            for way in settled.ways[number]:
                groups = tuple(choices[i].group for i in way.inputs)
                (enforcers if group in groups else native).setdefault((way.op, groups), []).append((number, way))
        found: Counter[Accepting] = Counter()
        level: Counter[Accepting] = Counter()
        for (_, groups), accepting in native.items():
            steps = _combine(accepting, [trees[g] for g in groups], level, budget)
            if steps is None:
                return None
            budget -= steps
        while level:  # enforcers over what the level before gave
            found += level
            below, level = level, Counter()
            for accepting in enforcers.values():
                steps = _combine(accepting, [below], level, budget)
                if steps is None:
                    return None
                budget -= steps
        trees[group] = found
    return sum(count for accepting, count in trees[choices[root].group].items() if root in accepting)


def _combine(
    accepting: list[tuple[int, Way]], inputs: list[Counter[Accepting]], found: Counter[Accepting], budget: int
) -> int | None:
    """Add to `found` the trees that one operator makes over trees of its inputs; the steps taken, None when too many.

    Inputs are taken in one after the other, keeping apart only which ways are still possible.
    """
    possible: Counter[Accepting] = Counter({frozenset(range(len(accepting))): 1})  # positions in `accepting`
    steps = 0
    for position, trees in enumerate(inputs):
        narrowed: Counter[Accepting] = Counter()
        for ways, prefixes in possible.items():
            steps += len(trees) * len(ways)
            if steps > budget:
                return None
            for states, count in trees.items():
                left = frozenset(at for at in ways if accepting[at][1].inputs[position] in states)
                if left:
                    narrowed[left] += prefixes * count
        possible = narrowed
    for ways, count in possible.items():
        found[frozenset(accepting[at][0] for at in ways)] += count
    return steps


def _group_order(choices: Sequence[Choice], settled: Settled) -> list[int] | None:
    """Groups, inputs before users; None when one is below itself."""
    below: dict[int, set[int]] = {}
    for number in settled.order:
        group = choices[number].group
        inputs = {choices[i].group for way in settled.ways[number] for i in way.inputs}
        below.setdefault(group, set()).update(inputs - {group})
    try:
        return list(TopologicalSorter(below).static_order())
    except CycleError:
        return None
