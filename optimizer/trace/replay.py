"""Rebuilds the memo, the goals and the stack at any event of a trace, forwards and backwards.

For each block of events the replayer keeps what the block changed: the records as they were at its end, and what it did to the
stack. A state is made by putting those of the blocks before it together and applying the few events after them. Every record
changed in a block is kept once, so memory grows with what was changed and not with events times memo.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from optimizer.errors import CatalogError, SettingsError
from optimizer.trace.changes import Draft, Record
from optimizer.trace.file import read_trace
from optimizer.trace.recorder import Trace
from optimizer.trace.state import GoalState, GroupState, MemoState, MExprState, TaskState
from optimizer.trace.tree import FlatTree

BLOCK = 1000  # events

R = TypeVar("R", bound=Record)

Watch = Callable[[], bool]
"""Asked after each event of a search that is running: whether to stop there."""


class _Block(NamedTuple):
    """What a block changed: of the tables, as in `Table.written` at its end. Of the stack, `kept` entries stayed all the time;
    `pushed` stood above them at the end."""

    groups: dict[int, GroupState | None]
    mexprs: dict[int, MExprState | None]
    goals: dict[int, GoalState | None]
    kept: int
    pushed: tuple[TaskState, ...]
    running: TaskState | None
    root: int | None
    tree: FlatTree | None
    plan: list[dict[str, Any]] | None

    def over(self, state: MemoState) -> None:
        """Bring a state from anywhere in the block to its end."""
        _write(state.groups, self.groups)
        _write(state.mexprs, self.mexprs)
        _write(state.goals, self.goals)
        state.stack[self.kept :] = self.pushed
        state.running, state.root, state.tree, state.plan = self.running, self.root, self.tree, self.plan


class Replay:
    """A trace and a position in it. Position n means that the first n events have happened.

    `events`: as recorded, or the Trace that has them. Those of a search that is running grow: `more(n, watch)` has the search go
    on until there are n events, until `watch` says to stop, or until it ends. `damage`: what is wrong with the trace after its
    events, if anything.
    """

    def __init__(self, events: Sequence[dict[str, Any]] | Trace, more: Callable[[int, Watch | None], None] | None = None) -> None:
        self.events = events.events if isinstance(events, Trace) else events
        if not hasattr(self.events, "__getitem__") or isinstance(self.events, str | bytes | Mapping):
            raise SettingsError(f"a Replay is of the events of a trace, not {events!r:.60}; Replay.load reads a file")
        self.position = 0
        self.damage: str | None = None
        self._more = more
        self.state = MemoState()  # at the position
        self._draft = Draft(self.state)
        self._blocks: list[_Block] = []
        self._base, self._base_block = MemoState(), 0

    def __repr__(self) -> str:
        return f"Replay(event {self.position:,} of {len(self.events):,})"

    @classmethod
    def load(cls, path: Path) -> Replay:
        """Read a written trace, as far as it can be read. Raises CatalogError when it is none at all."""
        events, damage = read_trace(path)
        replay = cls(events)
        replay.damage = damage
        try:
            replay.final()
        except CatalogError as error:
            del events[replay.position :]
            replay.damage = f"line {replay.position + 1}: {error}"
        replay.seek(0)
        return replay

    def __len__(self) -> int:
        return len(self.events)

    def seek(self, position: int) -> MemoState:
        """The state after the first `position` events (clipped to the trace). The result is only valid until the next call.

        Raises SettingsError for what is no whole number, and CatalogError for an event that cannot follow those before it; the
        position is then before that event.
        """
        if not isinstance(position, int):
            raise SettingsError(f"a trace is sought by the number of an event, not {position!r:.60}")
        position = self.reach(max(0, position))
        block = min(position // BLOCK, len(self._blocks))
        if position < self.position:
            self._go_back(block)
        elif block > self.position // BLOCK:
            self._go_on(block)
        self._forward(position)
        return self.state

    def reach(self, position: int) -> int:
        """The same position where the trace is that long, else its end; a search that is running goes on until then."""
        if self._more is not None and position > len(self.events):
            self._more(position, None)
        return min(position, len(self.events))

    def go_on(self, watch: Watch) -> None:
        """Have a search that is running go on until `watch` says to stop."""
        if self._more is not None:
            self._more(sys.maxsize, watch)

    def final(self) -> MemoState:
        """The state after the last event; a running search is run to its end."""
        return self.seek(sys.maxsize)

    def _go_on(self, block: int) -> None:
        """Go to the start of a later block."""
        for each in self._blocks[self.position // BLOCK : block]:
            each.over(self.state)
        self._begin(self.state, block * BLOCK)

    def _go_back(self, block: int) -> None:
        """Go to the start of this or an earlier block. It is kept, since a step back seldom comes alone."""
        if self._base_block != block:
            self._begin(MemoState(), 0)
            self._go_on(block)
            self._base, self._base_block = self.state, block
        self._begin(self._base.copy(), block * BLOCK)

    def _begin(self, state: MemoState, position: int) -> None:
        """Go on from the state at the start of a block."""
        self.state, self._draft, self.position = state, Draft(state), position

    def _forward(self, position: int) -> None:
        events, draft = self.events, self._draft
        while self.position < position:
            event = events[self.position]
            try:
                draft.apply(event)
            except KeyboardInterrupt:
                self._anew()
                raise
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                self._anew()
                why = f"{type(error).__name__}: {error}"
                kind = event.get("kind") if isinstance(event, dict) else repr(event)
                raise CatalogError(f"the event {kind!s:.60} cannot follow those before it ({why})") from None
            self.position += 1
            if self.position % BLOCK == 0:
                if len(self._blocks) < self.position // BLOCK:
                    self._blocks.append(_block(draft))
                self._begin(self.state, self.position)
                draft = self._draft

    def _anew(self) -> None:
        """Make the state of the position anew: an event was applied in part."""
        position = self.position
        self._begin(MemoState(), 0)
        self.seek(position)


def _block(draft: Draft) -> _Block:
    state = draft.state
    return _Block(
        draft.groups.written, draft.mexprs.written, draft.goals.written, draft.low, tuple(state.stack[draft.low :]),
        state.running, state.root, state.tree, state.plan,
    )  # fmt: skip


def _write(table: dict[int, R], written: dict[int, R | None]) -> None:
    table.update((id, record) for id, record in written.items() if record is not None)
    for id in [id for id, record in written.items() if record is None]:
        table.pop(id, None)
