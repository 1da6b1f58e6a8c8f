"""Deeply nested text: run once more on a bigger stack when Python's own runs out.

The parser and the binder recurse over nested parentheses and derived tables; some hundred levels exceed Python's
default recursion limit of 1000 frames. The work must be repeatable, as it is started anew.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

_STACK_BYTES = 512 << 20  # address space, touched only as far as the recursion goes
_FRAMES = 20_000
_lock = threading.Lock()  # the recursion limit belongs to the whole interpreter


def with_deep_stack(work: Callable[[], T]) -> T:
    """`work()`; when that raises RecursionError, `work()` in a thread with room for about 20,000 frames.

    Raises whatever `work` raises, RecursionError included when even that is not enough.
    """
    try:
        return work()
    except RecursionError:
        pass
    with _lock:
        limit, stack = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
        try:
            sys.setrecursionlimit(max(limit, _FRAMES))
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(copy_context().run, work).result()
        finally:
            sys.setrecursionlimit(limit)
            threading.stack_size(stack)
