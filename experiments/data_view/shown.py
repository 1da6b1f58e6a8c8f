"""Names and values of a dataset as text for people: whoever made the data may have put anything into them."""

from typing import Any

from rich.cells import cell_len, set_cell_size

from memo_viz.text import clean
from optimizer.errors import many


def value_text(value: Any) -> str:
    """A value of a column; texts in quotes, so that an empty one and blanks show, bytes in hexadecimal digits."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"'{clean(value)}'"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else clean(str(value))


def count_text(value: float | None) -> str:
    """A number of rows or values; "?" when it is unknown, two digits of what is below ten and no whole number."""
    if value is None:
        return "?"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def share_text(share: float) -> str:
    return f"{share * 100:.3g}%"


def size_text(bytes: int) -> str:
    return f"{bytes / 1e6:,.1f} MB" if bytes >= 1e5 else f"{bytes / 1e3:,.1f} kB" if bytes >= 1e3 else many(bytes, "byte")


def cut(text: str, cells: int) -> str:
    """At most `cells` terminal cells of `text`, with an ellipsis where it was cut; wide characters take two."""
    return text if cell_len(text) <= cells else set_cell_size(text, max(cells - 1, 0)).rstrip() + "…"


def padded(text: str, cells: int, right: bool = False) -> str:
    """`text` in exactly `cells` terminal cells; `right`: blanks come first."""
    text = cut(text, cells)
    blanks = " " * (cells - cell_len(text))
    return blanks + text if right else text + blanks
