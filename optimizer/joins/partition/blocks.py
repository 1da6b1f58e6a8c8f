"""Partitioning block by block.

A block is a maximal part of the graph that no single relation cuts in two: an edge on no cycle (a bridge), or a part in which
any two relations lie on a common cycle. Two blocks share at most one relation. So both sides of a partition of a connected set
`s` being connected, the edges between them all lie in one block, and the partitions of `s` are those of `s` ∩ block, for every
block, each relation taking along what hangs on it outside the block. `s` ∩ block is connected, since a path that leaves a
block comes back by the relation it left by.

The blocks are found once for a graph, not for each set, so a set costs a few operations for each block it meets; bridges are cut,
complete blocks are split into all pairs of subsets, and only the blocks that are neither need an algorithm.

Source: Mancini et al., Efficient Massively Parallel Join Optimization for Large Queries, SIGMOD 2022 (MPDP), where the blocks
are those of each set.
"""

from collections.abc import Callable

from optimizer.joins.graph import Blocks, JoinGraph, Relations, bits

Partitioner = Callable[[tuple[Relations, ...], Relations], list[Relations]]  # (adjacency, connected set) -> parts


def by_blocks(graph: JoinGraph, s: Relations, within: Partitioner) -> list[Relations]:
    """The partitions of `s`, which is connected, into two connected sets, each once, as the part with the lowest relation of `s`.

    The other part is `s ^ part`; a single relation has no partition. `within` does so without blocks, in another order.
    """
    bridges, complete, others = graph.blocks or blocks_of(graph)
    lowest = s & -s
    parts = [part if (part := s & side) & lowest else s ^ part for ends, side in bridges if s & ends == ends]
    for sides in complete:
        pieces = [piece for side in sides if (piece := s & side)]
        if len(pieces) > 1:
            first = 0
            while not pieces[first] & lowest:
                first += 1
            block_parts = [pieces.pop(first)]
            for piece in pieces:
                block_parts += [part | piece for part in block_parts]
            block_parts.pop()  # all of `s`
            parts += block_parts
    for relations, sides_of in others:
        inner = s & relations
        if inner & (inner - 1):
            block_parts = within(graph.adjacency, inner)
            if inner != s:
                block_parts = _with_sides(block_parts, s, inner, sides_of)
            parts += block_parts
    return parts


def _with_sides(
    parts: list[Relations], s: Relations, inner: Relations, sides_of: tuple[tuple[Relations, Relations], ...]
) -> list[Relations]:
    """Each part with what hangs on its relations, or its complement in `s`: whichever has the lowest relation."""
    for relation, side in sides_of:
        if relation & inner and (hanging := s & side) != relation:
            parts = [part | hanging if part & relation else part for part in parts]
    lowest = s & -s
    if not lowest & inner:
        parts = [part if part & lowest else s ^ part for part in parts]
    return parts


def blocks_of(graph: JoinGraph) -> Blocks:
    """The blocks by simple edges, found once."""
    if graph.blocks is not None:
        return graph.blocks
    bridges: list[tuple[Relations, Relations]] = []
    complete: list[tuple[Relations, ...]] = []
    others: list[tuple[Relations, tuple[tuple[Relations, Relations], ...]]] = []
    for component in graph.components(graph.all):
        for block in _cut(graph, component):
            sides = [(v, graph.reach(component & ~block | v, v)) for v in bits(block)]
            if len(sides) == 2:
                bridges.append((block, sides[0][1]))
            elif all(graph.adjacency[v.bit_length() - 1] & block == block ^ v for v in bits(block)):
                complete.append(tuple(side for _, side in sides))
            else:
                others.append((block, tuple(sides)))
    graph.blocks = Blocks(tuple(sorted(bridges)), tuple(sorted(complete)), tuple(sorted(others)))
    return graph.blocks


def _cut(graph: JoinGraph, component: Relations) -> list[Relations]:
    """The blocks of a connected set of relations: while a relation separates a part of it, that part is cut there."""
    blocks = []
    uncut = [component] if component & (component - 1) else []
    while uncut:
        part = uncut.pop()
        for v in bits(part):
            rest = part ^ v
            if graph.reach(rest, rest & -rest) != rest:
                uncut += [piece | v for piece in graph.components(rest)]
                break
        else:
            blocks.append(part)
    return blocks
