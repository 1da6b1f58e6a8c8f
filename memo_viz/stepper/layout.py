"""Where each group of a search lies on the page: one place for the whole search, taken from the memo at its end.

Graphviz says which groups lie beside each other, and in which order. The rows are then set tight and wide ones broken into
lines, so that a clique of eight relations fits on a screen.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from memo_viz.names import canonical_group
from memo_viz.svg import node_centres
from memo_viz.text import wrap
from optimizer.trace.state import MemoState, set_id

GRAPHVIZ_UP_TO = 400  # groups
ROWS = 6  # multi-expressions that a box has room for
TITLE_WIDTH, SET_WIDTH, TITLE_LINES = 26, 17, 4  # characters
# in points; the page draws by these
CHARACTER, TITLE_LINE, FIGURES_LINE, ROW, PADDING = 6.2, 15, 15, 15, 9
CARD_WIDTH, PILL_WIDTH, SIGN = 132, 64, 14
MARK, ROW_CHARACTER, COST = 16, 6.4, 7  # of an operator: pixels before its name, of a letter; letters of its cost
GAP_X, GAP_Y = 14, 34
SCREEN = 1.4  # width by height of what is seen of a picture


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
    goals = Counter(_place(census, final, goal.group) for goal in final.goals.values())
    boxes = {id: _box(census, final, names.get(id, f"G{id}"), id, goals[id]) for id in census.members}
    links = _links(census, final, boxes)
    ranks = _ranks_by_graphviz if len(boxes) <= GRAPHVIZ_UP_TO else _ranks_by_level
    if boxes:
        _close_up(boxes, ranks(boxes, links, final), links)
    return Layout(boxes, census.alias)


def _take_census(events: Iterable[Mapping[str, Any]], final: MemoState) -> _Census:
    census = _Census({id: [] for id in final.groups})
    for event in events:
        kind = event["kind"]
        if kind == "mexpr" and not event["duplicate"]:
            census.members.setdefault(event["group"], []).append(event["id"])
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
    for mexpr in final.mexprs.values():
        if mexpr.id < 0 <= mexpr.group:  # a join that stands for a set which is a group
            census.members[mexpr.group].append(mexpr.id)
            census.bests.add(mexpr.id)
    for goal in final.goals.values():
        for below in goal.best.inputs if goal.best is not None else ():
            census.links[goal.group, final.goals[below].group] = True
    return census


def _box(census: _Census, final: MemoState, name: str, id: int, goals: int) -> Box:
    """A box with room for its operators with their costs, and for the signs of up to three goals beside its name."""
    small = id < 0
    title = wrap(name, SET_WIDTH if small else TITLE_WIDTH, TITLE_LINES) or [""]
    everyone = census.members[id]
    rows = sorted(everyone, key=lambda mexpr: mexpr not in census.bests)
    more = len(rows) > ROWS
    rows = sorted(rows[: ROWS - more])
    least = PILL_WIDTH if small else CARD_WIDTH
    wide = CHARACTER * max(map(len, title)) + SIGN * max(1, min(goals, 3))
    ops = max((len(final.mexprs[row].op) for row in rows if row in final.mexprs), default=0)
    width = max(least, 2 * PADDING + max(wide, MARK + ROW_CHARACTER * (ops + COST)))
    lines = len(rows) + more
    height = TITLE_LINE * len(title) + FIGURES_LINE + (ROW * lines + 6 if lines else 0) + PADDING
    return Box(title, rows, more, width, height)


def _links(census: _Census, final: MemoState, boxes: Mapping[int, Box]) -> dict[int, list[int]]:
    """Input groups by group, those of best plans first. A set of relations without a plan hangs on the largest sets in it."""
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


def _ranks_by_graphviz(boxes: Mapping[int, Box], links: Mapping[int, Sequence[int]], final: MemoState) -> list[list[int]]:
    """Groups in rows from the top, each row from left to right, so that few links cross."""
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
    rows: dict[float, list[int]] = {}
    for id in boxes:
        rows.setdefault(round(centres[str(id)][1]), []).append(id)
    return [sorted(rows[y], key=lambda id: centres[str(id)][0]) for y in sorted(rows)]


def _ranks_by_level(boxes: Mapping[int, Box], links: Mapping[int, Sequence[int]], final: MemoState) -> list[list[int]]:
    """The same for memos that are too large for graphviz: a row for each level, groups near the middle of their inputs."""
    level = {id: len(found) - 1 for id, found in _relations(final).items()}
    for id in sorted(boxes, key=lambda id: (id < 0, id)):  # inputs mostly have smaller numbers than what reads them
        level.setdefault(id, max((level.get(below, 0) + 1 for below in links[id]), default=0))
    rows: dict[int, list[int]] = {}
    for id in boxes:
        rows.setdefault(level[id], []).append(id)
    middle: dict[int, float] = {}
    for number in sorted(rows):
        row = rows[number]
        row.sort(key=lambda id: _mean([middle[below] for below in links[id] if below in middle]))
        middle |= {id: (i + 0.5) / len(row) for i, id in enumerate(row)}
    return [rows[number] for number in sorted(rows, reverse=True)]


def _close_up(boxes: Mapping[int, Box], rows: Sequence[Sequence[int]], links: Mapping[int, Sequence[int]]) -> None:
    """Set the rows tight and break the wide ones into lines, so that the whole has the shape of a screen; groups of narrow rows
    lie above their inputs where there is room."""
    widths = [sum(boxes[id].width + GAP_X for id in row) - GAP_X for row in rows]
    least = max(box.width for box in boxes.values())
    candidates = sorted({max(least, max(widths) / lines) for lines in range(1, 65)} | {max(least, width) for width in widths})
    wide = min(candidates, key=lambda wide: max(wide / SCREEN, _height(boxes, rows, wide)))
    bottom = _height(boxes, rows, wide)
    for row in reversed(rows):
        lines = _lines(boxes, row, wide)
        for i, line in reversed([*enumerate(lines)]):
            bottom -= max(boxes[id].height for id in line)
            for id, x in zip(line, _spread(line, boxes, links, wide, loose=len(lines) == 1), strict=True):
                boxes[id].x, boxes[id].y = x, bottom
            bottom -= GAP_Y if i == 0 else GAP_X


def _lines(boxes: Mapping[int, Box], row: Sequence[int], wide: float) -> list[Sequence[int]]:
    """A row in as many lines as it takes, from left to right in columns, so that neighbours stay near each other."""
    total = sum(boxes[id].width + GAP_X for id in row) - GAP_X
    count = min(len(row), ceil(total / (wide * 1.001)))
    return [row[i::count] for i in range(count)]


def _height(boxes: Mapping[int, Box], rows: Sequence[Sequence[int]], wide: float) -> float:
    height = -float(GAP_Y)
    for row in rows:
        lines = _lines(boxes, row, wide)
        height += sum(max(boxes[id].height for id in line) for line in lines) + GAP_X * (len(lines) - 1) + GAP_Y
    return height


def _spread(
    line: Sequence[int], boxes: Mapping[int, Box], links: Mapping[int, Sequence[int]], wide: float, loose: bool
) -> list[float]:
    """Where the middle of each group of a line goes, in this order and without overlaps."""
    widths = [boxes[id].width for id in line]
    free = max(0.0, wide - sum(widths) - GAP_X * (len(line) - 1))
    result: list[float] = []
    left = 0.0 if loose else free / 2
    for id, width in zip(line, widths, strict=True):
        placed = [boxes[below].x for below in links[id]]
        wanted = _mean(placed) if placed else left + width / 2 + free / (len(line) + 1)
        x = max(left + width / 2, wanted) if loose else left + width / 2
        result.append(x)
        left = x + width / 2 + GAP_X
    right = wide
    for i in reversed(range(len(line))):
        result[i] = min(result[i], right - widths[i] / 2)
        right = result[i] - widths[i] / 2 - GAP_X
    return result


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
