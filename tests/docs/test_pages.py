"""The documentation is what it says: its code runs as printed, and what is written from the code is up to date."""

import re
import shlex
from datetime import date, datetime
from pathlib import Path

import click
import duckdb
import pyarrow as pa
import pytest

from executor.session import Session
from experiments.documentation import rules
from experiments.documentation.blocks import blocks, is_shown
from experiments.documentation.notebooks import code_of, notebook
from experiments.documentation.run import PageError, carry_out, parse
from experiments.documentation.written import DOCS, pages, references, shown, words_of
from optimizer.catalog.table import Catalog
from optimizer.errors import PlanscopeError, SqlError

AGAIN = "python -m experiments.documentation writes it anew"
SLOW = {"2_memo.md", "3_search.md", "5_costs.md", "experiments.md", "extending.md", "pictures.md", "pipeline.md"}


def marked(page: Path) -> object:
    return pytest.param(page, id=page.relative_to(DOCS).as_posix(), marks=[pytest.mark.slow] * (page.name in SLOW))


@pytest.mark.parametrize("page", [marked(page) for page in pages()])
def test_a_page_shows_what_happens(page: Path, tpch: Catalog) -> None:
    found = shown(page)
    assert found.text == page.read_text("utf-8"), AGAIN
    for target, picture in found.pictures.items():
        if target.endswith(".svg"):
            assert words_of((page.parent / target).read_text("utf-8")) == words_of(picture), f"{target}: {AGAIN}"


@pytest.mark.parametrize(
    ("picture", "words"),
    [
        ("memo", {"★ split"}),
        ("first-plan", {"+☆ m10", "+☆ m11", "+☆ m12"}),
        ("associated", {"+ {customer, orders}", "+ m19", "+ m20"}),
    ],
)
def test_a_picture_shows_what_the_text_says_of_it(picture: str, words: set[str]) -> None:
    assert words <= set(words_of((DOCS / "pictures" / f"{picture}.svg").read_text("utf-8")))


def test_pages_name_the_event_of_the_prune() -> None:
    page = (DOCS / "stepping.md").read_text("utf-8")
    prune = re.search(r"^event (\d+)  prune$", page, re.MULTILINE)
    assert prune is not None
    for name, named in (("../README.md", r"-o q05.html` writes, at event (\d+)"), ("stepping.md", r"q5.jsonl --at (\d+)"),
                        ("pictures.md", r"q5.jsonl --at (\d+)")):  # fmt: skip
        assert re.findall(named, (DOCS / name).read_text("utf-8")) == [prune[1]], name


@pytest.mark.parametrize("name", sorted(references()))
def test_what_is_written_from_the_code_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == references()[name], AGAIN


def test_notebooks_have_the_code_of_their_lessons() -> None:
    for lesson in (DOCS / "course").glob("*.md"):
        page = [block.text.strip("\n") for block in blocks(lesson.read_text("utf-8")) if block.kind == "python"]
        cells = code_of(notebook(lesson.stem, lesson.read_text("utf-8")))
        assert [re.sub("^%%writefile ", "# ", cell) for cell in cells if not cell.startswith("!")] == page
        assert f"]({lesson.name})" in (DOCS / "course" / f"{lesson.stem}.ipynb").read_text("utf-8")


