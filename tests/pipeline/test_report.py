"""Reports: their figures follow from the definitions, and the files are the same for the same results."""

import math
import shutil
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from pyspark.sql import SparkSession

from experiments.bench.child import failure, measured
from experiments.bench.figures import draw, write_figure
from experiments.bench.registry import load
from experiments.bench.store import Store
from experiments.bench.tables import code, figure, html_table, latex, markdown, plain
from experiments.pipeline.report.figures import MOST_VARIANTS, make_figures
from experiments.pipeline.report.report import write_report
from experiments.pipeline.spark.manifest import manifest_path
from experiments.pipeline.sweep.plan import write_plan
from experiments.pipeline.sweep.run import read_results, run_folder
from experiments.pipeline.sweep.spec import SweepSpec, plan_sweep
from memo_viz.page_style import PAGE_STYLE
from optimizer.errors import CatalogError, OutputError, PlanscopeError
from tests.pipeline.conftest import lay, no_spark

UNITS = ("set_cost_model", "set_estimator")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one complete run, made here: five queries, four variants, three seeds; some items fail."""
    out = tmp_path_factory.mktemp("results [1]")
    spec = SweepSpec(
        ["chain/2..4", "star/3", "cycle/3"],
        variants=[
            {"name": "base"}, {"pruning": "none"}, {"name": "left | deep", "enumeration": "left_deep"}, {"cost_model": "c_out"},
        ],
        seeds=[0, 1, 2],
    )  # fmt: skip
    plan = plan_sweep(spec, code="test")
    folder = run_folder(out, plan.run)
    folder.mkdir(parents=True)
    write_plan(folder, plan)
    store = Store(folder, load(plan.measure))
    failed = [item["item"] for item in failing(plan.items)]
    for item in plan.items:
        late = item["item"] in failed
        store.add(item, [failure("timeout", "it took <too> long")] if late else measured(plan.measure, item))
    store.finish(plan.items)
    return out


def failing(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Some items, none of them of the last query."""
    return [row for row in rows[::7] if row["query"] != rows[-1]["query"]]


def by_hand(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, float | None]]:
    """Median ratios to the variant `base` by (query, variant), straight from the definition."""
    base = {(row["query"], row["seed"]): row for row in rows if row["variant"] == "base"}
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        other = base[row["query"], row["seed"]]
        for name in ("costed", "plan_ms", "cost"):
            if row[name] is None or not other[name]:
                continue
            if name != "cost" or all(row[unit] == other[unit] for unit in UNITS):
                found[row["query"], row["variant"]][name].append(row[name] / other[name])
    keys = {(row["query"], row["variant"]) for row in rows}
    return {k: {n: median(found[k][n]) if found[k][n] else None for n in ("costed", "plan_ms", "cost")} for k in keys}


def test_aggregates_are_those_of_the_definition(results: Path, spark: SparkSession) -> None:
    report = write_report(results, lambda: spark)
    assert report.made and report.baseline == "base"
    rows = read_results(run_folder(results, report.run)).to_pylist()
    expected = by_hand(rows)
    by_query = pq.read_table(results / "report" / "by_query.parquet").to_pylist()
    assert [(row["query"], row["variant"]) for row in by_query] == list(dict.fromkeys((r["query"], r["variant"]) for r in rows))
    for row in by_query:
        for name, value in expected[row["query"], row["variant"]].items():
            assert row[f"{name}_ratio"] == (None if value is None else pytest.approx(value, rel=1e-9)), (row["query"], name)
        mine = [r for r in rows if (r["query"], r["variant"]) == (row["query"], row["variant"])]
        assert row["items"] == 3 and row["errors"] == sum(r["status"] == "error" for r in mine)
        assert row["cost"] == pytest.approx(median(r["cost"] for r in mine if r["cost"] is not None))
    by_variant = {row["variant"]: row for row in pq.read_table(results / "report" / "by_variant.parquet").to_pylist()}
    assert list(by_variant) == ["base", "pruning=none", "left | deep", "cost_model=c_out"]
    for variant, row in by_variant.items():
        ratios = [r["costed_ratio"] for r in by_query if r["variant"] == variant and r["costed_ratio"]]
        assert row["costed_ratio"] == pytest.approx(math.exp(sum(map(math.log, ratios)) / len(ratios)))
        assert row["items"] == 15 and row["queries"] == 5
        whole = {q for q in {r["query"] for r in by_query} if not any(r["errors"] for r in by_query if r["query"] == q)}
        times = [r["plan_ms"] for r in by_query if r["variant"] == variant and r["query"] in whole]
        assert 0 < row["compared"] == len(whole) < 5 and row["plan_ms_sum"] == pytest.approx(sum(times)), "the same queries"
        assert row["plan_ms_max"] == max(times)
    assert by_variant["base"]["cost_ratio"] == pytest.approx(1) and by_variant["pruning=none"]["cost_ratio"] == pytest.approx(1)
    assert by_variant["cost_model=c_out"]["cost_ratio"] is None, "costs of another model are no multiple of these"
    errors = pq.read_table(results / "report" / "errors.parquet").to_pylist()
    assert sum(row["items"] for row in errors) == len(failing(rows))
    assert {row["kind"] for row in errors} == {"timeout"}


