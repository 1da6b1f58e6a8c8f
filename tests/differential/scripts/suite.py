"""A folder of scripts, and the table of what does not pass."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from tests.differential.scripts.database import ScriptDatabase, first_word
from tests.differential.scripts.iq import read_iq
from tests.differential.scripts.judge import QUERY_WORDS, Outcome, Verdict, judge
from tests.differential.scripts.ranges import with_range_tables
from tests.differential.scripts.sqllogictest import read_sqllogictest
from tests.differential.scripts.steps import Step

READERS = {".iq": read_iq, ".test": read_sqllogictest, ".test_slow": read_sqllogictest, ".slt": read_sqllogictest}


class Result(NamedTuple):
    script: str
    line: int
    verdict: Verdict
    sql: str = ""


def scripts(folder: Path) -> list[Path]:
    """The scripts in a folder and the folders in it, or the one script that is given, by name."""
    return [folder] if folder.is_file() else sorted(path for path in folder.rglob("*") if path.suffix in READERS)


def run_script(path: Path, name: str, settings: dict[str, Any] | None = None) -> Iterator[Result]:
    """The verdict on each query of a script; other statements run in DuckDB, whether they succeed or not."""
    with tempfile.TemporaryDirectory() as folder:
        database = ScriptDatabase(Path(folder), settings or {})
        schema = ""
        for step in READERS[path.suffix](path):
            if step.schema != schema:
                schema = step.schema
                database.use(schema)
            if is_query(step):
                sql, ranges = with_range_tables(step.sql)
                for made in ranges:
                    database.run(made.create)
                yield Result(name, step.line, judge(step._replace(sql=sql), database), sql)
            else:
                with suppress(duckdb.Error):
                    database.run(step.sql)
        database.close()


def is_query(step: Step) -> bool:
    return first_word(step.sql) in QUERY_WORDS or step.expected is not None


def run_folder(folder: Path, settings: dict[str, Any] | None = None) -> Iterator[Result]:
    for path in scripts(folder):
        yield from run_script(path, path.name if folder.is_file() else path.relative_to(folder).as_posix(), settings)


def table(results: Iterable[Result]) -> str:
    """Tab-separated lines: script, line, outcome, reason. Queries that are equal or refused alike are counted for each
    script, in the place of a line; every other one has a line, with the feature that is missing or what is wrong."""
    counts: Counter[tuple[str, str]] = Counter()
    lines: dict[str, list[str]] = {}
    for result in results:
        outcome, reason = result.verdict
        own = lines.setdefault(result.script, [])
        counts[result.script, outcome.value] += 1
        if outcome not in (Outcome.EQUAL, Outcome.REFUSED):
            own.append(f"{result.script}\t{result.line}\t{outcome.value}\t{reason}")
    text = ["script\tline\toutcome\treason"]
    for script, own in lines.items():
        for outcome in (Outcome.EQUAL, Outcome.REFUSED):
            if counts[script, outcome.value]:
                text.append(f"{script}\tall\t{outcome.value}\t{counts[script, outcome.value]}")
        text += own
    return "\n".join(text) + "\n"
