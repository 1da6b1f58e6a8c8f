"""What a sweep is asked to do: every mistake is told at once, with its line; items and their ids are stable."""

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from executor.session import Session
from experiments.pipeline.sweep.measure import measure, settings_of
from experiments.pipeline.sweep.plan import MEASURE, SweepPlan, read_plan, write_plan
from experiments.pipeline.sweep.problems import Problems, SpecError, read_words
from experiments.pipeline.sweep.spec import SweepSpec, plan_sweep
from optimizer.errors import CatalogError
from optimizer.toml_places import Places
from tests.pipeline.conftest import lay
from tests.unit.test_plugins import FREE, HEAD


def plan_of(text: str, base: Path = Path()) -> SweepPlan:
    """The plan of a TOML text with the table [sweep]."""
    table: dict[str, Any] = tomllib.loads(text)["sweep"]
    problems = Problems(Places(text, "spec.toml"))
    words = read_words(table, "sweep", problems)
    problems.check()
    assert words is not None
    return plan_sweep(SweepSpec(**words, base=base, places=problems.places), code="test")


def mistakes(text: str, base: Path = Path()) -> str:
    with pytest.raises(SpecError) as caught:
        plan_of(text, base)
    return str(caught.value)


def test_names_ranges_patterns_files_and_texts(tmp_path: Path) -> None:
    lay(tmp_path, {f"queries/{name}.sql": f"select count(*) as {name} from chain_4_r0" for name in ("b", "a")})
    plan = plan_of(
        """
        [sweep]
        data = {"*" = "joingraph", clique = "joingraph"}
        queries = ["chain/4..6", "CLIQUE/3", {query = "job/1?", data = "job"}, {query = "clique/4", name = "joined"},
          "@queries/*.sql", {query = "@queries/a.sql", name = "again"}, "select 1 as one"]
        """,
        tmp_path,
    )
    names = [query.name for query in plan.queries]
    assert names[:8] == ["chain/4", "chain/5", "chain/6", "clique/3", "job/1a", "job/1b", "job/1c", "job/1d"]
    assert names[8:12] == ["joined", "a", "b", "again"] and names[12].startswith("sql-")
    assert {query.data for query in plan.queries if query.name.startswith("job/")} == {"job"}
    assert {query.data for query in plan.queries if not query.name.startswith("job/")} == {"joingraph"}


def test_the_name_of_the_folder_is_no_pattern(tmp_path: Path) -> None:
    lay(tmp_path, {"b[1]/q.sql": "select count(*) from chain_4_r0"})
    plan = plan_of('[sweep]\ndata = "joingraph"\nqueries = ["@*.sql", "@../b?1?/q.sql"]', tmp_path / "b[1]")
    assert [query.name for query in plan.queries] == ["q"]


def test_a_query_with_a_name_of_its_own_has_the_data_of_its_workload() -> None:
    entries = 'queries = ["job/1a", {query = "job/1b", name = "mine"}]'
    plan = plan_of(f'[sweep]\ndata = {{"*" = "tpch:0.01", job = "job"}}\n{entries}')
    assert [(query.name, query.data) for query in plan.queries] == [("job/1a", "job"), ("mine", "job")]


