"""DOT to SVG, PNG and PDF with the layout library that comes inside pygraphviz's wheel; no `dot` program is needed."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pygraphviz

_lock = threading.Lock()
# outer joins, in what the fonts of a Linux machine have: what draws an SVG may look further, here it is drawn now
_OUTER = str.maketrans({"⟕": "=⋈", "⟖": "⋈=", "⟗": "=⋈="})


def render_svg(dot: str) -> str:
    """An SVG document (text, from `<?xml` on), laid out top-down unless `dot` says otherwise. Raises ValueError when `dot` is
    not DOT."""
    return _without_links(_render(dot, "svg").decode("utf-8"))


def render(dot: str, format: str) -> bytes:
    """The picture as dot, svg, png or pdf. PNG has two pixels a point, fewer where that would be more than it can have."""
    if format in ("dot", "svg"):
        return (dot if format == "dot" else render_svg(dot)).encode("utf-8")
    return _render(dot.translate(_OUTER), format, dpi="144" if format == "png" else None)


def _render(dot: str, format: str, dpi: str | None = None) -> bytes:
    with _lock, _stderr_captured() as noise:
        try:
            graph = pygraphviz.AGraph(string=dot)
            if dpi is not None:
                graph.graph_attr["dpi"] = dpi
            drawn: bytes = graph.draw(format=format, prog="dot")
        except Exception as error:
            raise ValueError(f"graphviz could not lay the graph out: {noise() or error}") from error
    return drawn


def node_centres(dot: str) -> dict[str, tuple[float, float]]:
    """Where `dot` puts each node, in points from the top left corner. Raises ValueError when `dot` is not DOT."""
    lines = [line.split() for line in _render(dot, "plain").decode("utf-8").splitlines()]
    height = float(lines[0][3])  # in inches, as all of this format; the origin is at the bottom
    return {words[1]: (72 * float(words[2]), 72 * (height - float(words[3]))) for words in lines if words[0] == "node"}


def inline_svg(svg: str) -> str:
    """The `<svg>` element alone, as notebooks and HTML pages want it: as wide as what it stands in, if it would be wider."""
    return svg[svg.index("<svg") :].replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)


def _without_links(svg: str) -> str:
    """Drop the link targets that graphviz demands for a cell to have a tooltip, and the titles, which are its own names of
    nodes and edges; the tooltips stay."""
    svg = re.sub(r"<title>[^<]*</title>\n", "", svg)
    return re.sub(r'(<a )xlink:href="#" (xlink:title=)', r"\1\2", svg)


@contextmanager
def _stderr_captured() -> Iterator[Callable[[], str]]:
    """Keep what C libraries print on standard error (fontconfig's complaints about a machine's configuration) off the terminal.

    Yields a function that returns what was printed so far.
    """
    sys.stderr.flush()
    with tempfile.TemporaryFile() as sink:
        saved = os.dup(2)
        try:
            os.dup2(sink.fileno(), 2)

            def noise() -> str:
                sink.seek(0)
                lines = sink.read().decode("utf-8", "replace").splitlines()
                return "; ".join(line for line in lines if "ontconfig" not in line)

            yield noise
        finally:
            os.dup2(saved, 2)
            os.close(saved)
