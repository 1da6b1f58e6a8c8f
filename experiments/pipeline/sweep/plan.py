"""What a sweep does, item by item: (query, variant of the settings, seed), numbered, each with a stable id.

A plan is written beside the results (`_plan.json`) before anything runs. Whoever works on the sweep reads it: a task needs
the numbers of its items and no more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from executor.atomic import write_file
from optimizer.errors import CatalogError
from optimizer.settings import Settings

VERSION = 2
PLAN_FILE = "_plan.json"
MEASURE = "experiments.pipeline.sweep.measure:measure"
SMALLEST_CHUNK, LARGEST_CHUNK, CHUNKS = 4, 50, 100  # a chunk costs a Spark task: some 50 ms


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


@dataclass(frozen=True)
class Item:
    """One row of results to be made. `settings`: those given by the variant, and by the seed."""

    id: str
    number: int
    query: PlannedQuery
    variant: Variant
    seed: int | None
    settings: dict[str, Any]


@dataclass(frozen=True)
class SweepPlan:
    """All items and how they are run. `seed_settings`: which settings a seed is the value of. `timeout`: seconds for an item,
    0 without limit. `memory`: MB that the process which runs it may occupy, 0 without limit. `chunk`: items of a Spark task.
    `code`: digest of the code whose results count ("": of any version). `measure`: `module:function` that makes a row; it goes
    with the tasks, never by way of a file."""

    queries: tuple[PlannedQuery, ...]
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    seed_settings: tuple[str, ...]
    execute: bool
    analyze: bool
    repeats: int
    timeout: float
    memory: int
    chunk: int
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

    def item(self, number: int) -> Item:
        """The item of that number, seeds varying fastest, then variants, then queries."""
        seeds = len(self.seeds or (None,))
        rest, s = divmod(number, seeds)
        q, v = divmod(rest, len(self.variants))
        query, variant = self.queries[q], self.variants[v]
        seed = self.seeds[s] if self.seeds else None
        settings = dict(variant.settings)
        if seed is not None:
            settings.update((name, seed) for name in self.seed_settings)
        full = Settings.from_mapping(settings).as_dict()
        key = _digest([query.name, query.sql, query.digest, full, seed])
        return Item(key[:20], number, query, variant, seed, settings)

    def as_dict(self) -> dict[str, Any]:
        """Fit for JSON; `from_dict` reads it."""
        return {name: value for name, value in asdict(self).items() if name != "measure"}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SweepPlan:
        """Raises KeyError and TypeError for what is no plan, ValueError for one of another version."""
        if values["version"] != VERSION:
            raise ValueError(f"version {values['version']}")
        known = {name: value for name, value in values.items() if name != "measure"}
        return cls(
            **{
                **known,
                "queries": tuple(PlannedQuery(**query) for query in values["queries"]),
                "variants": tuple(Variant(**variant) for variant in values["variants"]),
                "seeds": tuple(values["seeds"]),
                "seed_settings": tuple(values["seed_settings"]),
            }
        )


def chunk_of(items: int) -> int:
    """How many of `items` items a Spark task runs, if nobody says: a hundredth, but 4 to 50. The same on every machine."""
    return min(LARGEST_CHUNK, max(SMALLEST_CHUNK, -(-items // CHUNKS)))


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
