"""What a kind of dataset has to say so that `generate` can make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str], None]
Facts = dict[str, dict[str, Any]]  # by path within the dataset: `file_facts` of a manifest
Fill = Callable[["SparkSession", Path, Progress], Facts]


@dataclass(frozen=True, slots=True)
class Recipe:
    """One dataset to be made.

    `kind`, `scale` name it; `settings` is all that its contents follow from besides the two, as JSON. `bytes`: what its
    files will take, roughly. `options` repeats `settings` as arguments of the command line. `fill` is given an absolute
    folder and makes it a whole dataset, checked: tables, schema.sql, remembered orders. It finds there what an earlier
    call with an equal recipe left when it was interrupted, and does not make that again. It returns sizes and checksums of the
    files for which it knows them, and raises PlanscopeError or OSError.
    """

    kind: str
    scale: str
    bytes: float
    fill: Fill
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: str = ""

    @property
    def label(self) -> str:
        return f"{self.kind}:{self.scale}"

    @property
    def identity(self) -> dict[str, Any]:
        """What tells this dataset from others: the settings of its manifest."""
        return {"kind": self.kind, "scale": self.scale, **self.settings}
