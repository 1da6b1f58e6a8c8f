"""A plan diagram as PNG or PDF: its SVG, which has rectangles, lines and texts only, drawn again by Matplotlib."""

import io
from xml.etree import ElementTree

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

_DPI = 72  # of the figure: a pixel of the SVG is a point
_ALIGNED = {"start": "left", "middle": "center", "end": "right"}


def diagram_file(svg: str, format: str) -> bytes:
    """What `memo_viz.plan_diagram.plan_diagram_svg` gives, as "png" (two pixels for one) or "pdf"; the same bytes every time."""
    root = ElementTree.fromstring(svg)
    width, height = (float(root.attrib[name]) for name in ("width", "height"))
    with matplotlib.rc_context({"pdf.fonttype": 42, "font.family": "DejaVu Sans", "text.parse_math": False}):
        drawing = Figure(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
        FigureCanvasAgg(drawing)
        axes = drawing.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        for order, element in enumerate(root.iter()):
            kind, has = element.tag.rpartition("}")[2], element.attrib
            at = {name: float(has.get(name, 0)) for name in ("x", "y", "x1", "x2", "y1", "y2", "width", "height")}
            if kind == "rect":
                alpha = float(has.get("fill-opacity", 1))
                box = Rectangle((at["x"], at["y"]), at["width"], at["height"], facecolor=has["fill"], alpha=alpha, linewidth=0)
                axes.add_patch(box).set_zorder(order)
            elif kind == "text":
                turned = "transform" in has  # by -90 degrees, and so are its coordinates
                x, y = (at["y"], -at["x"]) if turned else (at["x"], at["y"])
                axes.text(
                    x, y, element.text or "", size=11, rotation=90 if turned else 0, rotation_mode="anchor",
                    ha=_ALIGNED[has["text-anchor"]], va="baseline", zorder=order,
                )  # fmt: skip
            elif kind == "line":
                line = Line2D((at["x1"], at["x2"]), (at["y1"], at["y2"]), color="black", linewidth=1, dashes=(4, 3))
                axes.add_line(line).set_zorder(order)
            elif kind == "polyline":
                points = [tuple(map(float, point.split(","))) for point in has["points"].split()]
                axes.add_line(Line2D(*zip(*points, strict=True), color="black", linewidth=2)).set_zorder(order)
            elif kind == "path":  # the cross, from its upper left corner
                x, y = (float(part) for part in has["d"][1:].split("l")[0].split())
                axes.plot([x + 6], [y + 6], marker="x", markersize=12, markeredgewidth=2, color="black", zorder=order)
        file = io.BytesIO()
        drawing.savefig(file, format=format, dpi=2 * _DPI, metadata={"CreationDate": None} if format == "pdf" else None)
    return file.getvalue()
