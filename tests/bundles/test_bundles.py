"""Bundles: what is in one, replaying it, masking it, making it smaller; and files that were made to do harm."""

import json
import re
import shlex
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.bundles.bundle import Bundle, bundle_bytes, make_bundle, plan, read_bundle, recorded, write_bundle
from experiments.bundles.catalog_json import catalog_json, read_catalog
from experiments.bundles.mask import masked
from experiments.bundles.replay import replay
from experiments.bundles.shrink import shrink
from experiments.cli import main
from experiments.workloads.data import open_data
from optimizer.catalog.histogram import Histogram
from optimizer.catalog.table import Catalog, ColumnStats, TableStats
from optimizer.errors import CatalogError, SettingsError, SqlError
from optimizer.sql.smaller import count_parts, without
from planscope import Session, Settings
from tests.search.stored_tables import SHOP, catalog, table

SQL = "select a.x, count(*) as n from a join b on a.k = b.k, c where b.j = c.j and c.y > 3 and a.x < 9 group by a.x order by n"


def with_texts() -> Catalog:
    """A table with a text column and all the figures that there are."""
    (made,) = catalog(table("t", 100, {"sname": 40.0, "h": 9.0})).tables.values()
    figures = ColumnStats(
        nulls=3, min="Abe", max="Zoe", ndv=40.0, avg_width=8.0, mcv=(("Mary", 0.2), ("O'Neil", 0.1)),
        histogram=Histogram(("Abe", "Kim", "Zoe"), (30.0, 40.0), (15.0, 20.0)), degrees=((1, 20), (39, 3)),
    )  # fmt: skip
    stats = TableStats(100, 800, {**made.stats.columns, "sname": figures}, {("h", "sname"): 60.0})
    return Catalog("people", [replace(made, stats=stats)])


def test_a_catalog_comes_back_as_it_was() -> None:
    for one in (with_texts(), SHOP, open_data("job", None)):
        back = read_catalog(json.loads(json.dumps(catalog_json(one))))
        assert back.digest == one.digest and back.statistics_only
    some = catalog_json(open_data("job", None), ["title"])
    assert {each["name"] for each in some["tables"]} == {"title", "kind_type"}  # what it refers to


@pytest.mark.parametrize(
    "settings", [{}, {"region": "tasks", "pruning": "none"}, {"join_order": "(b c) a"}, {"driver": "iterative"}]
)
def test_a_bundle_replays(tmp_path: Path, settings: dict[str, Any]) -> None:
    bundle = make_bundle(SQL, SHOP, Settings(**settings))
    path = tmp_path / "case.zip"
    write_bundle(bundle, str(path))
    read = read_bundle(path)
    assert read == bundle and bundle_bytes(read) == path.read_bytes()
    found = replay(read)
    assert found.same and "the same trace" in found.text and found.events == len(bundle.trace or ()) > 10
    assert [each["name"] for each in bundle.catalog["tables"]] == ["a", "b", "c"]
    assert bundle.plan is not None and bundle.plan["cost"] == Session(SHOP, settings).explain(SQL).query.cost
    with zipfile.ZipFile(path) as file:
        assert sorted(file.namelist()) == ["bundle.json", "catalog.json", "plan.json", "trace.jsonl"]


def test_a_bundle_replays_at_the_moment_it_was_made_at(tmp_path: Path) -> None:
    deep = "select * from (" * 150 + "select now() n, current_date d from a where k < 3" + ")" * 150  # bound on another thread
    bundle = make_bundle(deep, SHOP, Settings())
    write_bundle(bundle, str(tmp_path / "case.zip"))
    read = read_bundle(tmp_path / "case.zip")
    assert read == bundle and bundle.now is not None and replay(read).same
    later = replace(read, now="2001-02-03T04:05:06")
    assert not replay(later).same and "2001-02-03 04:05:06" in json.dumps(recorded(later, plan(later)).plan)
    assert make_bundle(SQL, SHOP, Settings()).now is None


