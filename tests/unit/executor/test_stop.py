"""A query that is over its time in the middle of a batch: what its threads do ends, and the session goes on."""

from collections.abc import Iterator

import numpy as np
import pytest

from executor import Session
from executor.arrow import watch
from executor.arrow.watch import at_work
from executor.execution import limits
from optimizer.errors import ExecutionError
from tests.processes import run_python, wait_until

ROWS = 400_000  # some batches, of which one has 5e10 pairs

# No row meets another, so each batch goes through all its pairs, or frames, before it gives anything
LONG = {
    "anti": "select count(*) from t a where not exists (select 1 from t b where abs(a.x + b.x) = -1)",
    "residual": "select count(*) from t a where not exists (select 1 from t b where a.y = b.y and abs(a.x + b.x) = -1)",
    "inner": "select count(*) from t a join t b on abs(a.x + b.x) = -1",
    "mark": "select count(*) from t a where a.y = 1 or exists (select 1 from t b where abs(a.x + b.x) = -1)",
    "hash mark": "select count(*) from t a where a.y = 1 or a.y in (select y from t b where abs(a.x + b.x) = -1)",
    "frames": "select sum(m) from (select median(x) over (order by x rows 100000 preceding) m from t)",
    "distinct": """select sum(m) from (
        select count(distinct y) over (order by x rows 100000 preceding exclude ties) m from t)""",
}
EASY = "select count(*) n from t a join t b on a.x = b.x where a.y > 2"


@pytest.fixture(scope="module")
def session() -> Session:
    return Session({"t": {"x": np.arange(ROWS), "y": np.arange(ROWS) % 7}})


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """By the clock of limits, which is looked at now and then, each look is twenty seconds after the one before."""
    clock = iter(range(0, 10**9, 20))
    monkeypatch.setattr(watch, "monotonic", lambda: next(clock))
    yield
    monkeypatch.undo()


@pytest.mark.parametrize("name", LONG)
def test_what_is_stopped_within_a_batch_ends(name: str, session: Session, impatient: None) -> None:
    session.limits = limits(60)
    with pytest.raises(ExecutionError, match="stopped after 60 s"):
        session.sql(LONG[name])
    session.limits = limits()
    assert session.sql(EASY).table.to_pydict() == {"n": [ROWS - 3 * (ROWS // 7 + 1)]}
    wait_until(lambda: not at_work(), "threads of a query that was stopped are still at work")


PROGRAM = f"""
import atexit
import numpy as np
atexit.register(lambda: print("at work:", at_work()))  # the last of what is done at the end
from executor.arrow.watch import at_work
from planscope import Session
session = Session({{"t": {{"x": np.arange({ROWS}), "y": np.arange({ROWS}) % 7}}}}, timeout=1)
try:
    session.sql({LONG["anti"]!r})
except Exception as error:
    print(error)
"""


def test_python_ends_after_a_query_that_was_stopped() -> None:
    done = run_python("-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    assert "stopped after 1 s (timeout)" in done.stdout and done.stdout.endswith("at work: False\n")
