"""What every stage of a pipeline offers to the one that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]
ORDER = ("generate", "import", "analyze", "sweep", "report")
DATA = "data"  # the folder of the dataset that a pipeline makes, within its own


@dataclass(frozen=True)
class Context:
    """`out`: the folder of the pipeline, absolute. `spark` starts the session on its first call. `resume`: the command that goes
    on with this pipeline."""

    out: Path
    spark: Callable[[], SparkSession]
    say: Say
    resume: str


@dataclass(frozen=True)
class Outcome:
    """How a stage went. `made`: something was done by this call; otherwise all of it was there. `text`: counts, on one line.
    `folder`: the one that has the stage's manifest, within that of the pipeline."""

    made: bool
    text: str
    folder: str = ""


class Stage(Protocol):
    """One stage of a pipeline, as its table in the specification says."""

    @property
    def name(self) -> str: ...

    def check(self, out: Path) -> None:
        """Raises PlanscopeError for mistakes that can be seen before anything runs."""

    def run(self, context: Context) -> Outcome:
        """Does what is not done. Raises PlanscopeError, and KeyboardInterrupt; then a later call goes on."""