def test_a_bundle_without_a_trace_is_compared_by_its_plan() -> None:
    bundle = make_bundle(SQL, SHOP, Settings(), traced=False)
    found = replay(bundle)
    assert found.same and found.events is None and found.text == "the bundle has no trace, and the same plan"
    assert bundle.plan is not None
    other = replay(replace(bundle, plan={**bundle.plan, "cost": 1.0}))
    assert not other.same and "another plan" in other.text


def test_it_says_where_the_trace_first_differs() -> None:
    bundle = make_bundle(SQL, SHOP, Settings())
    assert bundle.trace is not None
    other = replace(bundle, trace=(*bundle.trace[:5], bundle.trace[5].replace("{", '{"more": 1, ', 1), *bundle.trace[6:]))
    found = replay(other)
    assert found.differs == 5 and "from event 5 on" in found.text and (found.recorded, found.now) == ("more = 1", "more = null")
    assert replay(replace(bundle, trace=bundle.trace[:-2])).recorded == ""
    at = next(number for number, line in enumerate(bundle.trace) if '"kind": "group"' in line)
    event = json.loads(bundle.trace[at])
    for changed, said in (
        (json.dumps({**event, "rows": 7e7}), r"a enters the memo: about 70,000,000 rows, "),
        ("\x1b[2J", "\ufffd"),
    ):
        found = replay(replace(bundle, trace=(*bundle.trace[:at], changed, *bundle.trace[at + 1 :])))
        assert said in found.recorded and "a enters the memo: about " in found.now
    catalog = json.loads(json.dumps(bundle.catalog))
    catalog["tables"][0]["rows"] *= 1000
    assert replay(replace(bundle, catalog=catalog)).now.startswith("catalog_digest = ")


def test_errors_are_replayed() -> None:
    bundle = make_bundle("select zebra from a", SHOP, Settings())
    assert bundle.error is not None and bundle.error.startswith("SqlError: unknown column") and bundle.plan is None
    assert replay(bundle).same
    fixed = replace(bundle, sql="select x from a", trace=None)
    assert "no error" in replay(fixed).text


def test_masked_texts_are_gone_and_the_plan_is_the_same(tmp_path: Path) -> None:
    wanted = "sname >= 'Mary' and sname <> 'O''Neil' and sname like 'Ki%' and h > 3"
    sql = f"/* of Mary */ select count(*) from t where {wanted}"
    bundle = make_bundle(sql, with_texts(), Settings())
    made = masked(bundle)
    made = recorded(made, plan(made))
    text = bundle_bytes(made)
    (tmp_path / "m.zip").write_bytes(text)
    with zipfile.ZipFile(tmp_path / "m.zip") as file:
        everything = "".join(file.read(name).decode() for name in file.namelist())
    assert not re.search("Mary|Neil|Abe|Zoe|Kim|Ki%", everything)
    assert "xx%" in made.sql and made.error is None and bundle.plan is not None and made.plan is not None
    assert made.plan["operator"] == bundle.plan["operator"]
    first, last = (made.catalog["tables"][0]["statistics"]["sname"][end] for end in ("min", "max"))
    assert first < last and replay(read_bundle(tmp_path / "m.zip")).same


def test_masked_texts_with_wildcards_stay_apart() -> None:
    """Where no LIKE has them."""
    column = {"min": "a%", "max": "us_west", "mcv": [["us_east", 0.5], ["us_west", 0.3]], "histogram": None}
    catalog = {"tables": [{"columns": [["c", "string", True]], "statistics": {"c": column}}]}
    sql = "select 1 from t where c = 'us_east' and c like ('ab_' || 'c%') and c <> 'us_west'"
    made = masked(Bundle(sql, {}, None, catalog))
    assert "c = 's1'" in made.sql and "like ( 'xx_' || 'x%' )" in made.sql and "c <> 's2'" in made.sql
    figures = made.catalog["tables"][0]["statistics"]["c"]
    assert figures == {"min": "s0", "max": "s2", "mcv": [["s1", 0.5], ["s2", 0.3]], "histogram": None}


