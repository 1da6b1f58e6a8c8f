"""What groups, goals and columns are called: by what they are.

A table is called as the query calls it, a join by the set of its relations, anything else by its operator:
`orders`, `{lineitem, orders}`, `γ n_name`. A name stands for one group: where two would have the same, the numbers are added.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from memo_viz.text import clean, shorten
from optimizer.algebra.printing import scan_alias
from optimizer.trace.state import GroupState, MemoState, MExprState, set_id

LENGTH = 64  # characters of a name before it is shortened
REGIONS = ("join_graph", "region_graph")  # relations joined in no order yet
_BETWEEN = {
    "left": "⟕", "right": "⟖", "full": "⟗", "semi": "⋉", "anti": "▷", "mark_join": "⋈?", "single_join": "⟕!", "apply": "⤨",
    "union": "∪", "intersect": "∩", "except": "∖",
}  # fmt: skip
_BEFORE = {
    "filter": "σ", "project": "π", "aggregate": "γ", "grouping_sets": "γ", "window": "ω", "limit": "limit", "values": "values",
}  # fmt: skip
# text in quotes has no columns; a run of other characters is taken whole, so that long names take no longer for it
_COLUMN = re.compile(r"'(?:[^']|'')*'|([^\s#(),\[\]']+)(?:#(\d+))?")


def canonical_group(state: MemoState, id: int) -> int:
    """The group that `id` was merged into, itself when it was not."""
    while (target := state.groups[id].merged_into) is not None:
        id = target
    return id


class GroupName(NamedTuple):
    """What a group is called. `whole`: with all relations of a set, however many. `relations`: the groups whose inner join it is,
    itself alone where it is none."""

    name: str
    whole: str
    relations: tuple[int, ...]


def called(state: MemoState) -> dict[int, GroupName]:
    """Every group and every set of relations, also groups that went into another one."""
    namer = _Namer(state, column_names(state))
    homes = {id: canonical_group(state, id) for id in state.groups}
    names = {id: namer.name(id) for id in set(homes.values())}
    shared = Counter(names.values())
    found = {}
    for id, name in names.items():
        number = "" if shared[name] == 1 else f" ({_number(id)})"
        found[id] = GroupName(name + number, namer.whole(id) + number, namer.relations(id))
    return {id: found[home] for id, home in homes.items()}


def group_names(state: MemoState) -> dict[int, str]:
    """The names of `called` alone."""
    return {id: each.name for id, each in called(state).items()}


def members(name: str) -> tuple[str, ...]:
    """What stands between the commas of a name, in an order of its own: {b, a} is {a, b}, and {a} is a. Payloads have commas too,
    so these are the relations of a set, or parts of them."""
    name = name.strip()
    inner = name[1:-1] if name.startswith("{") and name.endswith("}") else name
    return tuple(sorted(map(str.strip, inner.split(","))))


def groups_called(state: MemoState, text: str, among: Iterable[int] | None = None) -> set[int]:
    """The groups (`among` these, where given) that a text means: by a name, else by the relations of a set in any order."""
    homes = {canonical_group(state, id) for id in (state.groups if among is None else among) if id in state.groups}
    namer = _Namer(state, column_names(state) if homes else ColumnNames(()))
    return {id for id in homes if namer.is_called(id, text.strip())} or {id for id in homes if namer.joins(id, text)}


def _number(id: int) -> str:
    return f"G{id}" if id >= 0 else f"goal {set_id(id)}"


class ColumnNames:
    """Columns without their numbers, `l_orderkey` for `l_orderkey#17`, where the query has one column of that name. `several`:
    the names that more columns have."""

    def __init__(self, labels: Iterable[str]) -> None:
        plain = Counter(label.rpartition("#")[0] for label in set(labels))
        self.several = {name for name, count in plain.items() if count > 1}

    def __call__(self, text: str) -> str:
        """`text` with such columns in it."""
        return _COLUMN.sub(lambda found: found[1] if found[2] and found[1] not in self.several else found[0], text)


def column_names(state: MemoState) -> ColumnNames:
    """Of all columns of a memo."""
    return ColumnNames(label for group in state.groups.values() for label in group.columns)


def column_labels(text: str) -> list[str]:
    """The labels of columns, `l_orderkey#17`, that stand in a payload."""
    return [found[0] for found in _COLUMN.finditer(text) if found[2]]


class _Namer:
    """Names from the leaves up. A group is what its oldest logical expression says."""

    def __init__(self, state: MemoState, columns: ColumnNames) -> None:
        self._state, self._columns = state, columns
        self._names: dict[int, str] = {}
        self._relations: dict[int, frozenset[int]] = {}

    def name(self, id: int) -> str:
        """Iterative, since plans are deep: a group waits until its inputs have names."""
        pending, seen = [id] if id not in self._names else [], {id}
        while pending:
            at = pending[-1]
            first = self._first(at)
            waiting = [i for i in self._below(at, first) if i not in seen and i not in self._names]
            if waiting:
                pending += waiting
                seen.update(waiting)
            else:
                pending.pop()
                self._names[at] = shorten(clean(self._of(self._state.groups[at], first)), LENGTH)
        return self._names[id]

    def is_called(self, id: int, text: str) -> bool:
        """Whether a text is the name of a group, with its number or without."""
        name, whole, number = self.name(id), self.whole(id), f" ({_number(id)})"
        return text in (name, whole, name + number, whole + number)

    def joins(self, id: int, text: str) -> bool:
        """Whether a text has what the name of a group has, in any order, relations with their numbers or without."""
        name = self.name(id)
        for each in (id, *self.relations(id)):
            text = text.replace(f" ({_number(each)})", "")
        return members(text) in (members(name), members(self.whole(id)))

    def whole(self, id: int) -> str:
        name, relations = self.name(id), self._relations.get(id)
        return name if relations is None else "{" + ", ".join(self._names[each] for each in sorted(relations)) + "}"

    def relations(self, id: int) -> tuple[int, ...]:
        self.name(id)
        relations = self._relations.get(id, ())
        return tuple(sorted(relations)) if len(relations) > 1 else (id,)

    def _first(self, id: int) -> MExprState | None:
        return min((self._state.mexprs[m] for m in self._state.groups[id].logical), key=lambda m: m.id, default=None)

    def _below(self, id: int, first: MExprState | None) -> list[int]:
        relations = self._state.groups[id].relations
        inputs = relations if relations is not None else [] if first is None else first.inputs
        return [canonical_group(self._state, i) for i in inputs]

    def _of(self, group: GroupState, first: MExprState | None) -> str:
        below = self._below(group.id, first)
        if group.relations is not None:
            return self._set(group.id, below)
        if first is None:
            return f"G{group.id}"
        words = first.detail.split()
        if first.op in REGIONS or (first.op == "join" and words[0] in ("inner", "cross")):
            return self._set(group.id, below)
        if first.op == "scan":
            return scan_alias(first.detail)
        inputs = [self._names.get(i, f"G{i}") for i in below]
        between = _BETWEEN.get(first.op) or _BETWEEN.get(words[0] if words else "")
        if between is not None and len(inputs) > 1:
            return f" {between} ".join(inputs)
        detail = self._columns(first.detail).removeprefix("by ").partition(";")[0]
        return f"{_BEFORE.get(first.op, first.op)} {detail}".rstrip()

    def _set(self, id: int, inputs: list[int]) -> str:
        """A join of inputs: of the relations of those that are joins themselves."""
        members = frozenset[int]().union(*(self._relations.get(i, {i}) for i in inputs))
        self._relations[id] = members
        names = [self._names.get(i, f"G{i}") for i in sorted(members)]
        return "{" + _some(names, LENGTH - 2) + "}"


def _some(names: list[str], length: int) -> str:
    """The names with commas between them; where that is too long, as many as fit, and how many there are."""
    text = ", ".join(names)
    if len(text) <= length:
        return text
    end, kept = f"… {len(names)} relations", 0
    while len(", ".join([*names[: kept + 1], end])) <= length:
        kept += 1
    return ", ".join([*names[:kept], end])
