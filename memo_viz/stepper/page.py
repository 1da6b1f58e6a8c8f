"""One HTML file to step through a search: the events, the places of the groups, and the program that shows them.

The file needs nothing from outside and its policy forbids it to ask. Data of the query is packed (gzip, base64), and the program
puts it on the page as text only.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from memo_viz.names import called
from memo_viz.stepper.layout import layout
from memo_viz.text import clean, shorten
from memo_viz.words import Names
from optimizer.trace.replay import Replay
from optimizer.trace.state import MemoState, finite
from optimizer.trace.vocabulary import VOCABULARY

PAGE_EVENTS = 60_000  # more would open slowly
_HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import (?:\* as (\w+)|(\{[^}]*\})) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:class|function|const) (\w+))", re.MULTILINE)


def stepper_page(
    events: Sequence[dict[str, Any]], *, title: str = "", actual: Sequence[Mapping[str, float] | None] | None = None,
    start: int = 0,
) -> str:  # fmt: skip
    """The page for a trace, as text.

    `title`: what the query is called. `actual`: `rows` and `ms` of the operators of the final plan in pre-order (None: not
    known), when it was run. `start`: the first event shown; a page has `PAGE_EVENTS` at most, and says what it leaves out.
    """
    replay = Replay(events)
    base = replay.seek(start).as_json() if start else None
    shown = list(events[start : start + PAGE_EVENTS])
    final = replay.final()
    names = Names(final, {})
    data = {
        "title": title,
        "sql": next((event["sql"] for event in events[:1] if "sql" in event), ""),
        "events": finite(shown),
        "base": base,
        "total": len(events),
        "names": _names_json(names, final),
        "layout": layout(events, final, names.groups).as_json(),
        "words": json.loads(VOCABULARY.read_text("utf-8")),
        "actual": actual,
    }
    script, style = bundle("main"), (_HERE / "page.css").read_text("utf-8")
    policy = f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    return Template((_HERE / "page.html").read_text("utf-8")).substitute(
        policy=html.escape(policy, quote=True),
        title=html.escape(shorten(clean(f"{title} · planscope" if title else "planscope"), 200)),
        style=style,
        data=_packed(data),
        script=script,
    )


def _names_json(names: Names, final: MemoState) -> dict[str, Any]:
    return {
        "groups": names.groups,
        "whole": {id: each.whole for id, each in called(final).items() if each.whole != each.name},
        "goals": {id: [goal.group, goal.traits] for id, goal in final.goals.items()},
        "mexprs": {id: mexpr.op for id, mexpr in final.mexprs.items()},
        "several": sorted(names.plain.several),
    }


def _packed(data: dict[str, Any]) -> str:
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("ascii"), 6, mtime=0)).decode("ascii")


def _digest(text: str) -> str:
    """A source of scripts or styles for a content security policy: this text and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def in_frame(page: str) -> str:
    """The page as an element of another one, as notebooks want it."""
    return f'<iframe srcdoc="{html.escape(page, quote=True)}" style="width: 100%; height: 780px; border: 0"></iframe>'


def bundle(start: str) -> str:
    """The modules that `start` needs as one script. Each becomes a function of its own, called after those it imports."""
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in parts:
            return
        text = (_HERE / f"{name}.js").read_text("utf-8")
        for found in _IMPORT.finditer(text):
            add(found[3])
        exports = ", ".join(_EXPORT.findall(text))
        body = _EXPORT.sub("", _IMPORT.sub(lambda found: f"const {found[1] or found[2]} = ${found[3]};", text))
        parts[name] = f"const ${name} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"

    add(start)
    return "\n" + "\n".join(parts.values())