def test_what_a_query_keeps_is_kept_in_statistics_and_in_order() -> None:
    values = ["", "1995", "4x", "5", "5 days", "5.0", "5.01", "Kim", "tr", "true", "un"]
    column = {"min": "", "max": "un", "mcv": [[value, 0.1] for value in values], "histogram": None}
    catalog = {"tables": [{"columns": [["c", "string", True]], "statistics": {"c": column}}]}
    sql = "select 1 from t where c > '5' and c < '5.0' and c <> 'true' and c <> '5 days'"
    made = masked(Bundle(sql, {}, None, catalog))
    assert "c > '5' and c < '5.0'" in made.sql
    found = [value for value, _ in made.catalog["tables"][0]["statistics"]["c"]["mcv"]]
    assert found == sorted(found) and len({*found}) == len(values)
    assert {*found} & {*values} == {"5", "5 days", "5.0", "true"}


def test_plug_ins_and_files(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("aliases,cardinality\na+b,12\n")
    bundle = make_bundle(SQL, SHOP, Settings(estimator="injected", injected=str(rows)))
    assert bundle.settings["injected"] == "files/injected.csv" and str(tmp_path) not in bundle_bytes(bundle).decode("latin-1")
    rows.unlink()
    assert bundle.error is None and replay(bundle).same
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from planscope.plugin import estimator\nfrom planscope import Estimator\n@estimator\nclass Mine(Estimator):\n    pass\n"
    )
    named = make_bundle(SQL, SHOP, Settings(plugins=(str(plugin),)))
    assert named.settings["plugins"] == ["mine.py"] and replay(named, (str(plugin),)).same
    with pytest.raises(SettingsError, match=r"plug-ins mine.py\n.*--plugin FILE"):
        replay(named)
    with pytest.raises(SettingsError, match="would be imported"):
        replay(replace(bundle, settings={**bundle.settings, "estimator": "os:system"}))
    with pytest.raises(SettingsError, match="which is not in it"):
        replay(replace(bundle, settings={**bundle.settings, "injected": "/etc/passwd"}))
    with pytest.raises(SettingsError, match="a bundle holds none"):
        make_bundle(SQL, SHOP, Settings(estimator="true"))


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


def test_files_that_are_no_bundles(tmp_path: Path) -> None:
    path = tmp_path / "case.zip"
    write_bundle(make_bundle(SQL, SHOP, Settings()), str(path))
    with zipfile.ZipFile(path) as file:
        good = {name: file.read(name) for name in file.namelist()}
    head = json.loads(good["bundle.json"])
    for members, part in (
        ({**good, "../evil": b""}, "a member '../evil'"),
        ({**good, "/etc/cron.d/x": b""}, "which none has"),
        ({**good, "files/../../x": b""}, "which none has"),
        ({**good, **{f"files/{i}": b"" for i in range(40)}}, "too many members"),
        ({**good, "bundle.json": b" " * (30 << 20)}, "are the most"),
        ({"catalog.json": b"{}"}, "it has no bundle.json"),
        ({**good, "bundle.json": b"[" * 100_000}, "no bundle"),
        ({**good, "bundle.json": b"[]"}, "not JSON as planscope writes it"),
        ({**good, "bundle.json": json.dumps({**head, "format": "zip"}).encode()}, "does not say so"),
        ({**good, "bundle.json": json.dumps({**head, "version": 99}).encode()}, "version 99"),
        ({**good, "bundle.json": json.dumps({**head, "sql": 7}).encode()}, "lacks what it must have"),
    ):
        with pytest.raises(CatalogError) as error:
            read_bundle(zipped(tmp_path / "bad.zip", members))
        assert part in str(error.value), error.value
    for content in (b"", b"PK\x05\x06", path.read_bytes()[:-40], path.read_bytes()[40:]):
        (tmp_path / "bad.zip").write_bytes(content)
        with pytest.raises(CatalogError, match="it is not a zip file, or it is cut short or damaged"):
            read_bundle(tmp_path / "bad.zip")
    with pytest.raises(CatalogError, match="cannot read"):
        read_bundle(tmp_path / "none.zip")
    catalogs: list[Any] = [
        {"tables": 7},
        {"name": "x", "tables": [{}]},
        {"name": "x", "tables": [{"columns": [["a", "list", 1]]}]},
    ]
    for value in catalogs:
        bundle = read_bundle(zipped(tmp_path / "bad.zip", {**good, "catalog.json": json.dumps(value).encode()}))
        with pytest.raises(CatalogError, match="damaged") as error:
            replay(bundle)
        assert "Error" not in str(error.value)