@pytest.mark.parametrize("lesson", [marked(page) for page in (DOCS / "course").glob("*.md")])
def test_a_notebook_runs_from_top_to_bottom(lesson: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for cell in code_of((DOCS / "course" / f"{lesson.stem}.ipynb").read_text("utf-8")):
        first, _, rest = cell.partition("\n")
        if first.startswith("%%writefile "):
            Path(first.split()[-1]).write_text(rest, "utf-8")
        elif not first.startswith("!"):
            exec(compile(cell, lesson.stem, "exec"), names)


def test_every_rule_has_a_page_with_its_answers_and_cases() -> None:
    for rule in rules.rule_pages():
        page = rules.page(rule)
        assert rule.summary.split()[0] in page and "\n## Cases\n" in page and "```sql\n" in page, rule.name


def test_links_lead_somewhere() -> None:
    for page in DOCS.rglob("*.md"):
        for target in re.findall(
            r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
        ):
            assert target.endswith(".html") or (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_tests_that_the_list_of_pitfalls_names_exist() -> None:
    tests = DOCS.parent / "tests"
    file = ""
    for named in re.finditer(r"`((?:\w+/)*test_\w+\.py)?(?:::(\w+))?`", (tests / "PITFALLS.md").read_text("utf-8")):
        file, test = named[1] or file, named[2] or ""
        assert f"def {test}" in (tests / file).read_text("utf-8"), f"{file}::{test}"


def test_what_sql_is_taken_and_what_is_not() -> None:
    rows = {"a": [1, 2, 3], "b": [2, 2, None], "s": ["x,y", "y", None], "d": [date(2024, 1, day) for day in (1, 2, 3)]}
    t = pa.table({**rows, "ts": [datetime(2024, 1, 1, hour) for hour in (1, 2, 3)]})
    session, duck = Session({"t": t, "u": pa.table({"a": [1, 2], "c": [2, 5]})}), duckdb.connect()
    for name in ("t", "u"):
        duck.register(name, session.sql(f"from {name}").table)
    taken, refused = (
        re.findall(r"^\| [^`|]* \| `([^`]*)` \|", part, re.M) for part in (DOCS / "sql.md").read_text().split("| not taken")
    )
    assert len(taken) > 10 and len(refused) > 6
    for sql in taken:
        assert session.sql(sql).table.num_rows == len(duck.execute(sql).fetchall()), sql
    for sql in refused:
        with pytest.raises(SqlError):
            session.sql(sql)


def test_help_fits_a_terminal_of_80_columns() -> None:
    wide = [line for line in references()["reference/commands.md"].splitlines() if len(line) > 80]
    assert not wide
    assert not [line for line in references()["reference/commands.md"].splitlines() if re.match(r"  \w.*\.\.\.$", line)], "cut"


def test_commands_named_in_the_text_exist() -> None:
    for page in (DOCS.parent / "README.md", *DOCS.rglob("*.md")):
        for command in re.findall(r"`(planscope [a-z][^`\n>…]*)", page.read_text("utf-8")):
            try:
                parse(shlex.split(command)[1:])
            except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError, click.MissingParameter, click.BadOptionUsage):
                continue  # named, not written out
            except (click.ClickException, PlanscopeError) as error:
                pytest.fail(f"{page.name}: {command}: {error}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\n1 / 0\n```\n", "page.md:2: ZeroDivisionError"),
        ("```sh\nplanscope explain nothing/1\n```\n", "page.md:2: planscope explain nothing/1\nexit code 2"),
        ("```sh\nrm file\n```\n", "page.md:2: only planscope is run, not rm"),
        ("```text\nplanscope explain chain/3 --fast\n```\n", "No such option"),
    ],
)
def test_a_page_that_is_wrong_is_told_where(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(text, "utf-8")
    with pytest.raises(PageError, match=re.escape(message)):
        carry_out(tmp_path / "page.md", tmp_path)


def test_output_is_written_into_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 6\nprint(x)\nx * 7\n```\n\n```output\nold\n```\n", "utf-8")
    assert carry_out(page, tmp_path).text.endswith("```output\n6\n42\n```\n")
    page.write_text("```console\n$ planscope step chain/3\n…\n\n» goto 1\nold\n```\n\n```console\n» next\n…\n```\n", "utf-8")
    text = carry_out(page, tmp_path).text
    assert "step chain/3\n…\n\n» goto 1\nevent 1  stage\n" in text and text.endswith("» next\n…\n```\n")


def test_dots_stand_for_any_lines() -> None:
    assert is_shown("a\nb\nc\n", "a\n…\n") and is_shown("a\n", "a\n…\n") and not is_shown("a\nb\n", "…\na\n")


def test_the_cost_model_of_extending_is_optimal_in_every_mode(tmp_path: Path, tpch: Catalog) -> None:
    """Its bounds are admissible: pruning changes nothing."""
    parts = [block.text for block in blocks((DOCS / "extending.md").read_text("utf-8")) if block.text.startswith("# mine.py")]
    (tmp_path / "mine.py").write_text("\n\n".join(parts), "utf-8")
    costs = {
        mode: Session(tpch, {"pruning": mode, "cost_model": "rows_moved"}, plugins=[tmp_path / "mine.py"])
        .optimize("tpch/q10")
        .cost
        for mode in ("none", "upper", "lower", "both")
    }
    assert len(set(costs.values())) == 1
