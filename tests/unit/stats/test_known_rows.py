"""Injected, perturbed and chosen estimators: what they answer, what they refuse, where they fall back."""

import json
from dataclasses import replace
from math import isclose
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from experiments.bench.experiment import Options
from experiments.commands.inputs import Inputs
from experiments.workloads.queries import resolve_sql
from optimizer.catalog.table import Catalog
from optimizer.errors import SettingsError
from optimizer.stats import estimator as estimator_module
from optimizer.stats import filtered as filtered_module
from optimizer.stats import join_estimator as join_estimator_module
from optimizer.stats import region as region_module
from optimizer.stats.injected import Injected, injected_cardinalities
from planscope import Estimator, OptimizedQuery, Optimizer, Session, Settings
from tests.processes import run_python

CHAIN = (
    "select count(*) from customer c join orders o on c.c_custkey = o.o_custkey join lineitem l on l.l_orderkey = o.o_orderkey "
    "where o.o_totalprice > 100000 and l.l_quantity < 10 and c.c_acctbal > 0"
)
ROWS = {"c": 11.0, "o": 12.0, "l": 13.0, "c o": 101.0, "l o": 102.0, "c l o": 1001.0}
CARDINALITIES = {frozenset(names.split()): rows for names, rows in ROWS.items()}


def injected(catalog: Catalog, sql: str, cardinalities: dict[frozenset[str], float], **settings: object) -> OptimizedQuery:
    factory = lambda catalog, columns: Injected(catalog, columns, cardinalities)  # noqa: E731
    return Optimizer(catalog, Settings.from_mapping(settings), estimator=factory).optimize(sql)


def rows_of(query: OptimizedQuery) -> dict[str, float]:
    """Rows of the scans and joins of the plan, by the aliases below."""
    found: dict[str, float] = {}
    for node in query.plan.walk():
        if node.op.name == "table_scan" or node.op.name.endswith("_join"):
            aliases = [below.op.scan.alias for below in node.walk() if below.op.name == "table_scan"]  # type: ignore[attr-defined]
            found[" ".join(sorted(aliases))] = node.rows
    return found


# -- injected -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("enumeration", ["adaptive", "rules"])
def test_with_all_cardinalities_no_other_estimate_is_asked_for(
    tpch: Catalog, enumeration: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: object, **kwargs: object) -> float:
        raise AssertionError("asked for an estimate")

    users = {
        "selectivity": (region_module,),
        "conjunction_selectivity": (estimator_module, filtered_module, join_estimator_module),
        "filtered_figures": (estimator_module,),
        "semi_share": (join_estimator_module,),
    }
    for name, modules in users.items():
        for module in modules:
            monkeypatch.setattr(module, name, refused)
    for name in ("inner_region", "region", "_scan"):
        monkeypatch.setattr(Estimator, name, refused)
    sql = CHAIN.replace("count(*)", "c_name, l_quantity")  # with a grouping, eager aggregation makes joins of groups
    found = rows_of(injected(tpch, sql, CARDINALITIES, enumeration=enumeration))
    assert found.items() <= ROWS.items()
    assert len(found) == 5


def test_a_set_that_is_not_known_follows_from_its_parts(tpch: Catalog) -> None:
    """Pairs known: the whole is the default estimate over them, as much more or less as a known pair is."""
    base = injected(tpch, CHAIN, {k: v for k, v in CARDINALITIES.items() if len(k) == 1})
    ten = injected(tpch, CHAIN, {**{k: v for k, v in CARDINALITIES.items() if len(k) == 1}, frozenset("co"): 0.001})
    pair = next(rows for names, rows in rows_of(injected(tpch, CHAIN, CARDINALITIES)).items() if len(names.split()) == 2)
    assert pair in (101.0, 102.0)
    assert rows_of(ten)["c l o"] < rows_of(base)["c l o"]
    known = injected(tpch, CHAIN, {k: v for k, v in CARDINALITIES.items() if len(k) <= 2})
    again = injected(tpch, CHAIN, {k: v for k, v in CARDINALITIES.items() if len(k) <= 2}, enumeration="rules", pruning="none")
    assert rows_of(known)["c l o"] == rows_of(again)["c l o"] not in (1001.0, rows_of(base)["c l o"])