@pytest.mark.slow
def test_a_report_that_is_there_is_not_made_again_and_would_be_the_same(results: Path, spark: SparkSession) -> None:
    first = write_report(results, lambda: spark)
    contents = {file: (results / file).read_bytes() for file in first.files}
    assert not write_report(results, no_spark).made
    (results / "report" / "report.md").unlink()
    again = write_report(results, lambda: spark)
    assert again.made and {file: (results / file).read_bytes() for file in again.files} == contents
    assert {Path(file).suffix for file in first.files} == {".md", ".html", ".csv", ".tex", ".parquet", ".svg", ".pdf"}
    other = write_report(results, lambda: spark, baseline="pruning=none")
    assert other.made and other.baseline == "pruning=none"
    page = (results / other.page).read_text()
    browser = (results / "report" / "report.html").read_text()
    assert "it took &lt;too&gt; long" in browser and '<img src="planning_time.svg"' in browser and PAGE_STYLE in browser
    assert "Ratios are to the variant `pruning=none`" in page and "left \\| deep" in page and "it took \\<too\\> long" in page
    table = csv.read_csv(results / "report" / "by_variant.csv")
    assert table.column("variant").to_pylist()[2] == "left | deep"


def test_reports_that_cannot_be(results: Path, tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="there are no results of a sweep in"):
        write_report(tmp_path, no_spark)
    with pytest.raises(CatalogError, match='there is no run "abc"'):
        write_report(results, no_spark, run="abc")
    with pytest.raises(PlanscopeError, match='there is no variant "pruning=nome" in the sweep; did you mean "pruning=none"'):
        write_report(results, no_spark, baseline="pruning=nome")
    plan = plan_sweep(SweepSpec(["chain/3"]), code="test")
    run_folder(tmp_path, plan.run).mkdir(parents=True)
    write_plan(run_folder(tmp_path, plan.run), plan)
    with pytest.raises(CatalogError, match="is not complete: 0 of 1 items"):
        write_report(tmp_path, no_spark)


