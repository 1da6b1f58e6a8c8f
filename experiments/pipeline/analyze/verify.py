"""All declared keys and foreign keys of an analysis: proved by sketches, known from an earlier run, or checked by tasks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.analyze.checks import Check, Sketches, checks, proved, run_check, tasks_of
from experiments.pipeline.analyze.pieces import State, check_unchanged, sketch_folder
from experiments.pipeline.tasks import run_tasks
from optimizer.catalog.table import Catalog, Table
from optimizer.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def verify(
    folder: Path,
    catalog: Catalog,
    chosen: Mapping[str, Table],
    sketches: Sketches,
    known: Mapping[str, Mapping[str, str]],
    states: Mapping[Path, State],
    start: Callable[[], SparkSession],
    say: Callable[[str], None],
) -> list[Check]:
    """Every declared key and foreign key of and to the tables, all of which hold. `known`: identities of files, by table;
    `states`: what the files were then.

    What was verified by reading is remembered beside the sketches. Raises CatalogError for what the data contradicts.
    """
    every = checks(catalog, chosen)
    seals = [_seal(folder, check, known) for check in every]
    left = [(c, seal) for c, seal in zip(every, seals, strict=True) if not seal.exists() and not proved(c, sketches)]
    tasks = [(i, task) for i, (check, _) in enumerate(left) for task in tasks_of(check, catalog)]
    against: dict[int, list[dict[str, Any]]] = {i: [] for i in range(len(left))}
    if tasks:
        say(f"verifying {len(left)} of {len(every)} keys and foreign keys by reading their columns")
        results = run_tasks(start(), run_check, [task for _, task in tasks])
        for (i, _), result in zip(tasks, results, strict=True):
            if result["against"] is not None:
                against[i].append(result)
        for file, state in states.items():
            check_unchanged(file, state)
    for i, (_, seal) in enumerate(left):
        if not against[i]:
            seal.touch()
    complaints = [_complaint(check, against[i]) for i, (check, _) in enumerate(left) if against[i]]
    if complaints:
        raise CatalogError("\n".join(complaints) + "\nrules rely on what is declared: correct schema.sql, or the data")
    if len(chosen) == len(catalog.tables):
        for path in sketch_folder(folder).glob("*.verified"):
            if path not in seals:
                path.unlink(missing_ok=True)
    return every


def _seal(folder: Path, check: Check, known: Mapping[str, Mapping[str, str]]) -> Path:
    """An empty file that says that this was verified on these files."""
    files = [known[check[side]] for side in ("table", "target") if side in check]
    digest = hashlib.sha256(json.dumps([check, files], sort_keys=True).encode()).hexdigest()[:24]
    return sketch_folder(folder) / f"{digest}.verified"


def _complaint(check: Check, against: Sequence[Mapping[str, Any]]) -> str:
    columns, example = ", ".join(check["columns"]), ", ".join(against[0]["against"])
    rows = sum(result["rows"] for result in against)
    if check["kind"] == "key":
        return f"{check['table']} ({columns}) is declared as a key, but {rows:,} values occur more than once, as ({example}) does"
    target = f"{check['target']} ({', '.join(check['referenced'])})"
    return f"{check['table']} ({columns}) is declared to reference {target}, but {rows:,} rows refer to none, as ({example}) does"