def test_estimators_that_count_rows() -> None:
    plan = plan_sweep(SweepSpec(["tpch/q03"], data="tpch:0.01", settings={"estimator": ["true", "perturbed"]}), code="test")
    assert [variant.settings["estimator"] for variant in plan.variants] == ["true", "perturbed"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with the dataset `data` of one table t(a), three rows."""
    return lay(tmp_path, {"data/t.csv": "a\n1\n2\n3\n"})


def test_every_mistake_is_told_with_its_line() -> None:
    text = """[sweep]
queries = ["chain/4..6", "job/1a",
  "tpch/q99",
  "tcph/*", "chain/9..4", "nothing",
  {query = "select 1 +", data = "joingraph"},
  {query = "tpch/q01", data = "tpch"},
  {query = "tpch/q03"}]
seeds = [1, -1, "x"]
[sweep.settings]
prunning = ["none"]
pruning = ["none",
  "bth"]
budget_ms = -3
[[sweep.variants]]
name = "x"
gap = "wide"
"""
    told = mistakes(text)
    assert told.startswith("spec.toml has 13 mistakes\n")
    for line, words in (
        (3, 'there is no built-in query "tpch/q99"'),
        (4, 'no built-in query matches "tcph/*"\n    did you mean tpch/*?'),
        (4, '"chain/9..4" is empty'),
        (4, '"nothing" is neither SQL nor the name of a query'),
        (5, "does not fit the dataset joingraph: syntax error"),
        (6, "tpch needs a scale factor"),
        (7, "no data is given for tpch/q03"),
        (8, "a seed is a whole number from 0 up, below 2^63, not -1"),
        (8, "a seed is a whole number from 0 up, below 2^63, not 'x'"),
        (10, 'unknown setting "prunning"\n    did you mean "pruning"?'),
        (12, 'setting pruning cannot be "bth"'),
        (13, "setting budget_ms cannot be negative"),
        (16, 'setting gap is a number, not "wide"'),
    ):
        found = [part for part in told.split("\n  line ")[1:] if part.startswith(f"{line}:") and words in part]
        assert len(found) == 1, (line, words, told)


CHAIN = '[sweep]\nqueries = ["chain/4"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sweep]\nqueries = []",
         'spec.toml, line 2: [sweep] queries: queries is a list of queries, such as ["chain/4..9"], not []'),
        ("[sweep]\nrepeats = 1", "spec.toml, line 1: [sweep]: queries is missing: it is a list of queries"),
        (CHAIN + "repeets = 1", 'line 3: [sweep] repeets: there is no repeets here; did you mean "repeats"?'),
        (CHAIN + "repeats = 0", "line 3: [sweep] repeats: repeats is a whole number from 1 up, not 0"),
        (CHAIN + "execute = 1", "execute is true or false, not 1"),
        (CHAIN + "timeout = inf", "timeout is a number of seconds from 0 up, not inf"),
        (CHAIN + "memory = 10", "memory is a whole number of MB"),
        (CHAIN + "execute = true", "has statistics only"),
        ('[sweep]\nqueries = ["-"]', "cannot read a query from standard input"),
        ('[sweep]\nqueries = ["@missing.sql"]\ndata = "joingraph"', "there is no file"),
        (CHAIN + 'data = "nowhere"', "nowhere"),
        (CHAIN + 'data = ""', "data is a dataset, or a table of workload = dataset, not ''"),
        (CHAIN + 'data = {chian = "joingraph"}', 'line 3: [sweep] data: there is no workload "chian"; did you mean "chain"?'),
        (CHAIN + "[[sweep.variants]]\nname = {a = 1}", "line 4: [sweep.variants] name: a name is a text, not {'a': 1}"),
        (CHAIN + "[sweep.settings]\npruning = []", "line 4: [sweep.settings] pruning: the list is empty"),
        (CHAIN + '[sweep.settings]\nenumeration = "duplicate_free_rules"',
         "variant default: enumeration=duplicate_free_rules needs cross_products=true"),
        (CHAIN + '[sweep.settings]\ndisable = "join_comute"', 'unknown rule "join_comute"'),
        (CHAIN + "seeds = [1]\n[sweep.settings]\nrule_order = 3",
         "line 3: [sweep] seeds: rule_order is set by the settings and by the seeds"),
        (CHAIN + 'seeds = [1]\nseed_settings = ["pruning"]', '"pruning" is no setting that takes a seed'),
        (CHAIN + '[[sweep.variants]]\nname = "a"\n[[sweep.variants]]\ngap = 0.1\nname = "a"',
         'line 7: [sweep.variants] name: two variants are called "a"'),
        (CHAIN + "[sweep.settings]\nbudget_tasks = [0, 0.0]",
         'line 3: [sweep.settings]: variants "budget_tasks=0" and "budget_tasks=0.0" have the same settings'),
        (CHAIN + '[sweep.settings]\npruning = ["none", "none"]\n[[sweep.variants]]\npruning = "both"',
         'line 3: [sweep.settings]: variants "pruning=none" and "pruning=none" have the same settings'),
        (CHAIN + '[[sweep.variants]]\nname = "a"\n[[sweep.variants]]\npruning = "both"',
         'line 5: [sweep.variants]: variants "a" and "pruning=both" have the same settings'),
        ('[sweep]\nqueries = [{query = "select 1", name = "a"}, {query = "select 2", name = "a"}]\ndata = "joingraph"',
         'two queries are called "a"'),
    ],
)  # fmt: skip
def test_mistakes(text: str, message: str) -> None:
    assert message in mistakes(text)


def test_unsupported_sql_is_no_mistake_of_the_specification(data: Path) -> None:
    plan = plan_of('[sweep]\ndata = "data"\nqueries = ["select a from t tablesample (10 percent)"]', data)
    assert plan.size == 1


def test_a_folder_is_looked_up_beside_the_specification(data: Path) -> None:
    (query,) = plan_of('[sweep]\ndata = "data"\nqueries = ["select a from t"]', data).queries
    assert query.data == str(data / "data")


def test_two_copies_of_a_dataset_need_names(data: Path) -> None:
    shutil.copytree(data / "data", data / "copy")
    entries = '{query = "select a from t", data = "data"}, {query = "select a from t", data = "copy"%s}'
    assert "hold the same data" in mistakes(f"[sweep]\nqueries = [{entries % ''}]", data)
    assert plan_of("[sweep]\nqueries = [%s]" % (entries % ', name = "b"'), data).size == 2


GRID = """
[sweep]
queries = ["chain/3..4"]
seeds = [7, 8]
chunk = 5
[sweep.settings]
budget_tasks = 0
pruning = ["none", "both"]
seed = ["none", "greedy", "best"]
[[sweep.variants]]
name = "heuristic"
exact_below = 2
"""


def test_the_grid_is_crossed_and_variants_come_on_top() -> None:
    plan = plan_of(GRID)
    assert [variant.name for variant in plan.variants] == [
        *(f"pruning={pruning}, seed={seed}" for pruning in ("none", "both") for seed in ("none", "greedy", "best")),
        "heuristic",
    ]
    assert plan.variants[1].settings == {"budget_tasks": 0, "pruning": "none", "seed": "greedy"}
    assert plan.variants[-1].settings == {"budget_tasks": 0, "exact_below": 2}
    assert plan.size == 2 * 7 * 2
    assert plan.items[1]["settings"] == {
        "budget_tasks": 0, "pruning": "none", "seed": "none", "rule_order": 8, "estimate_seed": 8,
    }  # fmt: skip
    assert [v.name for v in plan_of('[sweep]\nqueries = ["chain/3"]').variants] == ["default"]
    assert [v.name for v in plan_of('[sweep]\nqueries = ["chain/3"]\n[[sweep.variants]]\ngap = 0.1').variants] == ["gap=0.1"]


def test_every_item_has_an_id_of_its_own() -> None:
    plan = plan_of(GRID)
    assert plan.chunk == 5 and len({item["item"] for item in plan.items}) == 28 == plan.size


def test_ids_and_runs_follow_from_what_is_done() -> None:
    plan, same = plan_of(GRID), plan_of(GRID)
    assert plan.run == same.run and plan.items[5] == same.items[5]
    other = plan_of(GRID.replace("chunk = 5", "timeout = 9"))
    assert other.run != plan.run
    assert other.items[5]["item"] == plan.items[5]["item"], "how an item is run is not part of it"
    assert plan_of(GRID.replace("budget_tasks = 0", "budget_tasks = 9")).items[5]["item"] != plan.items[5]["item"]
    newer = plan_sweep(SweepSpec(["chain/3"]), code="newer")
    assert plan_sweep(SweepSpec(["chain/3"]), code="test").run != newer.run
    any_code = SweepSpec(["chain/3"], same_code=False)
    assert plan_sweep(any_code, code="newer").run == plan_sweep(any_code, code="test").run


def test_the_query_of_a_file_is_named_beside_the_specification(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("query,aliases,cardinality\nmine,r0,5\n")
    plan = plan_sweep(SweepSpec(["chain/3"], settings={"estimator": "injected", "injected": "rows.csv:mine"}, base=tmp_path))
    assert plan.variants[0].settings["injected"] == f"{tmp_path / 'rows.csv'}:mine"


def test_a_run_is_another_where_a_file_that_settings_name_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    spec = SweepSpec(["chain/3"], settings={"estimator": "injected", "injected": "rows.csv"}, base=tmp_path)
    file.write_text("aliases,cardinality\nr0,5\n")
    before = plan_sweep(spec, code="test").run
    assert plan_sweep(spec, code="test").run == before
    file.write_text("aliases,cardinality\nr0,6\n")
    assert plan_sweep(spec, code="test").run != before


def test_a_plan_is_read_back_as_it_was(tmp_path: Path) -> None:
    plan = plan_of(GRID)
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path) == plan and read_plan(tmp_path).run == plan.run
    path = tmp_path / "_plan.json"
    assert "measure" not in path.read_text(), "what runs is said by the code, not by a file"
    path.write_text(json.dumps({**json.loads(path.read_text()), "measure": "os:abort"}))
    assert read_plan(tmp_path).measure == MEASURE
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))
    with pytest.raises(CatalogError, match="version 99"):
        read_plan(tmp_path)
    path.write_text("{")
    with pytest.raises(CatalogError, match="cannot read"):
        read_plan(tmp_path)


def test_plug_ins_of_a_sweep(tmp_path: Path) -> None:
    """Named beside the specification, in the settings of all items; a run with another text of them is another run."""
    (tmp_path / "mine.py").write_text(HEAD + FREE)
    text = '[sweep]\nqueries = ["chain/3"]\nplugins = ["mine.py"]\n[sweep.settings]\ncost_model = ["free", "c_out"]'
    plan = plan_of(text, tmp_path)
    assert [variant.name for variant in plan.variants] == ["cost_model=free", "cost_model=c_out"]
    assert {tuple(variant.settings["plugins"]) for variant in plan.variants} == {(str(tmp_path / "mine.py"),)}
    assert measure(plan.items[0])[0]["cost"] == 0.0
    assert SweepPlan.from_dict(json.loads(json.dumps(plan.as_dict()))).run == plan.run
    (tmp_path / "mine.py").write_text(HEAD + FREE + "# changed\n")
    assert plan_of(text, tmp_path).run != plan.run
    (tmp_path / "mine.py").write_text("1 / 0\n")
    assert "mine.py, line 1: ZeroDivisionError" in mistakes(text, tmp_path)
    assert "plug-ins are named beside the settings" in mistakes(text.replace("cost_model =", "plugins ="), tmp_path)


def test_injected_cardinalities_are_those_of_each_query(tmp_path: Path) -> None:
    (tmp_path / "known.csv").write_text("query,aliases,cardinality\nchain/3,r0 r1,7\nchain/4,r0 r1,9\n")
    known = {"estimator": "injected", "injected": "known.csv", "cost_model": "c_out"}
    plan = plan_sweep(SweepSpec(["chain/3..4"], settings=known, base=tmp_path), code="test")
    for number, rows in ((0, 7.0), (1, 9.0)):
        settings = settings_of(plan.items[number])
        assert settings.injected == f"{tmp_path / 'known.csv'}:chain/{number + 3}"
        query = Session("joingraph", settings).optimize(plan.items[number]["sql"])
        assert rows in {node.rows for node in query.plan.walk()}
