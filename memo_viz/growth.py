"""The memo as it grows, as one SVG that plays in any browser: groups and members appear in the order of the trace, the row of a
member is green while it is the best of some goal, and the title of a group while it is in the best plan of the root.

Things stand where they stand at the end, so nothing jumps. There is no script: every element has a CSS animation. Whoever asked
for reduced motion sees the memo at the end.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import networkx as nx

from memo_viz.dot import memo_dot
from memo_viz.graph import members, memo_graph
from memo_viz.names import canonical_group
from memo_viz.style import CHOSEN, CHOSEN_ROW, FONT, INK, OTHER_TITLE, RULE
from memo_viz.svg import render_svg
from optimizer.algebra.printing import number
from optimizer.trace.replay import Replay
from optimizer.trace.state import set_id

FRAMES = 200  # moments that are told apart
HOLD = 0.2  # of the time, in which the memo at the end is shown
FOOTER = 46  # points below the picture


def growth_svg(events: Sequence[dict[str, Any]], seconds: float = 20, title: str = "") -> str:
    """An SVG document that plays for `seconds` and begins again."""
    replay = Replay(events)
    graph = memo_graph(replay.final())
    graph.graph["anchors"] = True
    svg = render_svg(memo_dot(graph, title=title))
    born, bests, plans = _births(events), list(_bests(events)), _plans(replay)
    moments = sorted(
        {*(born[n] for n in graph if n in born), *(seq for seq, node, _ in bests if node in graph), *(plan.seq for plan in plans)}
    )
    frame = {seq: 1 + i * FRAMES // len(moments) for i, seq in enumerate(moments)}
    used = sorted(set(frame.values()))
    rules = [f".a{i}{{animation:a{i} {seconds:g}s step-end infinite}}" for i in used]
    rules += [f"@keyframes a{i}{{0%{{opacity:0}}{_percent(i)}{{opacity:1}}}}" for i in used]
    rules += _fills(graph, bests, frame, seconds, ("white", CHOSEN_ROW), ("", ""))
    rules += _fills(graph, _heads(plans), frame, seconds, (OTHER_TITLE, CHOSEN), (INK, "white"))
    first = {_id(node): frame[born[node]] for node in graph if node in born}
    first.update((_id(edge), frame[seq]) for edge, seq in _edges(graph, born).items())
    svg = re.sub(r'<g id="(a_)?([\w.]+)"( class="(?:node|edge)")?>', lambda found: _appearing(found, first), svg)
    return _with_footer(svg, rules, _captions(len(events), plans, frame, seconds), seconds)


class _Plan(NamedTuple):
    """What the root has from event `seq` on."""

    seq: int
    groups: frozenset[str]
    cost: float


def _births(events: Iterable[dict[str, Any]]) -> dict[str, int]:
    """The event at which each node of the memo's graph came into being."""
    born: dict[str, int] = {}
    for event in events:
        kind, seq = event["kind"], event["seq"]
        if kind == "group":
            born.setdefault(f"G{event['id']}", seq)
        elif kind == "goal" and event["group"] < 0:
            born.setdefault(f"G{set_id(event['goal'])}", seq)
        elif kind == "place":  # a set became a group: it was there before
            born[f"G{event['group']}"] = born.get(f"G{set_id(event['goal'])}", seq)
        elif kind == "mexpr" and not event["duplicate"]:
            born.setdefault(f"m{event['id']}", seq)
        elif kind == "best":
            born.setdefault(_member(event), seq)
    return born


def _edges(graph: nx.DiGraph, born: dict[str, int]) -> dict[str, int]:
    """The event at which each pair of groups was linked by a member that is drawn as an edge."""
    found: dict[str, int] = {}
    for group in [n for n, kind in graph.nodes(data="kind") if kind == "group"]:
        linked = [m for m in members(graph, group) if m in born]
        linked.sort(key=lambda m: (not graph.nodes[m]["chosen"], not graph.nodes[m]["best_for"], born[m]))
        for member in linked:
            for target in graph.successors(member):
                found.setdefault(f"{group}.{target}", max(born[member], born.get(target, 0)))
    return found


def _bests(events: Iterable[dict[str, Any]]) -> Iterator[tuple[int, str, bool]]:
    """(event, member, whether it is from then on the best of some goal)."""
    best: dict[int, str] = {}
    goals: Counter[str] = Counter()
    for event in events:
        if event["kind"] == "best":
            old, new = best.get(event["goal"]), _member(event)
            best[event["goal"]] = new
            goals[new] += 1
            if old is not None:
                goals[old] -= 1
                yield event["seq"], old, goals[old] > 0
            yield event["seq"], new, True
        elif event["kind"] == "restart":
            yield from ((event["seq"], member, False) for member, count in goals.items() if count)
            best, goals = {}, Counter()
        elif event["kind"] == "recost":
            for goal in event["goals"]:
                old = best.pop(goal, None)
                if old is not None:
                    goals[old] -= 1
                    yield event["seq"], old, goals[old] > 0


def _heads(plans: Iterable[_Plan]) -> Iterator[tuple[int, str, bool]]:
    """(event, group, whether it is from then on in the best plan of the root)."""
    shown: frozenset[str] = frozenset()
    for plan in plans:
        yield from ((plan.seq, group, group in plan.groups) for group in sorted(plan.groups ^ shown))
        shown = plan.groups


