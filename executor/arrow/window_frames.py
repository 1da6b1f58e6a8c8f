"""Frames as pieces: for each row the ranges [low, high) of rows that its window call sees.

Without EXCLUDE there is one piece, with it up to three, in row order and apart from one another. Where a frame is empty, low =
high. All pieces lie within the row's partition.
"""

import numpy as np

from executor.arrow.window_layout import Layout
from executor.arrow.window_ranges import RangeKey
from optimizer.algebra.scalars import Frame, FrameBound

Piece = tuple[np.ndarray, np.ndarray]


def frame_pieces(frame: Frame | None, layout: Layout, key: RangeKey | None) -> list[Piece]:
    """`key`: the values of the order key, needed for RANGE with an offset."""
    if frame is None:
        return [(layout.start, layout.end)]
    low = _place(frame.unit, frame.start, layout, key, end=False)
    high = np.maximum(_place(frame.unit, frame.end, layout, key, end=True), low)
    at, after = layout.at, layout.at + 1
    match frame.exclude:
        case "none":
            return [(low, high)]
        case "current row":
            return [(low, at.clip(low, high)), (after.clip(low, high), high)]
    before, beyond = layout.peer_start.clip(low, high), layout.peer_end.clip(low, high)
    if frame.exclude == "group":
        return [(low, before), (beyond, high)]
    return [(low, before), (at.clip(low, high), after.clip(low, high)), (beyond, high)]


def _place(unit: str, bound: FrameBound, layout: Layout, key: RangeKey | None, end: bool) -> np.ndarray:
    """Where the frame begins, or where its `end` is."""
    if bound.side != "current" and bound.offset is None:
        return layout.end if end else layout.start
    if unit == "rows":
        return (layout.at + _moved(bound, layout) + end).clip(layout.start, layout.end)
    if bound.side == "current":
        return layout.peer_end if end else layout.peer_start
    if unit == "range":
        assert key is not None and bound.offset is not None
        return key.place(bound.offset, bound.side == "following", end)
    return _peer_groups(bound, layout)[end]


def _moved(bound: FrameBound, layout: Layout) -> int:
    """Rows, or groups, from the current one to the bound; no more than there are."""
    if bound.side == "current":
        return 0
    assert bound.offset is not None, "an unbounded side needs no offset"
    distance = min(int(bound.offset.value), layout.rows)
    return -distance if bound.side == "preceding" else distance


def _peer_groups(bound: FrameBound, layout: Layout) -> Piece:
    """Where the group of peers begins and ends that is so many groups from the current one."""
    group = layout.peers + _moved(bound, layout)
    last = len(layout.peer_starts) - 2
    inside = group.clip(0, last)
    starts, ends = layout.peer_starts[inside], layout.peer_starts[inside + 1]
    starts, ends = starts.clip(layout.start, layout.end), ends.clip(layout.start, layout.end)
    return np.where(group > last, layout.end, starts), np.where(group < 0, layout.start, ends)
