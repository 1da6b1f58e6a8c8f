"""A bundle planned again: whether the trace is the same, or where it first differs."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from experiments.bundles.bundle import Bundle, plan, recorded
from memo_viz.text import clean, shorten
from memo_viz.words import event_words
from optimizer.errors import CatalogError, many
from optimizer.trace.file import parse_events
from optimizer.trace.replay import Replay


class Replayed(NamedTuple):
    """`events`: how many the search emitted, None where the bundle has no trace. `differs`: number of the first event that is
    another, None where all are the same; `recorded` and `now`: that event of both in words, empty where one trace ends before.
    `same_plan`: whether the plan is the one of the bundle, if that has one. `error`: what planning raised now."""

    events: int | None
    differs: int | None
    recorded: str
    now: str
    same_plan: bool
    error: str | None
    recorded_error: str | None

    @property
    def same(self) -> bool:
        return self.differs is None and self.same_plan and self.error == self.recorded_error

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
        trace = "the bundle has no trace" if self.events is None else f"the same trace, {many(self.events, 'event')}"
        if not self.same_plan:
            return f"{trace}, and another plan than the bundle's plan.json"
        return f"{trace}, and the same {'plan' if self.error is None else f'error: {self.error}'}"


def replay(bundle: Bundle, plugins: tuple[str, ...] = ()) -> Replayed:
    """Plan a bundle again. One without a trace is compared by its plan or error. Raises SettingsError, CatalogError."""
    found = plan(bundle, plugins)
    again = json.loads(json.dumps(recorded(bundle, found).plan))
    outcome = (bundle.plan is None or bundle.plan == again, found.error_text, bundle.error)
    if bundle.trace is None:
        return Replayed(None, None, "", "", *outcome)
    for number in range(max(len(bundle.trace), len(found.trace))):
        before, now = (lines[number] if number < len(lines) else "" for lines in (bundle.trace, found.trace))
        if before != now:
            before, now = _words(bundle.trace, found.trace, number)
            return Replayed(len(found.trace), number, before, now, *outcome)
    return Replayed(len(found.trace), None, "", "", *outcome)


def _words(recorded: Sequence[str], now: Sequence[str], at: int) -> tuple[str, str]:
    """Event `at` of two traces in words; where these do not differ, the fields that do; as it stands where it is damaged."""
    events: list[dict[str, Any]] = []
    words = []
    for lines in (recorded, now):
        read, _ = parse_events([line.replace("{", '{"t": 0, ', 1).encode("utf-8", "surrogatepass") for line in lines], 0)
        try:
            words.append(event_words(Replay(read), at) or lines[at])
        except (CatalogError, IndexError):
            words.append(lines[at] if at < len(lines) else "")
        events += read[at : at + 1]
    if words[0] == words[1] and len(events) == 2:
        each, other = events
        names = [name for name in {**each, **other} if each.get(name) != other.get(name)]
        words = [", ".join(f"{name} = {json.dumps(event.get(name))}" for name in names) for event in events]
    return shorten(clean(words[0]), 1000), shorten(clean(words[1]), 1000)
