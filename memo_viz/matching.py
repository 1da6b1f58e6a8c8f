"""Groups of two memos that compute the same, found by what is in them and not by their numbers.

Two groups match when an expression of one is an expression of the other: the same operator and payload over inputs that match.
Sets of relations, regions of joins, and inner joins of what no other group joins match when their relations do, whatever was
expanded in them. Payloads are compared
with the ids of columns first and without them then, since another setting may have numbered columns otherwise.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from memo_viz.names import REGIONS, called, canonical_group
from optimizer.trace.state import MemoState, MExprState

_ID = re.compile(r"'(?:[^']|'')*'|#\d+")


def match_groups(a: MemoState, b: MemoState) -> dict[int, int]:
    """The group of `b` for each group of `a` that has one; no group has two. Merged groups are left out."""
    left, right = _Side(a), _Side(b)
    pairs: dict[int, int] = {}
    own = {id: id for id in right.groups}
    for exact in (True, False):
        while _match_once(left, right, pairs, own, exact):
            pass
    return pairs


def each_once(state: MemoState) -> MemoState:
    """The same, with sets of relations that a group joins, too, or the search of another region, merged into that one."""
    names, same = called(state), dict[tuple[int, ...], list[int]]()
    for id in sorted(state.groups, reverse=True):  # groups of the memo first
        if state.groups[id].merged_into is None:
            same.setdefault(names[id].relations, []).append(id)
    state = state.copy()
    for home, *others in same.values():
        # groups of the same relations differ in what links them: none of several is known to be the set
        if others and others[0] < 0:
            state.groups.update((id, replace(state.groups[id], merged_into=home)) for id in others)
    return state


@lru_cache(maxsize=1 << 16)  # few payloads, asked for in every round
def payload(detail: str, exact: bool = False) -> tuple[str, ...]:
    """A payload as conjuncts in an order of its own, without ids of columns unless `exact`."""
    text = detail if exact else _ID.sub(lambda found: "" if found[0].startswith("#") else found[0], detail)
    return tuple(sorted(text.split(" AND ")))


class _Side:
    """One of the two memos."""

    def __init__(self, state: MemoState) -> None:
        self.state = state
        self.groups = [id for id, group in state.groups.items() if group.merged_into is None]
        names = called(state)
        self.leaves = {id: names[id].relations for id in self.groups}
        self.shared = Counter(self.leaves.values())

    def signatures(self, id: int, inputs: Mapping[int, int], exact: bool) -> Iterator[Hashable]:
        """What the group computes, in groups of `b`; what reads a group without a match says nothing."""
        group = self.state.groups[id]
        first = self.state.mexprs[min(group.logical)] if group.logical else None
        for mexpr in map(self.state.mexprs.__getitem__, group.logical):
            below = [inputs.get(canonical_group(self.state, i)) for i in mexpr.inputs]
            if None not in below:
                yield mexpr.op, payload(mexpr.detail, exact), tuple(below)
        inner = first is not None and first.op == "join" and first.detail.startswith(("inner", "cross"))
        if (
            group.relations is not None
            or (first is not None and first.op in REGIONS)
            or (inner and self.shared[self.leaves[id]] == 1)
        ):
            leaves = [inputs.get(leaf) for leaf in self.leaves[id]]
            if None not in leaves:
                yield frozenset(leaves)


def _match_once(left: _Side, right: _Side, pairs: dict[int, int], own: Mapping[int, int], exact: bool) -> bool:
    """Match what can be matched by the pairs so far. Was there anything?"""
    taken = set(pairs.values())
    offers: dict[Hashable, list[int]] = {}
    for id in right.groups:
        if id not in taken:
            for signature in right.signatures(id, own, exact):
                offers.setdefault(signature, []).append(id)
    before = len(pairs)
    for id in left.groups:
        if id not in pairs:
            found = (other for s in left.signatures(id, pairs, exact) for other in offers.get(s, ()) if other not in taken)
            match = next(found, None)
            if match is not None:
                pairs[id] = match
                taken.add(match)
    return len(pairs) > before


def expression_key(state: MemoState, mexpr: MExprState, inputs: Mapping[int, int]) -> Hashable:
    """What an expression is, in groups of `b`; an input without a match is like no other."""
    below = tuple(inputs.get(id, ("unmatched", id)) for id in (canonical_group(state, i) for i in mexpr.inputs))
    return mexpr.op, payload(mexpr.detail), below