def _member(event: dict[str, Any]) -> str:
    if event["split"]:
        return f"m{set_id(event['goal'])}"
    return f"e{event['goal']}" if event["mexpr"] is None else f"m{event['mexpr']}"


def _plans(replay: Replay) -> list[_Plan]:
    """What the root has, each time that it found something cheaper."""
    root = replay.final().root
    found = []
    for event in replay.events:
        if event["kind"] == "best" and event["goal"] == root:
            state = replay.seek(event["seq"] + 1)
            groups = (canonical_group(state, state.goals[id].group) for id in state.winners())
            found.append(_Plan(event["seq"], frozenset(f"G{id}" for id in groups), event["cost"]))
    return found


def _fills(
    graph: nx.DiGraph, changes: Iterable[tuple[int, str, bool]], frame: dict[int, int], seconds: float, fills: tuple[str, str],
    inks: tuple[str, str],
) -> Iterator[str]:  # fmt: skip
    """Keyframes of the colours of nodes: the second of `fills` and `inks` while a node is on, else the first. `changes`: (event,
    node, on). Without `inks` text keeps its colour."""
    steps: dict[str, list[tuple[int, bool]]] = {}
    for seq, node, on in changes:
        if node in graph:
            steps.setdefault(node, []).append((frame[seq], on))
    for node in sorted(steps):
        name = _id(node)
        for what, colors in (("polygon", fills), ("text", inks)):
            if colors[0]:
                frames = "".join(f"{_percent(at)}{{fill:{colors[on]}}}" for at, on in steps[node])
                cells = ",".join(f"#a_{name}\\.{i} {what}" for i in range(5))
                yield f"@keyframes {what}{name}{{0%{{fill:{colors[0]}}}{frames}}}"
                yield f"{cells}{{animation:{what}{name} {seconds:g}s step-end infinite}}"


def _appearing(found: re.Match[str], first: dict[str, int]) -> str:
    """The element of a node, an edge or a cell, with the class of its moment."""
    cell, name, kind = found.groups()
    frame = first.get(name.rpartition(".")[0] if cell else name)
    if frame is None:
        return found[0]
    return f'<g id="{cell or ""}{name}" class="{kind[8:-1] + " " if kind else ""}a{frame}">'


def _captions(events: int, plans: Sequence[_Plan], frame: dict[int, int], seconds: float) -> str:
    """A line of text for each frame, seen while its frame is."""
    last = {at: seq for seq, at in frame.items()}
    frames = sorted(last)
    parts = []
    for i, at in enumerate(frames):
        cost = min((plan.cost for plan in plans if plan.seq <= last[at]), default=None)
        words = f"event {last[at]:,} of {events - 1:,} · " + ("no plan yet" if cost is None else f"best plan {number(cost)}")
        end = f"{_percent(frames[i + 1])}{{opacity:0}}" if i + 1 < len(frames) else ""
        parts.append(
            f"<style>@keyframes t{at}{{0%{{opacity:{int(i == 0)}}}{_percent(at)}{{opacity:1}}{end}}}"
            f".t{at}{{opacity:{int(not end)};animation:t{at} {seconds:g}s step-end infinite}}</style>"
            f'<text class="t{at}" x="18" y="14" font-family="{FONT}" font-size="12" fill="{INK}">{words}</text>'
        )
    return "".join(parts)


def _with_footer(svg: str, rules: Iterable[str], captions: str, seconds: float) -> str:
    """The document with its style sheet, and a bar and captions below the picture."""
    found = re.search(r'<svg width="(\d+)pt" height="(\d+)pt"\s+viewBox="([\d.-]+) ([\d.-]+) ([\d.]+) ([\d.]+)"', svg)
    assert found is not None, "graphviz gives the size in points"
    width, height = float(found[5]), float(found[6])
    head = found[0].replace(f'height="{found[2]}pt"', f'height="{int(found[2]) + FOOTER}pt"')
    head = head.replace(f"{found[5]} {found[6]}", f"{found[5]} {height + FOOTER:.2f}")
    play = f"{100 * (1 - HOLD):g}%"
    style = (
        f"<style>{''.join(rules)}@keyframes bar{{0%{{transform:scaleX(0)}}{play},100%{{transform:scaleX(1)}}}}"
        f".bar{{animation:bar {seconds:g}s linear infinite}}"
        "@media (prefers-reduced-motion:reduce){*{animation:none!important}}</style>"
    )
    bar = (
        f'<g transform="translate(0 {height:.2f})"><rect width="{width:.2f}" height="{FOOTER}" fill="white"/>{captions}'
        f'<rect x="18" y="24" width="{width - 36:.2f}" height="6" fill="{RULE}"/>'
        f'<g transform="translate(18 24)"><rect class="bar" width="{width - 36:.2f}" height="6" fill="{CHOSEN}"/></g></g>'
    )
    body = svg.replace(found[0], head, 1)
    start = body.index(">", body.index("<svg")) + 1
    end = body.rindex("</svg>")
    return f"{body[:start]}\n{style}{body[start:end]}{bar}\n{body[end:]}"


def _percent(frame: int) -> str:
    return f"{100 * (1 - HOLD) * frame / FRAMES:.4g}%"


def _id(node: str) -> str:
    return node.replace("-", "_")
