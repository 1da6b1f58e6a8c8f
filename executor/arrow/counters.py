"""What EXPLAIN ANALYZE counts: rows, time and memory of each operator."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(slots=True)
class NodeCounters:
    """`rows` out of the operator; `ms` it was busy, its inputs not counted, summed over threads (a scan's
    decoding threads are not counted); `peak_bytes` of rows it held at one time, 0 for one that holds none. `removed`: rows that a
    scan dropped by runtime filters. `fewer`: the operator saw fewer rows for such a filter below it."""

    rows: int = 0
    ms: float = 0.0
    peak_bytes: int = 0
    removed: int = 0
    fewer: bool = False


class Counters:
    """Counters by `PlanNode.id`; written by several threads while a plan runs."""

    __slots__ = ("_lock", "nodes")

    def __init__(self) -> None:
        self.nodes: dict[int, NodeCounters] = {}
        self._lock = threading.Lock()

    def __getitem__(self, id: int) -> NodeCounters:
        return self.nodes.get(id) or NodeCounters()

    def add(self, id: int, seconds: float, rows: int = 0) -> None:
        with self._lock:
            node = self.nodes.setdefault(id, NodeCounters())
            node.rows += rows
            node.ms += seconds * 1000

    def merge(self, id: int, other: NodeCounters) -> None:
        """What the operator did elsewhere."""
        self.add(id, other.ms / 1000, other.rows)
        self.held(id, other.peak_bytes)
        self.removed(id, other.removed, [id] if other.fewer else [])

    def held(self, id: int, bytes: int) -> None:
        """The operator holds `bytes` of rows at this moment."""
        with self._lock:
            node = self.nodes.setdefault(id, NodeCounters())
            node.peak_bytes = max(node.peak_bytes, bytes)

    def removed(self, id: int, rows: int, path: Iterable[int]) -> None:
        """A scan dropped rows by a runtime filter, so that the operators of `path` saw fewer."""
        with self._lock:
            self.nodes.setdefault(id, NodeCounters()).removed += rows
            for each in path:
                self.nodes.setdefault(each, NodeCounters()).fewer = True
