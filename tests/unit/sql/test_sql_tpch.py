"""TPC-H's queries bind to what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from optimizer.algebra.query import BoundQuery
from optimizer.algebra.scalars import walk
from optimizer.algebra.subqueries import Subquery
from optimizer.algebra.trees import Tree, postorder
from optimizer.errors import SqlError

Bind = Callable[[str], BoundQuery]

QUERIES = Path(__file__).parent.parent.parent.parent / "experiments" / "workloads" / "tpch"
# query: tables scanned, output columns with types, columns of the order
FLAT = {
    1: (1, "string string d2 d2 d4 d6 double double double int64", 2),
    3: (3, "int64 d4 date32[day] int32", 2),
    5: (6, "string d4", 1),
    6: (1, "d4", 0),
    7: (6, "string string int64 d4", 3),
    8: (8, "int64 double", 1),
    9: (6, "string int64 d4", 2),
    10: (4, "int64 string d4 decimal128(15, 2) string string string string", 1),
    12: (2, "string d0 d0", 1),
    13: (2, "int64 int64", 2),
    14: (2, "double", 0),
    19: (2, "d4", 0),
}
# query: subqueries, those of them that are correlated
WITH_SUBQUERIES = {2: (1, 1), 4: (1, 1), 11: (1, 0), 16: (1, 0), 17: (1, 1), 18: (1, 0), 20: (3, 1), 21: (2, 2), 22: (2, 1)}


def text(number: int) -> str:
    return (QUERIES / f"q{number:02}.sql").read_text("utf-8")


@pytest.mark.parametrize("number", FLAT)
def test_flat(number: int, bound: Bind) -> None:
    tables, types, keys = FLAT[number]
    query = bound(text(number))
    operators = Counter(node.op.name for node in postorder(query.tree) if isinstance(node, Tree))
    assert operators["scan"] == tables
    assert operators["join"] == tables - 1
    short = {pa.decimal128(38, scale): f"d{scale}" for scale in range(39)}
    actual = [query.columns[o.id].type for o in query.outputs]
    assert " ".join(short.get(type, str(type)) for type in actual) == types
    assert len(query.order) == keys
    produced = query.tree.columns
    assert all(produced >> o.id & 1 for o in query.outputs) and all(produced >> k.column & 1 for k in query.order)


@pytest.mark.parametrize("number", WITH_SUBQUERIES)
def test_with_subqueries(number: int, bound: Bind) -> None:
    """As many subqueries as expected, and of those as many that read columns of the query around them."""
    found = subqueries(bound(text(number)).tree)
    assert (len(found), sum(1 for s in found if s.tree.outer)) == WITH_SUBQUERIES[number]


def subqueries(root: Tree) -> list[Subquery]:
    """All of them, those inside others too."""
    found = []
    for node in postorder(root):
        assert isinstance(node, Tree)
        for part in (part for scalar in node.op.scalars() for part in walk(scalar) if isinstance(part, Subquery)):
            found += [part, *subqueries(part.tree)]
    return found


def test_lines_of_the_error_are_the_querys_own(bound: Bind) -> None:
    sql = text(3).replace("o_custkey", "o_custky")
    with pytest.raises(SqlError) as caught:
        bound(sql)
    message = str(caught.value)
    assert message.splitlines()[0] == 'unknown column "o_custky"'
    caret = message.splitlines()[2]
    assert message.splitlines()[1][caret.index("^") : caret.rindex("^") + 1] == "o_custky"