@pytest.mark.slow
def test_what_others_put_beside_a_report_stays(results: Path, spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    shutil.copytree(results / "results", out / "results")
    thesis = lay(out, {"report/thesis.tex": "precious"}) / "report" / "thesis.tex"
    with pytest.raises(OutputError, match=r"report is there, and no report of planscope's\nmove it out of the way"):
        write_report(out, lambda: spark)
    assert thesis.read_text() == "precious" and len(list(thesis.parent.iterdir())) == 1
    thesis.unlink()
    write_report(out, lambda: spark)
    thesis.write_text("notes")
    (out / "report" / "by_query.csv").unlink()
    elsewhere = out / "mine.txt"
    elsewhere.write_text("not of the report")
    manifest = manifest_path(out, "report")
    manifest.write_text(manifest.read_text().replace('"report/by_query.csv"', '"mine.txt"'))
    assert write_report(out, lambda: spark).made and thesis.read_text() == "notes" and elsewhere.exists()


def tables(variants: int, figures: dict[str, float]) -> dict[str, pa.Table]:
    """Tables as `aggregate` makes them, with as many variants, three workloads and the columns that figures read."""
    names = ("plan_ms", "costed", "cost", "elapsed_ms", "cost_ratio", "elapsed_ms_ratio", "q_error", "q_error_max")
    rows = [
        {"workload": workload, "relations": n, "variant": f"v{v}", "query": f"{workload}/{n}", "data": "joingraph"}
        | {"items": 1, "errors": 0, **dict.fromkeys(names)}
        | {name: value * (1 + v) * (w + n) for name, value in figures.items()}
        for v in range(variants)
        for w, workload in enumerate(("chain", "star", "one"))
        for n in range(2, 3 if workload == "one" else 6)
    ]
    types = {
        pa.string(): ("workload", "variant", "query", "data"), pa.int64(): ("relations", "items", "errors"), pa.float64(): names,
    }  # fmt: skip
    table = pa.Table.from_pylist(rows, pa.schema([(name, type) for type, those in types.items() for name in those]))
    return {"by_query": table, "by_relations": table}


def drawn(found: dict[str, pa.Table], variants: list[str], baseline: str) -> dict[str, Figure]:
    return {each.name: drawing for each in make_figures(found, variants, baseline) if (drawing := draw(each)) is not None}


def test_figures_are_made_of_what_there_is_and_always_the_same(tmp_path: Path) -> None:
    names = [f"v{v}" for v in range(10)]
    made = drawn(tables(10, {"plan_ms": 0.5, "costed": 10.0, "cost": 1.0, "cost_ratio": 0.5}), names, "v9")
    assert list(made) == ["planning_time", "costed", "planning_ecdf", "cost_ratio"]
    panels = [axes for axes in made["planning_time"].axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["chain", "star"], "one number of tables makes no line"
    labels = [line.get_label() for line in panels[0].lines]
    assert len(labels) == MOST_VARIANTS and labels[0] == "v0" and labels[-2:] == ["v8", "v9"], "spread, with the baseline"
    assert panels[0].get_yscale() == "log"
    (chain,) = (line for line in panels[0].lines if line.get_label() == "v1")
    assert list(chain.get_xdata()) == [2, 3, 4, 5] and list(chain.get_ydata()) == [2.0, 3.0, 4.0, 5.0]
    assert "v9" not in [line.get_label() for line in made["cost_ratio"].axes[0].lines]
    (steps,) = (line for line in made["planning_ecdf"].axes[0].lines if line.get_label() == "v0")
    assert list(steps.get_ydata()[1:3]) == [0.0, pytest.approx(1 / 9)] and steps.get_ydata()[-1] == pytest.approx(1.0)

    for name in ("a", "b"):
        again = drawn(tables(10, {"plan_ms": 0.5}), names, "v9")["planning_time"]
        write_figure(again, tmp_path, name)
    for ending in ("svg", "pdf"):
        content = (tmp_path / f"a.{ending}").read_bytes()
        assert content == (tmp_path / f"b.{ending}").read_bytes()
        assert b"CreationDate" not in content and b"<dc:date>" not in content

    assert drawn(tables(1, {}), ["v0"], "v0") == {}
    assert "q_error" in drawn(tables(2, {"q_error": 1.5}), ["v0", "v1"], "v0")


def test_failures_count_in_the_shares() -> None:
    """Of nine queries one failed, of another one seed of three. Where the baseline has no cost, no ratio is missing."""
    found = tables(2, {"plan_ms": 0.5, "cost": 1.0, "cost_ratio": 0.5})
    rows = found["by_query"].to_pylist()
    first = [row for row in rows if row["variant"] == "v1"]
    first[0] |= {"errors": 1, "plan_ms": None, "cost": None, "cost_ratio": None}
    first[1] |= {"items": 3, "errors": 1}
    rows[-1] |= {"cost_ratio": None}
    next(r for r in rows if r["variant"] == "v0" and r["query"] == rows[-1]["query"])["cost"] = None
    made = drawn({**found, "by_query": pa.Table.from_pylist(rows, found["by_query"].schema)}, ["v0", "v1"], "v0")
    ends = {line.get_label(): line.get_ydata()[-1] for line in made["planning_ecdf"].axes[0].lines}
    assert ends == {"v0": pytest.approx(1.0), "v1": pytest.approx((7 + 2 / 3) / 9)}
    (ratio,) = made["cost_ratio"].axes[0].lines
    assert ratio.get_ydata()[-1] == pytest.approx((6 + 2 / 3) / 8)


def test_markdown_is_safe_and_short() -> None:
    table = pa.table({"name": ["a|b\n<c>", "x" * 200], "n": [1234567, None], "x": [0.000123456, 12345.678], "none": [None, None]})
    lines = markdown(table).splitlines()
    assert lines[:3] == ["| name | n | x |", "| --- | ---: | ---: |", "| a\\|b \\<c\\> | 1,234,567 | 0.0001235 |"]
    assert latex(table).splitlines()[:4] == [r"\begin{tabular}{lrr}", r"\hline", r"name & n & x \\", r"\hline"]
    assert r"a\textbar{}b \textless{}c\textgreater{} & 1,234,567 & 0.0001235 \\" in latex(table)
    assert latex(pa.table({"a": ["50% of {x}_1 & \\"]})).splitlines()[4] == r"50\% of \{x\}\_1 \& \textbackslash{} \\"
    assert html_table(table).startswith('<div class="wide"><table>')
    assert '<tr><td>a|b &lt;c&gt;</td><td class="n">1,234,567</td>' in html_table(table)
    assert len(lines) == 4 and lines[3].endswith("… |  | 12,350 |")
    assert [figure(x) for x in (0.0, 1.0, 12.3456, 999.96, 1234.5, 2e12)] == ["0", "1", "12.35", "1,000", "1,234", "2e+12"]
    assert [plain(x) for x in (True, None, 5, math.inf)] == ["yes", "", "5", "inf"]


@pytest.mark.parametrize(("text", "expected"), [("a=b", "`a=b`"), ("a`b<i>", "`` a`b<i> ``"), ("``a\n\n`", "``` ``a ` ```")])
def test_names_stay_within_their_marks(text: str, expected: str) -> None:
    assert code(text) == expected