def test_only_inner_joins_of_tables_are_injected(tpch: Catalog) -> None:
    """An outer join, a grouping, a set that no conjunct links, a table read twice under one alias."""
    known = {frozenset({"nation"}): 5.0, frozenset({"nation", "region"}): 7.0}
    left = injected(tpch, "select * from nation left join region on n_regionkey = r_regionkey and r_name < 'B'", known)
    assert left.rows >= 5
    assert injected(tpch, "select * from nation, region", known).rows == 5.0 * 5
    assert injected(tpch, "select * from nation union all select * from nation", known).rows == 10
    assert injected(tpch, "select n_name from nation group by n_name", known).rows <= 5


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json", "jsonl"])
def test_files_of_cardinalities(tmp_path: Path, tpch: Catalog, suffix: str) -> None:
    file = tmp_path / f"known:1.{suffix}"
    rows = [{"query": "q1", "aliases": names.split(), "cardinality": count} for names, count in ROWS.items()]
    rows.append({"query": "q2", "aliases": ["c"], "cardinality": 1.0})
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    elif suffix == "csv":
        pacsv.write_csv(pa.Table.from_pylist([{**row, "aliases": "+".join(row["aliases"])} for row in rows]), file)
    else:
        file.write_text(json.dumps(rows) if suffix == "json" else "\n".join(map(json.dumps, rows)))
    assert injected_cardinalities(f"{file}:q1") == CARDINALITIES
    found = Session(tpch, {"estimator": "injected", "injected": f"{file}:q1"}).optimize(CHAIN)
    assert rows_of(found)["c l o"] == 1001.0
    with pytest.raises(SettingsError, match="2 queries"):
        injected_cardinalities(str(file))
    with pytest.raises(SettingsError, match='"q9"'):
        injected_cardinalities(f"{file}:q9")


def test_a_file_of_several_queries_is_asked_by_the_name_of_the_query(tmp_path: Path) -> None:
    file = tmp_path / "known.csv"
    file.write_text("query,aliases,cardinality\n3,r0 r1,11\nchain/3,r0 r1,77\nstar,r0+r1,5\n")
    settings = {"estimator": "injected", "injected": str(file)}
    session = Session("joingraph", settings)
    assert rows_of(session.optimize("chain/3"))["r0 r1"] == 77.0
    assert rows_of(session.optimize("cycle/3"))["r0 r1"] == 11.0
    with pytest.raises(SettingsError, match=r"3 queries \(3, chain/3, star\), and none of the name of this one"):
        session.optimize("chain/4")
    pairs = tuple(f"{name}={value}" for name, value in settings.items())
    session, sql = Inputs("chain/3", None, pairs, (), None, None, quiet=True).open({})  # the command line knows the text alone
    assert session.settings.injected == f"{file}:chain/3" and rows_of(session.optimize(sql))["r0 r1"] == 77.0
    (tmp_path / "star.sql").write_text(resolve_sql("star/3"))
    session, sql = Inputs(str(tmp_path / "star.sql"), "joingraph", pairs, (), None, None, quiet=True).open({})
    assert session.settings.injected == f"{file}:star" and rows_of(session.optimize(sql))["r0 r1"] == 5.0


def test_a_named_query_of_a_file_is_not_taken_for_another(tmp_path: Path) -> None:
    """Whose name is known; a text takes the only one, and any query the rows of a file that names none."""
    file = tmp_path / "one.csv"
    file.write_text("query,aliases,cardinality\nchain/3,r0 r1,77\n")
    settings = {"estimator": "injected", "injected": str(file)}
    message = rf"1 query \(chain/3\), and none of the name of this one, chain/4\nwrite injected={file}:QUERY"
    with pytest.raises(SettingsError, match=message):
        Session("joingraph", settings).optimize("chain/4")
    assert rows_of(Session("joingraph", settings).optimize(resolve_sql("chain/4")))["r0 r1"] == 77.0
    pairs = tuple(f"{name}={value}" for name, value in settings.items())
    assert Options(pairs=pairs).pairs_for("chain/3") == [*pairs, f"injected={file}:chain/3"]
    with pytest.raises(SettingsError, match=message):
        Options(pairs=pairs).pairs_for("chain/4")
    file.write_text("aliases,cardinality\nr0 r1,77\n")
    assert rows_of(Session("joingraph", settings).optimize("chain/4"))["r0 r1"] == 77.0


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "aliases,rows\na,1\n", "row 1: it needs aliases and cardinality"),
        ("a.csv", "aliases,cardinality\na,-1\n", "a number from 0 up"),
        ("a.csv", "aliases,cardinality\na,many\n", "a number from 0 up"),
        ("a.csv", "aliases,cardinality\n,1\n", "a number from 0 up"),
        ("a.csv", "aliases,cardinality\na b,1\nb a,2\n", "a b has 2 rows here and 1 in another row"),
        ("a.csv", "aliases,cardinality\n", "has no rows"),
        ("a.parquet", "no parquet", "cannot read"),
        ("a.json", "{", "cannot read"),
        ("a.json", '["a"]', "row 1"),
        ("a.txt", "a", "must end in"),
        ("gone.parquet", None, r"cannot read injected cardinalities .*gone\.parquet"),
        ("a.csv", "aliases,cardinality\nC O,3\nc x,4\n", 'of "x", and the query has no relation .*\nits relations are c, l, o'),
    ],
)
def test_bad_files_of_cardinalities(tmp_path: Path, tpch: Catalog, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError, match=message):
        Session(tpch, {"estimator": "injected", "injected": str(tmp_path / name)}).optimize(CHAIN)
    with pytest.raises(SettingsError, match="needs a file"):
        Optimizer(tpch, Settings(estimator="injected"))


