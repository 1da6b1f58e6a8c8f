"""What stands in figures: names as they are, numbers at the axes."""

import pyarrow as pa
import pytest

from experiments.bench.experiment import Figure
from experiments.bench.figures import draw, write_figure


def figure(name: str, ys: list[float]) -> Figure:
    rows = [{"x": x, "y": y, "series": name, "panel": name} for x, y in enumerate(ys)]
    return Figure("f", "A figure.", pa.Table.from_pylist(rows), "lines", "x", "y", log_y=True)


def test_dollars_in_names_are_no_formula(tmp_path) -> None:
    drawing = draw(figure(r"select $\nosuch{1}$ <b> & %_#", [1.0, 100.0]))
    assert drawing is not None and all(path.exists() for path in write_figure(drawing, tmp_path, "f"))


@pytest.mark.parametrize("ys", [[2.0, 70.0], [11.0, 90.0], [1.0, 10_000.0], [0.55, 1.5], [0.97, 1.04], [3.0, 4.9]])
def test_a_logarithmic_axis_has_two_numbers_at_least(ys) -> None:
    drawing = draw(figure("a", ys))
    assert drawing is not None
    drawing.canvas.draw()
    (axes,) = drawing.axes
    low, high = axes.get_ylim()
    ticks = [*axes.yaxis.get_major_ticks(), *axes.yaxis.get_minor_ticks()]
    assert sum(bool(tick.label1.get_text()) and low <= tick.get_loc() <= high for tick in ticks) >= 2
