"""A bundle planned again: whether the trace is the same, or where it first differs."""

from __future__ import annotations

from typing import NamedTuple

from experiments.bundles.bundle import Bundle, plan


class Replayed(NamedTuple):
    """`events`: how many the search emitted. `differs`: number of the first event that is another, None where all are the same;
    `recorded` and `now`: that event in both, empty where one trace ends before. `error`: what planning raised now."""

    events: int
    differs: int | None
    recorded: str
    now: str
    error: str | None
    recorded_error: str | None

    @property
    def same(self) -> bool:
        return self.differs is None and self.error == self.recorded_error

    @property
    def text(self) -> str:
        if self.differs is not None:
            return (
                f"the traces differ from event {self.differs} on\n"
                f"recorded  {self.recorded or 'the trace has ended'}\nnow       {self.now or 'the trace has ended'}"
            )
        if self.error != self.recorded_error:
            was = self.recorded_error or "no error"
            return f"the outcome differs\nrecorded  {was}\nnow       {self.error or 'no error'}"
        outcome = f"and the same error: {self.error}" if self.error is not None else "and the same plan"
        return f"the same trace, {self.events:,} events, {outcome}"


def replay(bundle: Bundle, plugins: tuple[str, ...] = ()) -> Replayed:
    """Plan a bundle again. A bundle without a trace is compared by its error alone. Raises SettingsError, CatalogError."""
    found = plan(bundle, plugins)
    before = found.trace if bundle.trace is None else bundle.trace
    for number in range(max(len(before), len(found.trace))):
        recorded, now = (lines[number] if number < len(lines) else "" for lines in (before, found.trace))
        if recorded != now:
            return Replayed(len(found.trace), number, recorded, now, found.error_text, bundle.error)
    return Replayed(len(found.trace), None, "", "", found.error_text, bundle.error)
