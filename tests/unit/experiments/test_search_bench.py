"""Parts of `planscope bench search` that can be checked without a clock."""

import sys

import pytest

from experiments.duckdb_sql import for_duckdb
from experiments.search_bench.memory import footprints
from experiments.search_bench.rates import insertions
from experiments.search_bench.settings import SEARCHES, differences
from experiments.search_bench.stages import prepare
from optimizer.memo.mexpr import LogicalExpr, PhysicalExpr


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select AT.x from t as AT where at.y = 1;\n", 'select "at".x from t as "at" where "at".y = 1'),
        ("select 'at', 'it''s at' from cat, at", "select 'at', 'it''s at' from cat, \"at\""),
        ("-- don't\nselect * from t where s = 'at' /* at ' */", "-- don't\nselect * from t where s = 'at' /* at ' */"),
        ("select e'it\\'s at' from at", "select e'it\\'s at' from \"at\""),
        ('select "at".x, "look at ""it""" from at_home as "at"', 'select "at".x, "look at ""it""" from at_home as "at"'),
    ],
)
def test_the_alias_at_is_quoted(sql, expected):
    assert for_duckdb(sql) == expected


def test_footprints_count_everything_once_and_by_owner():
    op, inputs = object(), (70_001, 70_002)
    logical = LogicalExpr(70_003, 70_004, op, inputs, None, 70_005)
    physical = PhysicalExpr(70_006, logical.group, op, inputs, "rule", logical.id)
    found = footprints([physical])
    assert {kind: footprint.objects for kind, footprint in found.items()} == {"physical multi-expression": 1}
    own = [physical, physical.costs, physical.id]
    both = [op, inputs, *inputs, logical.id, logical.group]
    assert found["physical multi-expression"].bytes == sum(map(sys.getsizeof, [*own, *both]))
    logical.physical.append(physical)
    found = footprints([logical, physical])
    assert {kind: footprint.objects for kind, footprint in found.items()} == {
        "logical multi-expression": 1,
        "physical multi-expression": 1,
    }
    assert found["physical multi-expression"].bytes == sum(
        map(sys.getsizeof, [*own, *both])
    )  # the later root has what both reach
    logical_only = [logical, logical.physical, logical.source, logical.least, 0, False, None]
    assert found["logical multi-expression"].bytes == sum(map(sys.getsizeof, logical_only))


def test_insertions_count_what_the_memo_counts():
    ready = prepare("chain/5", SEARCHES["rules"])
    engine, _ = ready.search()
    adding, finding, both = insertions("chain/5")
    assert adding["note"].endswith(f", {engine.memo.logical_count:,} expressions")
    calls = [int(figure["note"].split()[0].replace(",", "")) for figure in (adding, finding, both)]
    assert calls[0] + calls[1] == calls[2] > engine.memo.logical_count / 2


def test_differences_of_settings():
    assert differences(SEARCHES["default"]) == ""
    assert differences(SEARCHES["rules"]) == "enumeration=rules expand_joins=0 budget_tasks=0 budget_mexprs=0"
