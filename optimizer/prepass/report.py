"""What a run of a program reports: every firing, and for each batch how it went and why it ended before its fixpoint."""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from optimizer.algebra.trees import Tree


class Firing(NamedTuple):
    """A rule replaced the subtree `before` by `after`. `note`: of a subquery its free columns, the domain, the cover, or why an
    apply stays."""

    rule: str
    before: Tree
    after: Tree
    note: str = ""

    @property
    def title(self) -> str:
        """The rule and its note."""
        return f"{self.rule}: {self.note}" if self.note else self.rule


class Stop(StrEnum):
    """Why a batch or subprogram ended although rules might still fire in it."""

    PASSES = "passes"
    MATCH_LIMIT = "match_limit"
    PREPASS_LIMIT = "prepass_limit"
    CAME_BACK = "came_back"


class BatchRun(NamedTuple):
    """One run of a batch: its firings are those from `start` up to, without, `stop`.

    `batch`: its name, after the names of the subprograms around it. `stopped` with the rules that fired in the last pass and
    how often, or for CAME_BACK those that led from a state of the tree back to it.
    """

    batch: str
    start: int
    stop: int
    passes: int
    stopped: Stop | None = None
    rules: tuple[tuple[str, int], ...] = ()

    @property
    def note(self) -> str:
        """One sentence on why it stopped; "" when it ran to its end."""
        fired = ", ".join(f"{rule} ×{count}" if count > 1 else rule for rule, count in self.rules)
        match self.stopped:
            case Stop.CAME_BACK:
                undone = "undo each other" if len(self.rules) > 1 else "undoes itself or applies again to what it makes"
                return f"batch {self.batch}: a state came back, so it was stopped: {fired} {undone}"
            case Stop.PASSES:
                passes = f"{self.passes} pass{'es' if self.passes != 1 else ''}"
                return f"batch {self.batch}: no fixpoint within {passes}; in the last one fired {fired}"
            case Stop.MATCH_LIMIT:
                return f"batch {self.batch}: stopped at its match limit of {self.stop - self.start} firings; last fired {fired}"
            case Stop.PREPASS_LIMIT:
                return f"batch {self.batch}: stopped at the setting prepass_limit; in its last pass fired {fired or 'nothing'}"
        return ""


class Rewritten(NamedTuple):
    """What a program or a stage made of a tree. `converged`: every batch that runs to a fixpoint reached it. `lost`: what the
    search is not given to choose from, so that its plan is not called proven."""

    tree: Tree
    firings: Sequence[Firing]
    converged: bool = True
    batches: Sequence[BatchRun] = ()
    lost: str = ""


def counted(firings: Iterable[Firing]) -> tuple[tuple[str, int], ...]:
    """How often each rule fired, in the order of first firings."""
    return tuple(Counter(firing.rule for firing in firings).items())
