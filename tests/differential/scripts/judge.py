"""One query of a script: does planscope give DuckDB's rows, or refuse when it does?"""

import re
from enum import Enum
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from optimizer.errors import ExecutionError, InternalError, PlanscopeError, SqlError, Unsupported
from tests.differential.scripts.database import ScriptDatabase, first_word
from tests.differential.scripts.printed import agrees
from tests.differential.scripts.steps import Step
from tests.differential.scripts.ties import assert_same_but_ties
from tests.reference.compare import assert_same_kinds, rows_of

QUERY_WORDS = ("select", "with", "values", "from", "table")


class Outcome(Enum):
    EQUAL = "equal"  # to DuckDB's rows and, where the script has rows, to those
    REFUSED = "refused"  # by DuckDB too, or as the script wants
    AGAINST = "against"  # the script: DuckDB and planscope have the same rows, the script has others
    UNSUPPORTED = "unsupported"  # planscope lacks the feature that is the reason
    LENIENT = "lenient"  # planscope gives rows where DuckDB raises, and the script does not say which
    STRICT = "strict"  # planscope raises where DuckDB gives rows, and does not say that it lacks something
    CRASH = "crash"
    WRONG = "wrong"


class Verdict(NamedTuple):
    """`reason`: one line, the same on every run; "" for what needs none. Of what is unsupported it is the feature."""

    outcome: Outcome
    reason: str = ""


def judge(step: Step, database: ScriptDatabase) -> Verdict:
    """What planscope makes of a query, over the data as it is at this point of the script."""
    if first_word(step.sql) not in QUERY_WORDS:
        return Verdict(Outcome.UNSUPPORTED, first_word(step.sql).upper())
    expected: pa.Table | Exception
    try:
        expected = database.arrow(step.sql)
        wanted = rows_of(expected)
    except (duckdb.Error, pa.ArrowException) as error:
        expected = error
    except (TypeError, ValueError, OverflowError) as error:  # values that Python does not have, such as the year 290,000
        return Verdict(Outcome.UNSUPPORTED, f"values that cannot be compared: {one_line(error)}")
    session = database.session(step.sql)
    try:
        actual = session.sql(step.sql).table
    except Exception as error:
        return refused(error, expected, step, database)
    rows = rows_of(actual)
    as_the_script = step.expected is not None and agrees(step.expected, rows) is not False
    if isinstance(expected, Exception):
        if step.expected is None:
            return Verdict(Outcome.LENIENT, f"DuckDB: {one_line(expected)}")
        return Verdict(Outcome.EQUAL) if as_the_script else Verdict(Outcome.WRONG, f"other rows than the script's: {rows[:3]}")
    duckdb_as_the_script = step.expected is None or agrees(step.expected, wanted) is not False
    try:
        assert_same_kinds(expected, actual)
        assert_same_but_ties(step.sql, wanted, rows, database)
    except AssertionError as error:
        return Verdict(Outcome.EQUAL) if as_the_script and not duckdb_as_the_script else Verdict(Outcome.WRONG, one_line(error))
    if not duckdb_as_the_script and not as_the_script:
        return Verdict(Outcome.AGAINST, f"DuckDB and planscope have {str(rows[0]) if rows else 'no rows'}")
    return Verdict(Outcome.EQUAL)


def refused(error: Exception, expected: pa.Table | Exception, step: Step, database: ScriptDatabase) -> Verdict:
    """Planscope raised `error`."""
    if isinstance(error, InternalError) or not isinstance(error, PlanscopeError):
        return Verdict(Outcome.CRASH, f"{error.__class__.__name__}: {one_line(error)}")
    if step.fails or isinstance(expected, Exception):
        return Verdict(Outcome.REFUSED)
    if isinstance(error, Unsupported):
        return Verdict(Outcome.UNSUPPORTED, one_line(error).removesuffix(" is not supported"))
    if isinstance(error, SqlError):
        if error.message.startswith("unknown function"):
            return Verdict(Outcome.UNSUPPORTED, error.message.removeprefix("unknown ").lower())
        if error.message.startswith(_OWN):
            return Verdict(Outcome.UNSUPPORTED, one_line(error))
        if error.message.startswith("unknown") and database.words(step.sql) & database.left_out:
            return Verdict(Outcome.UNSUPPORTED, "a table or column of a type that planscope does not have")
    return Verdict(Outcome.STRICT, f"{'run: ' if isinstance(error, ExecutionError) else ''}{one_line(error)}")


_OWN = ("syntax error", 'unknown column "rowid"')


def one_line(error: Any) -> str:
    """The start of a message, with nothing in it that changes from run to run."""
    text = (error.message if isinstance(error, SqlError) else str(error)).strip().split("\n")
    if isinstance(error, duckdb.Error):
        text = text[:1]
    line = re.sub(r"(?<!\w)(/[\w.+-]+){2,}", "PATH", text[0] if len(text) == 1 else " | ".join(text[:6])).replace("\t", " ")
    return line if len(line) <= 160 else line[:157] + "..."
