"""What reaches a terminal: lines that fit, nothing that it obeys, completion."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from experiments.commands.output import fitted, table_text
from memo_viz.text import clean, clean_json, clean_lines
from tests.processes import run_python

BELL, RED, RIGHT_TO_LEFT = "\x07", "\x1b[31m", "\u202e"
UNSAFE = f"a{BELL}{RED}{RIGHT_TO_LEFT}\x9bz"


def harmless(text: str) -> bool:
    return all(line.replace("\xa0", " ").isprintable() for line in text.split("\n"))


def test_clean() -> None:
    assert clean("a\tb\r\n") == "a b  " and clean("Ärger — ≡ 𝛿") == "Ärger — ≡ 𝛿"
    assert clean(UNSAFE) == "a\ufffd\ufffd[31m\ufffd\ufffdz" and clean("\ud800\ufffe\u2028\u200b") == "\ufffd" * 4
    assert clean_lines("a\x00\nb") == "a\ufffd\nb"
    line = json.dumps({"a": UNSAFE, "b": "Ä"}, ensure_ascii=False)
    assert harmless(clean_json(line)) and json.loads(clean_json(line)) == {"a": UNSAFE, "b": "Ä"}


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (2, ("explain", f"select {UNSAFE} from people")),
        (2, ("explain", f'select "{UNSAFE}" from people')),
        (0, ("explain", f"select id from people where name = '{UNSAFE}'", "--stage", "bind")),
        (0, ("explain", f"select id from people where name = '{UNSAFE}'", "--stage", "all")),
        (0, ("explain", f"select id from people where name = '{UNSAFE}'", "--stage", "prepass")),
        (0, ("explain", f"select id from people where name = '{UNSAFE}'", "--stage", "prepass", "--format", "json")),
        (0, ("explain", f'select id as "{UNSAFE}" from people')),
        (0, ("explain", f'select id as "{UNSAFE}" from people', "--format", "json")),
        (0, ("memo", f"select id from people where name = '{UNSAFE}'")),
        (0, ("plans", f"select id from people where name = '{UNSAFE}'", "--top", "2")),
        (0, ("diff", f"select id from people where name = '{UNSAFE}'", "--", "--set", "pruning=none")),
        (0, ("picture", "memo", f"select id from people where name = '{UNSAFE}'")),
        (0, ("run", f"select '{UNSAFE}' as one from people")),
        (0, ("trace", f"select id from people where name = '{UNSAFE}'")),
        (2, ("explain", "select 1 as one", "--set", f"{UNSAFE}=1")),
        (2, ("explain", "select 1 as one", "--disable", UNSAFE)),
        (2, ("explain", "select 1 as one", f"--{UNSAFE}")),
        (2, (UNSAFE,)),
    ],
)
def test_nothing_that_a_terminal_obeys(planscope, shop, code, arguments) -> None:
    data = ("-d", str(shop)) if len(arguments) > 1 else ()
    done = planscope(*arguments[:2], *data, *arguments[2:])
    assert done.code == code, done.err
    assert harmless(done.out) and harmless(done.err)


def test_nothing_that_a_terminal_obeys_of_a_bundle(planscope, shop, tmp_path) -> None:
    wrong, case, test = (str(tmp_path / name) for name in ("wrong.zip", "case.zip", "test.py"))
    Path(test).write_text(
        "import json, sys, zipfile\n"
        r"sys.exit('\x9bz' not in json.loads(zipfile.ZipFile(sys.argv[1]).read('bundle.json'))['sql'])"
    )
    for arguments in (
        ("bundle", f'select "{UNSAFE}" from people', "-d", str(shop), "--mask", "-o", wrong),
        ("bundle", f'select id as "{UNSAFE}" from people', "-d", str(shop), "-o", case),
        ("shrink", case, "--while", f"{shlex.quote(sys.executable)} {test}"),
    ):
        done = planscope(*arguments)
        assert done.code == 0 and harmless(done.out) and harmless(done.err)


def test_a_name_of_a_megabyte_gives_a_short_message(planscope, shop) -> None:
    for sql in (f'select "{"x" * 1_000_000}" from people', "x" * 1_000_000 + ".sql", f"tpch/{'x' * 1_000_000}"):
        done = planscope("explain", sql, "-d", str(shop))
        assert done.code == 2 and len(done.err) < 5_000
    assert 10_000 < len(planscope("explain", f'select 1 as "{"x" * 1_000_000}"').out) < 15_000


def test_rows_that_cannot_be_as_narrow_become_records(monkeypatch) -> None:
    head, row = ("query", *(f"ms_{i}" for i in range(9))), ("q05", *(f"{i}00.25" for i in range(9)))
    monkeypatch.setenv("COLUMNS", "90")
    table = table_text(head, [row])
    assert fitted(f"Figures.\n{table}") == f"Figures.\n{table}" and len(table.splitlines()) == 3
    monkeypatch.setenv("COLUMNS", "40")
    lines = table_text(head, [row, row]).splitlines()
    assert len(lines) == 21 and lines[:2] == ["query  q05", "ms_0   000.25"]


def test_a_last_cell_of_blanks_has_a_line() -> None:
    assert table_text(("rank", "operators"), [("1", " " * 200)]).splitlines()[2].split() == ["1"]


def test_nothing_is_wider_than_forty_columns(planscope, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for arguments in (
        ("rules",), ("settings",), ("workloads",), ("run", "select * from lineitem limit 2", "-d", "tpch:0.01"),
        ("bench", "pruning", "chain/3", "--modes", "none,both", "-q"), ("--help",), ("bench", "--help"),
    ):  # fmt: skip
        done = planscope(*arguments)
        assert done.code == 0 and max(map(len, done.out.splitlines())) <= 40, arguments


@pytest.mark.few(3)
@pytest.mark.parametrize("columns", [60, 90, 150])
def test_lines_are_as_wide_as_columns_says(planscope, monkeypatch, columns) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for arguments in (("explain", "clique/5"), ("rules",), ("workloads",)):
        lines = planscope(*arguments).out.splitlines()[2:]  # below the heads
        assert columns - 25 < max(map(len, lines)) <= columns, arguments
    tree = "(select max(nation.n_name) from nation where nation.n_regionkey = region.r_regionkey)"
    wide = f"select r_name, r_comment as one, r_comment as two from region where r_name < {tree} and r_comment <> {tree}"
    for arguments in (
        ("settings",), ("run", wide), ("run", wide, "--analyze"), ("explain", wide, "--stage", "all"), ("memo", wide),
        ("plans", "tpch/q03", "--top", "3"), ("why", "tpch/q03", "--operator", "merge_join"),
        ("diff", "tpch/q03", "--", "--disable", "join_to_hash_join"), ("what-if", "tpch/q03", "--sweep", "{orders}"),
    ):  # fmt: skip
        data = ("-d", "tpch:0.01") if len(arguments) > 1 else ()
        done = planscope(arguments[0], *data, *arguments[1:])
        assert done.code == 0 and max(map(len, done.out.splitlines())) <= columns, arguments


def test_one_is_no_plural(planscope) -> None:
    sql = "select n_name from nation limit 1"
    for arguments in (("explain",), ("explain", "--analyze"), ("plans", "--top", "1"), ("memo",), ("run",)):
        done = planscope(arguments[0], sql, "-d", "tpch:0.01", *arguments[1:])
        assert done.code == 0 and not re.search(
            r"\b1 [a-z -]*(rows|tasks|groups|expressions|firings|alternatives|plans)\b", done.out
        )


def complete(*words: str) -> list[str]:
    asked = {"_PLANSCOPE_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = run_python("-m", "planscope", env=asked)
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_completion() -> None:
    assert complete("planscope", "ex") == ["explain"]
    assert complete("planscope", "explain", "tpcds/q9") == [f"tpcds/q{n}" for n in range(90, 100)]
    assert complete("planscope", "explain", "--disable", "join_co") == ["join_connect", "join_commute"]
    assert complete("planscope", "memo", "--set", "prun") == ["pruning="]
    assert complete("planscope", "run", "--data", "st") == ["stats"]


def test_a_shell_gets_its_script() -> None:
    assert "_PLANSCOPE_COMPLETE=bash_complete" in run_python("-m", "planscope", env={"_PLANSCOPE_COMPLETE": "bash_source"}).stdout