def test_parts_that_are_left_out() -> None:
    total = count_parts(SQL, SHOP)
    texts = {without(SQL, {part}, SHOP) for part in range(total)}
    assert len(texts) == total and SQL not in texts
    assert any("JOIN b" not in text and "b.j" not in text for text in texts)
    fine = 0
    for text in texts:
        try:
            Session(SHOP).optimize(text)
            fine += 1
        except SqlError:
            pass
    assert fine >= total - 3
    assert count_parts(without(SQL, set(range(total)), SHOP), SHOP) <= 2


def test_shrinking_keeps_what_the_test_wants() -> None:
    bundle = make_bundle(SQL, SHOP, Settings())

    def joins_b_and_c(candidate: Bundle) -> bool:
        return candidate.plan is not None and bool(re.search(r"\bb\b.*\bc\b", candidate.sql)) and "y > 3" in candidate.sql

    small = shrink(bundle, joins_b_and_c)
    assert joins_b_and_c(small) and len(small.sql) < len(bundle.sql) / 2
    assert "count" not in small.sql and "x < 9" not in small.sql and "order by" not in small.sql.lower()
    assert [each["name"] for each in small.catalog["tables"]] == ["b", "c"] and replay(small).same
    with pytest.raises(SettingsError, match="nothing to keep"):
        shrink(bundle, lambda candidate: False)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.csv").write_text("k,x\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(90)))
    (folder / "b.csv").write_text("k,y\n" + "".join(f"{i % 90},{i % 7}\n" for i in range(300)))
    sql = "select a.x, count(*) from a join b on a.k = b.k where b.y < 5 and a.x <> 'secret' group by a.x"
    case = str(tmp_path / "case.zip")
    for more in ((), ("--mask",), ("--no-trace",)):
        assert main(["bundle", sql, "-d", str(folder), "-o", case, *more]) == 0
        assert (b"secret" in zipfile.ZipFile(case).read("bundle.json")) is (more != ("--mask",))
        assert str(tmp_path) not in "".join(zipfile.ZipFile(case).read(n).decode() for n in zipfile.ZipFile(case).namelist())
        assert main(["replay", case]) == 0
    capsys.readouterr()
    script = tmp_path / "wanted.py"
    script.write_text("import sys, zipfile\nsys.exit(b'b.y < 5' not in zipfile.ZipFile(sys.argv[1]).read('bundle.json'))\n")
    assert main(["shrink", case, "--while", f"{shlex.quote(sys.executable)} {script} {{}}", "-q"]) == 0
    small = read_bundle(tmp_path / "case.small.zip")
    assert "b.y < 5" in small.sql and "group" not in small.sql.lower() and len(small.sql) < len(sql)
    broken = replace(small, trace=("{}", *(small.trace or ())[1:]))
    write_bundle(broken, case)
    assert main(["replay", case]) == 4 and "from event 0 on" in capsys.readouterr().out
    assert main(["shrink", case, "--while", "no-such-command"]) == 2 and "cannot run no-such-command" in capsys.readouterr().err
    assert (
        main(["shrink", case, "--while", sys.executable + " -c 0"]) == 0 and "does it read the file?" in capsys.readouterr().err
    )
    assert main(["replay", str(folder / "a.csv")]) == 2
