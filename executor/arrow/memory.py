"""Memory of arrays that live as long as a batch.

NumPy's come from the C library. What a thread frees, glibc gives back to the system where it can, and the next batch takes it
again page by page: up to a third of the time of a query on two threads, which wait for each other. So it is told to keep some.
"""

import ctypes
import sys
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h numbers them
_KEPT = 64 << 20  # bytes that are free and may stay, for each thread
_ARRAY = 4 << 20  # bytes of an array that is given back nevertheless


@cache
def keep_freed_memory() -> None:
    """Once for the process; nothing where the C library is another."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _ARRAY)
