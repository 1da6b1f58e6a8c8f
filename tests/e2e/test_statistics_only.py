"""Datasets with statistics and no rows: `job` and `joingraph` are planned, not run, and need no -d. Refusals: `*.console`."""

import json

import pytest

from executor.session import Session
from optimizer.errors import CatalogError

SMALL = "select count(*) from movie_keyword mk, keyword k where mk.keyword_id = k.id and k.keyword = 'sequel'"


def test_explain_knows_the_dataset_of_a_built_in_query(planscope):
    done = planscope("explain", "job/1a", "--stage", "prepass")
    assert done.code == 0 and done.err == ""
    before, _, after = done.out.partition("after prepass")
    assert "- └─ join  cross" in before and "scan  title as t" in after and "cross" not in after
    plan = json.loads(planscope("explain", "chain/4", "--format", "json").out)
    assert plan["search"]["proven"] and plan["rows"] == 1
    named = json.loads(planscope("explain", "chain/4", "-d", "joingraph", "--format", "json").out)
    assert named["plan"] == plan["plan"]


def test_a_query_alias_in_capitals(planscope):
    """AS AT, used as at: names do not care about case."""
    done = planscope("explain", "job/15a", "--stage", "bind")
    assert done.code == 0 and "scan  aka_title as AT" in done.out


@pytest.mark.parametrize("command", [("explain",), ("memo",), ("trace",), ("explain", "--stage", "all")])
@pytest.mark.parametrize(
    ("query", "relations"),
    [
        ("job/3a", ("keyword as k", "movie_info as mi", "movie_keyword as mk", "title as t")),
        ("star/4", [f"star_4_r{i} as r{i}" for i in range(4)]),
        ("grid/2x2", [f"grid_2x2_r{i} as r{i}" for i in range(4)]),
        ("random/4/1", [f"random_4_1_r{i} as r{i}" for i in range(4)]),
    ],
)
def test_planning_needs_no_rows(planscope, command, query, relations):
    """Each relation is scanned in what is printed, and a plan has been found."""
    done = planscope(command[0], query, *command[1:])
    assert done.code == 0 and done.err == ""
    assert all(relation in done.out for relation in relations)
    found = {"explain": "proven to be the cheapest", "memo": "optimal, cost", "trace": '"kind": "plan"'}
    assert found[command[0]] in done.out


def test_data_show(planscope):
    tables = json.loads(planscope("data", "show", "job", "--format", "json").out)["tables"]
    assert len(tables) == 21
    kind = tables["title"]["columns"]["kind_id"]
    assert kind["mcv"] == [[7, 0.6], [1, 0.25]] and kind["ndv"] == 6 and tables["title"]["rows"] == 2_528_312
    assert tables["title"]["columns"]["title"]["mcv"] is None
    text = planscope("data", "show", "joingraph").out
    assert "chain_4_r0  44,000 rows, statistics only" in text


def test_a_folder_of_that_name_is_still_a_folder(planscope, shop, monkeypatch):
    shop.rename(shop.parent / "job")
    monkeypatch.chdir(shop.parent)
    done = planscope("data", "show", "./job")
    assert "people" in done.out and "built-in" not in done.err
    done = planscope("data", "show", "job")
    assert "title" in done.out and done.err == '"job" is the built-in dataset; the folder of that name is ./job\n'
    assert "title" in Session("job").catalog.tables and "people" in Session("./job").catalog.tables


def test_workloads_lists_them(planscope):
    listed = planscope("workloads").out
    for name in ("job ", "joingraph ", "job/29a", "clique/N", "random/N/SEED"):
        assert f"\n{name}" in listed


def test_session_says_the_same():
    session = Session("job")
    assert session.explain(SMALL).query.search.proven
    for run in (lambda: session.sql(SMALL), lambda: session.explain(SMALL, analyze=True)):
        with pytest.raises(CatalogError, match="statistics only"):
            run()
