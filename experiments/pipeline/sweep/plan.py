"""What a sweep does, item by item: (query, variant of the settings, seed), numbered, each with a stable id.

A plan is written beside the results (`_plan.json`) before anything runs, and says what a complete run is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from executor.atomic import write_file
from experiments.bench.experiment import Item
from optimizer.errors import CatalogError
from optimizer.settings import Settings

VERSION = 3
PLAN_FILE = "_plan.json"
MEASURE = "experiments.pipeline.sweep.measure"


@dataclass(frozen=True)
class PlannedQuery:
    """`name` for people, `data` as `open_data` takes it, `digest` of that dataset when the sweep was planned."""

    name: str
    sql: str
    data: str
    digest: str


@dataclass(frozen=True)
class Variant:
    """One choice of settings: `settings` has those that were given, by name."""

    name: str
    settings: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class How:
    """How items are run. `seed_settings`: which settings a seed is the value of. `timeout`: seconds for an item, 0 without limit.
    `memory`: MB that the process which runs it may occupy, 0 without limit. `chunk`: items of a Spark task."""

    seeds: Sequence[int] = ()
    seed_settings: Sequence[str] = ("rule_order", "estimate_seed")
    execute: bool = False
    analyze: bool = False
    repeats: int = 1
    timeout: float = 60.0
    memory: int = 4096
    chunk: int | None = None


@dataclass(frozen=True)
class SweepPlan(How):
    """All items and how they are run. `code`: digest of the code whose results count ("": of any version). `measure`: the
    experiment that makes a row; it goes with the tasks, never by way of a file."""

    queries: tuple[PlannedQuery, ...]
    variants: tuple[Variant, ...]
    code: str = ""
    version: int = VERSION
    measure: str = field(default=MEASURE, compare=False)

    @property
    def size(self) -> int:
        return len(self.queries) * len(self.variants) * len(self.seeds or (None,))

    @cached_property
    def run(self) -> str:
        """The name of the run: twelve hex digits over everything here. The same plan is the same run, so it goes on."""
        return _digest(self.as_dict())[:12]

    @cached_property
    def items(self) -> list[Item]:
        """All items, as `measure` wants them: seeds vary fastest, then variants, then queries."""
        every = product(self.queries, self.variants, self.seeds or (None,))
        return [self._item(number, *one) for number, one in enumerate(every)]

    def _item(self, number: int, query: PlannedQuery, variant: Variant, seed: int | None) -> Item:
        settings = variant.settings | ({} if seed is None else dict.fromkeys(self.seed_settings, seed))
        full = Settings.from_mapping(settings).as_dict()
        return {
            "item": _digest([query.name, query.sql, query.digest, full, seed])[:20], "number": number,
            "query": query.name, "sql": query.sql, "data": query.data, "digest": query.digest,
            "variant": variant.name, "seed": seed, "settings": settings,
            "execute": self.execute, "analyze": self.analyze, "repeats": self.repeats,
        }  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """Fit for JSON; `from_dict` reads it."""
        return {name: value for name, value in asdict(self).items() if name != "measure"}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SweepPlan:
        """Raises KeyError and TypeError for what is no plan, ValueError for one of another version."""
        if values["version"] != VERSION:
            raise ValueError(f"version {values['version']}")
        queries = tuple(PlannedQuery(**query) for query in values["queries"])
        variants = tuple(Variant(**variant) for variant in values["variants"])
        seeds = {name: tuple(values[name]) for name in ("seeds", "seed_settings")}
        return cls(**{**values, "queries": queries, "variants": variants, **seeds, "measure": MEASURE})


def write_plan(folder: Path, plan: SweepPlan) -> None:
    """Raises OutputError."""
    write_file(folder / PLAN_FILE, json.dumps(plan.as_dict(), indent=1, sort_keys=True) + "\n")


def read_plan(folder: Path) -> SweepPlan:
    """The plan of the run in `folder`. Raises CatalogError when there is none, or none that can be read."""
    path = folder / PLAN_FILE
    try:
        return SweepPlan.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise CatalogError(f"there is no sweep in {folder}: {PLAN_FILE} is missing") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CatalogError(f"cannot read {path}: {error}\nif it is damaged, delete {folder} and run the sweep again") from error


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
