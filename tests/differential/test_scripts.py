"""Other databases' scripts, run by planscope: the scripts' rows and DuckDB's, wherever planscope gives any.

What is not equal is listed, query by query, in the table of its suite (`tests/differential/scripts/*.tsv`); a query whose
outcome changes fails until `pytest --rewrite` has written the table anew: read that diff. Wrong rows and crashes are never
accepted. The scripts are in `scripts/copied`, with their licences; those that carry none are run where they lie beside the
repository.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import quick_and_slow
from tests.differential.scripts.judge import Outcome
from tests.differential.scripts.suite import Result, run_folder, table

TABLES = Path(__file__).parent / "scripts"
COPIED = TABLES / "copied"

QUICK = {
    "duckdb_setops": COPIED / "duckdb_sql" / "setops",
    "duckdb_order": COPIED / "duckdb_sql" / "order",
    "duckdb_limit": COPIED / "duckdb_sql" / "limit",
}
SLOW = {
    "duckdb_subquery": COPIED / "duckdb_sql" / "subquery",
    "calcite_iq": COPIED / "calcite_iq",
    "duckdb_window": COPIED / "duckdb_sql" / "window",
    "duckdb_join": COPIED / "duckdb_sql" / "join",
    "duckdb_aggregate": COPIED / "duckdb_sql" / "aggregate",
    "sqllogictest_select": COPIED / "sqllogictest",
    "sqllogictest": Path(__file__).parents[3] / "shared" / "workloads" / "sqllogictest",
}
SUITES = {**QUICK, **SLOW}
OTHERS = sorted(
    {path.name for path in SLOW["sqllogictest"].glob("*.test")} - {path.name for path in (COPIED / "sqllogictest").iterdir()}
)


def results(suite: str, settings: dict[str, Any] | None = None, script: str = "") -> list[Result]:
    folder = SUITES[suite]
    if COPIED not in folder.parents and not folder.is_dir():
        pytest.skip(f"there is no folder {folder.name} of scripts without a licence beside the repository")
    found = list(run_folder(folder / script, settings))
    assert found or script, f"no queries in {folder}"
    return found


def outcomes(text: str) -> list[str]:
    """The lines of a table; reasons, the wording of which may change, only where they are counts."""
    lines = [line.split("\t") for line in text.splitlines()[1:]]
    return ["  ".join(parts if parts[1] == "all" else parts[:3]) for parts in lines]


def assert_nothing_wrong(found: list[Result]) -> None:
    bad = [
        f"{r.script}:{r.line} {r.verdict.outcome.value}: {r.verdict.reason}\n{r.sql}"
        for r in found
        if r.verdict.outcome in (Outcome.WRONG, Outcome.CRASH)
    ]
    assert not bad, f"{len(bad)} queries\n" + "\n\n".join(bad[:10])


def check(suite: str, settings: dict[str, Any] | None = None, script: str = "") -> None:
    found = results(suite, settings, script)
    assert_nothing_wrong(found)
    known = (TABLES / f"{suite}.tsv").read_text(encoding="utf-8")
    assert outcomes(table(found)) == [line for line in outcomes(known) if line.startswith(script)], (
        "pytest --rewrite tests/differential/test_scripts.py lists what changed"
    )


@pytest.mark.parametrize("suite", quick_and_slow(QUICK, list(SLOW)[:-1]))
def test_scripts(suite: str) -> None:
    check(suite)


@pytest.mark.slow
@pytest.mark.parametrize("script", OTHERS or [""])
def test_scripts_without_a_licence(script: str) -> None:
    """Those that are not among the copied ones, each on its own, so that workers can share them."""
    check("sqllogictest", script=script)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["none", "quick", "value_generator", "cost", "no prepass"])
@pytest.mark.parametrize("suite", ["calcite_iq", "duckdb_subquery"])
def test_every_way_to_treat_subqueries(suite: str, setting: str) -> None:
    check(suite, {"prepass": False} if setting == "no prepass" else {"decorrelate": setting})


@pytest.mark.rewrites
@pytest.mark.parametrize("suite", SUITES)
def test_rewrite(suite: str) -> None:
    found = [result for script in (OTHERS if suite == "sqllogictest" else [""]) for result in results(suite, script=script)]
    assert_nothing_wrong(found)
    (TABLES / f"{suite}.tsv").write_text(table(found), encoding="utf-8")