def test_a_file_that_the_estimator_does_not_read() -> None:
    message = r"injected=rows.csv is not read under estimator=histogram\nset estimator=injected too"
    with pytest.raises(SettingsError, match=message):
        Session("joingraph", {"injected": "rows.csv"})
    with pytest.raises(SettingsError, match=message):
        Inputs("chain/3", None, ("injected=rows.csv",), (), None, None, quiet=True).settings()


# -- perturbed ----------------------------------------------------------------------------------------------------------------


def perturbed(catalog: Catalog, sql: str, **settings: object) -> dict[str, float]:
    return rows_of(Session(catalog, {"estimator": "perturbed", **settings}).optimize(sql))


def test_errors_are_within_q_and_follow_the_seed(tpch: Catalog) -> None:
    true = rows_of(Session(tpch, {"estimator": "true"}).optimize(CHAIN))
    assert perturbed(tpch, CHAIN, q_error=1) == true
    seen = set()
    for seed in range(8):
        found = perturbed(tpch, CHAIN, q_error=5, estimate_seed=seed)
        factors = [found[names] / true[names] for names in found if names in true]
        assert all(1 / 5 <= factor <= 5 for factor in factors)
        seen.add(found["c l o"])
        assert found == perturbed(tpch, CHAIN, q_error=5, estimate_seed=seed)
    assert len(seen) == 8


def test_one_set_has_one_error_in_every_query_and_process(tpch: Catalog) -> None:
    """Whatever the aliases, the joins around it, and the hash seed of the process."""
    pair = "select count(*) from orders y, customer x where y.o_totalprice > 100000 and o_custkey = c_custkey and x.c_acctbal > 0"
    settings = {"q_error": 7.0, "estimate_seed": 3}
    found = perturbed(tpch, CHAIN, **settings)
    of_pair = perturbed(tpch, pair, **settings)
    assert of_pair["x"] == found["c"]
    assert of_pair["y"] == found["o"]
    code = (
        "from executor import Session\n"
        f"query = Session('tpch:0.01', {{'estimator': 'perturbed', **{settings}}}).optimize({pair!r})\n"
        "print([node.rows for node in query.plan.walk() if node.op.name == 'hash_join'])"
    )
    assert run_python("-c", code, env={"PYTHONHASHSEED": "1"}).stdout == f"[{of_pair['x y']}]\n"


def test_without_rows_default_estimates_are_perturbed(tpch: Catalog) -> None:
    described = Catalog("described", [replace(table, files=(), format="") for table in tpch.tables.values()])
    default = rows_of(Session(described).optimize(CHAIN))
    found = perturbed(described, CHAIN, q_error=3)
    assert all(1 / 3 <= found[names] / default[names] <= 3 for names in found if names in default)
    assert any(not isclose(found[names], default[names]) for names in found if names in default)
    with pytest.raises(SettingsError, match="statistics only"):
        Session(described, {"estimator": "true"})


# -- which estimator ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["true", "perturbed"])
def test_what_counts_needs_an_engine(tpch: Catalog, name: str) -> None:
    with pytest.raises(SettingsError, match=f"estimator={name} counts rows"):
        Optimizer(tpch, Settings(estimator=name))


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("estimator=histgram", 'did you mean "histogram"'), ("estimator=nothing like it", "package.module:Class"),
        *((f"estimator={value}", "cannot be") for value in ("a b:C", "a:", ":C", "a:C.d")), ("q_error=0.5", "from 1 up"),
    ],
)  # fmt: skip
def test_settings_of_estimators_that_cannot_be(pair: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings.from_pairs([pair])


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        (None, "no_such_plug_in:Mine", 'there is no module "no_such_plug_in"'),
        (None, "no_such.plug_in:Mine", 'there is no module "no_such"'),
        ("import also_not_there", "plug_in_a:Mine", "imports also_not_there"),
        ("1 / 0", "plug_in_b:Mine", "ZeroDivisionError"),
        ("", "plug_in_c:Mine", 'has no "Mine"'),
        ("Mine = 3", "plug_in_d:Mine", "not a subclass"),
        ("class Mine: pass", "plug_in_e:Mine", "not a subclass"),
    ],
)
def test_plug_ins_that_cannot_be_used(
    tpch: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, name: str, message: str
) -> None:
    if source is not None:
        (tmp_path / f"{name.partition(':')[0]}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SettingsError, match=message):
        Session(tpch, {"estimator": name})


def test_a_plug_in_is_asked(tpch: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plug_in_f.py").write_text(
        """from optimizer.stats.known_rows import KnownRows

class Seventeen(KnownRows):
    def known(self, relations):
        return 17.0
"""
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    found = rows_of(Session(tpch, {"estimator": "plug_in_f:Seventeen"}).optimize(CHAIN))
    assert set(found.values()) == {17.0}
