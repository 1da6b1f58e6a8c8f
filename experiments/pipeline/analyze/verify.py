"""All declared keys and foreign keys of an analysis: proved by sketches, known from an earlier run, or checked by tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.pipeline.analyze.checks import Check, Sketches, checks, proved, run_check, tasks_of
from experiments.pipeline.analyze.pieces import State, check_unchanged
from experiments.pipeline.spark.tasks import run_tasks
from optimizer.catalog.findings import Constraint, read_findings
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

    What was found is remembered, so that nothing is verified twice. Raises CatalogError for what the data contradicts.
    """
    every = {_constraint(check): check for check in checks(catalog, chosen)}
    findings = read_findings(folder)
    found = {one: words for one in every if (words := findings.against(one, known)) is not None}
    found |= {one: "" for one, check in every.items() if one not in found and proved(check, sketches)}
    left = [one for one in every if one not in found]
    tasks = [(one, task) for one in left for task in tasks_of(every[one], catalog)]
    against: dict[Constraint, list[dict[str, Any]]] = {one: [] for one in left}
    if tasks:
        say(f"verifying {len(left)} of {len(every)} keys and foreign keys by reading their columns")
        results = run_tasks(start(), run_check, [task for _, task in tasks], what="verify keys")
        for (one, _), result in zip(tasks, results, strict=True):
            if result["against"] is not None:
                against[one].append(result)
        for file, state in states.items():
            check_unchanged(file, state)
    found |= {one: _complaint(every[one], against[one]) if against[one] else "" for one in left}
    findings.with_found(found, known).write(folder)
    if complaints := list(filter(None, found.values())):
        raise CatalogError("\n".join(complaints) + "\ncorrect schema.sql, or the data; until then queries do not rely on it")
    return list(every.values())


def _constraint(check: Check) -> Constraint:
    return Constraint(check["table"], tuple(check["columns"]), check.get("target", ""), tuple(check.get("referenced", ())))


def _complaint(check: Check, against: Sequence[Mapping[str, Any]]) -> str:
    columns, example = ", ".join(check["columns"]), ", ".join(against[0]["against"])
    rows = sum(result["rows"] for result in against)
    if check["kind"] == "key":
        return f"{check['table']} ({columns}) is declared as a key, but {rows:,} values occur more than once, as ({example}) does"
    target = f"{check['target']} ({', '.join(check['referenced'])})"
    return f"{check['table']} ({columns}) is declared to reference {target}, but {rows:,} rows refer to none, as ({example}) does"
