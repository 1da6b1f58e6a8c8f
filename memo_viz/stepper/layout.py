"""Where each group of a search lies on the page: one place for the whole search, taken from the memo at its end.

A small memo is laid out by graphviz. In a large one each level (relations joined, or inputs below) is a block of rows as wide as
the others, so that a clique of eight relations fits on a screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from memo_viz.graph import canonical_group
from memo_viz.svg import node_centres
from memo_viz.text import wrap
from optimizer.trace.state import MemoState, set_id

GRAPHVIZ_UP_TO = 70  # groups
ROWS = 6  # multi-expressions that a box has room for
TITLE_WIDTH, SET_WIDTH, TITLE_LINES = 26, 17, 4  # characters
# in points; the page draws by these
CHARACTER, TITLE_LINE, FIGURES_LINE, ROW, PADDING = 6.2, 15, 15, 15, 9
CARD_WIDTH, PILL_WIDTH = 132, 64
GAP_X, GAP_Y = 16, 46


@dataclass(slots=True)
class Box:
    """A group's place: the centre of its upper edge and its size; the lines of its name; the multi-expressions it has room for
    (`more`: it also counts others)."""

    title: list[str]
    rows: list[int]
    more: bool
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


@dataclass(slots=True)
class Layout:
    """Boxes by group id. `alias`: the group that a set of relations became, which stands in the same place."""

    boxes: dict[int, Box]
    alias: dict[int, int]

    def as_json(self) -> dict[str, Any]:
        boxes = {
            str(id): [round(box.x), round(box.y), round(box.width), round(box.height), box.title, box.rows, box.more]
            for id, box in self.boxes.items()
        }
        return {"boxes": boxes, "alias": {str(old): new for old, new in self.alias.items()}}


@dataclass(slots=True)
class _Census:
    """What ever was in the memo: members of groups in the order they came, members that ever were the best, inputs."""

    members: dict[int, list[int]] = field(default_factory=dict)
    bests: set[int] = field(default_factory=set)
    alias: dict[int, int] = field(default_factory=dict)
    links: dict[tuple[int, int], bool] = field(default_factory=dict)  # group and input group: of a best plan?


def layout(events: Iterable[Mapping[str, Any]], final: MemoState, names: Mapping[int, str]) -> Layout:
    """The places of all groups that `events` speak of. `final`: the state after them; `names`: of groups, by id."""
    census = _take_census(events, final)
    boxes = {id: _box(census, names.get(id, f"G{id}"), id, small=id < 0) for id in census.members}
    links = _links(census, final, boxes)
    if len(boxes) <= GRAPHVIZ_UP_TO:
        _by_graphviz(boxes, links, final)
    else:
        _by_levels(boxes, links, final)
    return Layout(boxes, census.alias)


def _take_census(events: Iterable[Mapping[str, Any]], final: MemoState) -> _Census:
    census = _Census({id: [] for id in final.groups})
    group_of: dict[int, int] = {}
    for event in events:
        kind = event["kind"]
        if kind == "mexpr" and not event["duplicate"]:
            census.members.setdefault(event["group"], []).append(event["id"])
            group_of[event["id"]] = event["group"]
            for below in event["inputs"]:
                census.links.setdefault((event["group"], below), False)
        elif kind == "merge":
            moved = census.members.setdefault(event["gone"], [])
            home = census.members.setdefault(event["into"], [])
            home += [id for id in moved if id not in home]
        elif kind == "place":
            census.alias[set_id(event["goal"])] = event["group"]
        elif kind == "best" and event["mexpr"] is not None:
            census.bests.add(event["mexpr"])
    for goal in final.goals.values():
        for below in goal.best.inputs if goal.best is not None else ():
            census.links[goal.group, final.goals[below].group] = True
    return census


def _box(census: _Census, name: str, id: int, small: bool) -> Box:
    title = wrap(name, SET_WIDTH if small else TITLE_WIDTH, TITLE_LINES) or [""]
    everyone = census.members[id]
    rows = sorted(everyone, key=lambda mexpr: mexpr not in census.bests)
    more = len(rows) > ROWS
    rows = sorted(rows[: ROWS - more])
    least = PILL_WIDTH if small else CARD_WIDTH
    width = max(least, CHARACTER * max(map(len, title)) + 2 * PADDING + (12 if small else 26))
    lines = len(rows) + more
    height = TITLE_LINE * len(title) + FIGURES_LINE + (ROW * lines + 6 if lines else 0) + PADDING
    return Box(title, rows, more, width, height)


def _links(census: _Census, final: MemoState, boxes: Mapping[int, Box]) -> dict[int, list[int]]:
    """Input groups by group, those of best plans first. A set of relations without a plan hangs on the largest sets known in it."""
    result: dict[int, list[int]] = {id: [] for id in boxes}
    for (above, below), _ in sorted(census.links.items(), key=lambda item: not item[1]):
        above, below = (_place(census, final, above), _place(census, final, below))
        if above != below and above in boxes and below in boxes and below not in result[above]:
            result[above].append(below)
    sets = {id: frozenset(found) for id, found in _relations(final).items()}
    by_set = {found: id for id, found in sets.items()}
    for id, found in sets.items():
        if not result[id] and len(found) > 1:
            parts = [by_set[found - {one}] for one in sorted(found) if found - {one} in by_set]
            result[id] = parts[:2] or sorted(found)
    return result


def _place(census: _Census, final: MemoState, id: int) -> int:
    id = census.alias.get(id, id)
    return canonical_group(final, id) if id in final.groups else id


def _relations(final: MemoState) -> dict[int, list[int]]:
    return {id: group.relations for id, group in final.groups.items() if group.relations is not None}


def _by_graphviz(boxes: dict[int, Box], links: Mapping[int, Sequence[int]], final: MemoState) -> None:
    lines = ["digraph {", 'node [shape=box, fixedsize=true, label=""]', f"graph [nodesep={GAP_X / 72}, ranksep={GAP_Y / 72}]"]
    for id, box in boxes.items():
        lines.append(f'"{id}" [width={box.width / 72:.3f}, height={box.height / 72:.3f}]')
    for above, inputs in links.items():
        for below in inputs:
            lines.append(f'"{above}" -> "{below}"')
    by_size: dict[int, list[int]] = {}
    for id, found in _relations(final).items():
        by_size.setdefault(len(found), []).append(id)
        by_size.setdefault(1, []).extend(found)
    for same in by_size.values():
        drawn = [f'"{id}"' for id in dict.fromkeys(same) if id in boxes]
        lines.append(f"{{rank=same; {'; '.join(drawn)}}}")
    centres = node_centres("\n".join([*lines, "}"]))
    for id, box in boxes.items():
        x, y = centres[str(id)]
        box.x, box.y = x, y - box.height / 2


def _by_levels(boxes: dict[int, Box], links: Mapping[int, Sequence[int]], final: MemoState) -> None:
    """Leaves at the bottom, a block of rows for each level. In a block, groups lie near the middle of their inputs."""
    level = _levels(boxes, links, final)
    rows: dict[int, list[int]] = {}
    for id in sorted(boxes, key=lambda id: (id < 0, id)):
        rows.setdefault(level[id], []).append(id)
    area = sum((box.width + GAP_X) * (box.height + GAP_Y / 2) for box in boxes.values())
    wide = max(sqrt(area * 1.7), *(box.width for box in boxes.values()))
    bottom = 0.0
    middle: dict[int, float] = {}
    for number in sorted(rows):
        row = rows[number]
        if number:
            row.sort(key=lambda id: _mean([middle[below] for below in links[id] if below in middle]))
        lines = _broken(row, boxes, wide)
        for line in reversed(lines):
            tall = max(boxes[id].height for id in line)
            x = (wide - sum(boxes[id].width + GAP_X for id in line) + GAP_X) / 2
            for id in line:
                box = boxes[id]
                box.x, box.y = x + box.width / 2, bottom - tall
                middle[id] = box.x
                x += box.width + GAP_X
            bottom -= tall + (GAP_Y / 3 if line is not lines[0] else GAP_Y)
    for box in boxes.values():
        box.y -= bottom


def _levels(boxes: Mapping[int, Box], links: Mapping[int, Sequence[int]], final: MemoState) -> dict[int, int]:
    """Relations joined, less one, for sets; for others the longest way down."""
    level = {id: len(found) - 1 for id, found in _relations(final).items()}
    for _ in range(len(boxes)):
        changed = False
        for id in boxes:
            least = max((level.get(below, 0) + 1 for below in links[id]), default=0)
            if id not in level or (level[id] < least <= len(boxes) and id >= 0):
                level[id] = least
                changed = True
        if not changed:
            break
    return level


def _broken(row: Sequence[int], boxes: Mapping[int, Box], wide: float) -> list[list[int]]:
    """The groups of one level in lines of about the same width, none wider than `wide`. They go from left to right line by line
    in columns, so that neighbours stay near each other."""
    total = sum(boxes[id].width + GAP_X for id in row)
    count = max(1, int(-(-total // wide)))
    lines: list[list[int]] = [row[i::count] for i in range(count)]  # type: ignore[misc]
    return lines


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
