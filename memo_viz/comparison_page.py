"""Two searches side by side as one HTML file: no script, no network, all text escaped."""

import html
from collections.abc import Iterable, Sequence

from memo_viz.comparison import Comparison, cost_change, shown_counts
from memo_viz.page_style import PAGE_STYLE
from memo_viz.plan_graph import Box, boxes_dot
from memo_viz.svg import inline_svg, render_svg
from memo_viz.text import clean, setting_text, shorten
from optimizer.algebra.printing import number
from optimizer.errors import many

LONGEST = 400  # characters of a text
MANY = 500  # entries of a list that are written

_STYLE = """
pre{font:13px/1.5 ui-monospace,monospace;overflow-x:auto;margin:0}pre div{padding:0 .4em;white-space:pre}.cost{font-size:1.15em}
.scroll{overflow-x:auto}
.plans{display:grid;grid-template-columns:1fr 1fr;gap:1.5em}@media(max-width:700px){.plans{grid-template-columns:1fr}}
"""


def comparison_page(comparison: Comparison, a: Sequence[Box], b: Sequence[Box]) -> str:
    """A whole document. `a`, `b`: the two plans."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>planscope diff</title><style>{PAGE_STYLE}{_STYLE}</style></head><body>",
        _head(comparison),
        _plan(comparison),
        f'<div class="plans">{_picture("−", a)}{_picture("+", b)}</div>',
        _winners(comparison),
        _groups(comparison),
        _counts(comparison),
        _parting(comparison),
        "</body></html>",
    ]
    return "\n".join(parts)


def _text(text: str) -> str:
    return html.escape(shorten(clean(text), LONGEST))


def _head(comparison: Comparison) -> str:
    x, y = comparison.cost
    change = cost_change(x, y)
    costs = ["no plan" if cost is None else number(cost) for cost in (x, y)]
    rows = "".join(
        f'<tr><td>{_text(name)}</td><td class="minus">{_text(setting_text(u))}</td>'
        f'<td class="plus">{_text(setting_text(v))}</td></tr>'
        for name, (u, v) in comparison.settings.items()
    )
    queries = "".join(
        f"<details><summary>query {side}</summary><pre>{html.escape(clean_query(sql))}</pre></details>"
        for side, sql in zip(("of both",) if comparison.sql[0] == comparison.sql[1] else ("a", "b"), comparison.sql, strict=False)
    )
    return (
        f'<h1>Two searches</h1><p><span class="minus">− {_text(comparison.names[0])}</span><br>'
        f'<span class="plus">+ {_text(comparison.names[1])}</span></p>'
        f'<p class="cost">cost <b>{costs[0]}</b> | <b>{costs[1]}</b> &nbsp; {change}</p>'
        + (f"<table><tr><th>setting</th><th>−</th><th>+</th></tr>{rows}</table>" if rows else "<p>the same settings</p>")
        + queries
    )


def clean_query(sql: str) -> str:
    """A query's lines, safe to show; at most 100 of them."""
    lines = [shorten(clean(line), LONGEST) for line in sql.split("\n")]
    return "\n".join([*lines[:100], *(["…"] if len(lines) > 100 else [])])


def _plan(comparison: Comparison) -> str:
    title = "The same plan" if comparison.same_plan else "Plans"
    classes = {"-": ' class="minus"', "+": ' class="plus"', " ": ""}
    signs = {"-": "−", "+": "+", " ": " "}
    lines = "".join(f"<div{classes[sign]}>{signs[sign]} {_text(line)}</div>" for sign, line in comparison.plan)
    return f"<h2>{title}</h2><pre>{lines}</pre>"


def _picture(sign: str, boxes: Sequence[Box]) -> str:
    return f"<details><summary>{sign} as a picture</summary>{inline_svg(render_svg(boxes_dot(boxes)))}</details>"


def _winners(comparison: Comparison) -> str:
    if not comparison.winners:
        return "<h2>Winners</h2><p>Every goal that both have has the same best operator over the same inputs.</p>"
    rows = []
    for winner in comparison.winners[:MANY]:
        costs = ["" if cost is None else number(cost) for cost in (winner.cost_a, winner.cost_b)]
        rows.append(
            f"<tr><td>{'★' if winner.chosen else ''}</td><td>{_text(winner.group)}</td><td>{_text(winner.traits)}</td>"
            f'<td class="minus">{_text(winner.a or "no plan")}</td><td class="n">{costs[0]}</td>'
            f'<td class="plus">{_text(winner.b or "no plan")}</td><td class="n">{costs[1]}</td></tr>'
        )
    head = "<tr><th></th><th>group</th><th>traits</th><th>−</th><th>cost</th><th>+</th><th>cost</th></tr>"
    count = len(comparison.winners)
    return (
        f"<h2>{many(count, 'goal')} with another best plan</h2><p>★ part of a chosen plan</p>"
        f'<div class="scroll"><table>{head}{"".join(rows)}</table></div>{_more(count)}'
    )


def _groups(comparison: Comparison) -> str:
    a, b, changes = comparison.only_a, comparison.only_b, comparison.expressions
    parts = [f"<h2>Groups: {comparison.groups:,} in both, {len(a):,} only in −, {len(b):,} only in +</h2>"]
    parts += [_list("minus", "−", a), _list("plus", "+", b)]
    for change in changes[:MANY]:
        counts = f"−{len(change.lost)} +{len(change.gained)}"
        inner = _list("minus", "−", change.lost) + _list("plus", "+", change.gained)
        parts.append(f"<details><summary>{_text(change.group)} &nbsp; {counts} expressions</summary>{inner}</details>")
    return "".join([*parts, _more(len(changes))])


def _list(kind: str, sign: str, texts: Sequence[str]) -> str:
    lines = "".join(f'<div class="{kind}">{sign} {_text(text)}</div>' for text in texts[:MANY])
    return f"<pre>{lines}</pre>{_more(len(texts))}" if texts else ""


def _counts(comparison: Comparison) -> str:
    differ, same = shown_counts(comparison)
    cells = '<td>{}</td><td class="n">{:,}</td><td class="n">{:,}</td>'
    rows = _sections((section, cells.format(_text(name), x, y)) for section, name, x, y in differ)
    title = f"<h2>Counts: {len(differ)} differ, {same} are the same</h2>"
    head = "<tr><th></th><th></th><th>−</th><th>+</th></tr>"
    return f'{title}<div class="scroll"><table>{head}{rows}</table></div>'


def _sections(rows: Iterable[tuple[str, str]]) -> str:
    """Table rows with the name of a section before its first."""
    last, out = "", []
    for section, cells in rows:
        out.append(f"<tr><th>{section if section != last else ''}</th>{cells}</tr>")
        last = section
    return "".join(out)


def _parting(comparison: Comparison) -> str:
    parting = comparison.parting
    if parting is None:
        return "<h2>The searches are the same, event by event</h2>"
    ended = "the trace has ended"
    return (
        f"<h2>The searches part at event {parting.event:,}</h2>"
        f'<p class="minus">− {_text(parting.a or ended)}</p><p class="plus">+ {_text(parting.b or ended)}</p>'
    )


def _more(count: int) -> str:
    return f'<p class="soft">and {count - MANY:,} more</p>' if count > MANY else ""
