"""Windows become window rows over an input sorted by partition, in any permutation, and order."""

from __future__ import annotations

from optimizer.algebra.logical import Window
from optimizer.algebra.physical import WindowRows
from optimizer.rules.interface import ANY, ImplementationRule, node


class WindowToWindowRows(ImplementationRule):
    name = "window_to_window_rows"
    pattern = node(Window, ANY)
    to = WindowRows
