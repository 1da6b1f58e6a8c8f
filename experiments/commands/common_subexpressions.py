"""Common-subexpression detection: which parts of a plan compute the same rows more than once.

Equal trees are one vertex of the pre-pass's graph already. Parts that are equal up to the ids of their columns (two readings of
a common table expression, a table joined with an aggregate of itself) stay apart there, since the operators above tell their
columns apart; they are found by shape.
"""

from collections import Counter
from typing import NamedTuple

from optimizer.algebra.trees import Tree
from optimizer.prepass.dag import Dag, parents_first
from optimizer.prepass.shapes import Shapes


class Common(NamedTuple):
    """`tree` stands in the plan `times` times, as `vertices` different vertices: 1 when its columns are the same each time."""

    tree: Tree
    times: int
    vertices: int


def common_subexpressions(root: Tree) -> tuple[Common, ...]:
    """The largest parts of the tree that occur more than once, in the order of their first occurrences.

    What has no inputs and no condition, such as a table read twice, is not worth a report. A part that is volatile gives other
    rows each time, so it is not common. A part of a common part is reported when it also occurs outside of it, or twice in it.
    """
    order = parents_first(Dag(interning=True).intern(root))
    shapes, times = Shapes(), Counter({id(order[0]): 1})
    shapes.of(order[0])
    vertices: dict[int, list[Tree]] = {}  # shape -> vertices
    above: dict[int, set[int]] = {}  # shape -> shapes that have it as an input
    total: Counter[int] = Counter()  # shape -> occurrences
    for vertex in order:
        shape = shapes.of(vertex)
        vertices.setdefault(shape, []).append(vertex)
        total[shape] += times[id(vertex)]
        for below in vertex.inputs:
            times[id(below)] += times[id(vertex)]
            if isinstance(below, Tree):
                above.setdefault(shapes.of(below), set()).add(shape)
    common = {s for s, trees in vertices.items() if total[s] > 1 and not trees[0].volatile}
    found = []
    for shape, trees in vertices.items():
        if shape not in common or not (trees[0].inputs or trees[0].op.scalars()):
            continue
        parents = above.get(shape, set())
        if len(parents) == 1 and parents <= common and total[shape] == total[next(iter(parents))]:
            continue
        found.append(Common(trees[0], total[shape], len(trees)))
    return tuple(found)
