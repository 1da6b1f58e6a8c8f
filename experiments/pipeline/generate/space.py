"""Whether a dataset will fit on the disk."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

from optimizer.errors import OutputError

_MARGIN = 1.2  # sizes are estimates


def check_space(folder: Path, size: float, label: str, place: str = "a folder") -> None:
    """Raises OutputError unless `size` bytes and a margin fit beside what is in `folder`, which counts as made already.

    `place`: what the user may choose otherwise.
    """
    free = shutil.disk_usage(folder).free
    made = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if size * _MARGIN - made > free:
        raise OutputError(
            f"{label} needs about {size_text(size)}, but there are {size_text(free)} left\n"
            f"choose a smaller scale, or {place} with more space"
        )


def size_text(count: float) -> str:
    """3 digits and a unit: 330 MB."""
    unit = min(3, max(0, int(math.log10(max(count, 1)) // 3)))
    return f"{count / 1000**unit:.3g} {('B', 'kB', 'MB', 'GB')[unit]}"
