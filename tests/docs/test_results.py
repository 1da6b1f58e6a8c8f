"""Numbers that the documentation claims to be measured stand in a result file: all of docs/results.md, and those of the README
that have a unit. Counts in these files are those of today."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.cli import main
from experiments.documentation.written import DOCS

UNITS = r"\s?(?:%|µs|ms|s|seconds|minutes|hours|times|×|MB|million|rows|queries)(?!\w)"
NUMBER = r"(?<![\w.,/-])\d[\d,]*(?:\.\d+)?(?![\w])"


def claimed(page: str, unit: str = "") -> list[str]:
    """The numbers of a page outside code, links and citations in brackets."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)|\[[^\]\n]*\](?!\()", " ", page, flags=re.MULTILINE | re.DOTALL)
    return [found.rstrip(",") for found in re.findall(f"({NUMBER}){unit}", prose)]


def measured(folder: Path) -> Iterator[float]:
    """Every number of the CSV and JSON files of a folder."""

    def of(value: Any) -> Iterator[float]:
        if isinstance(value, dict | list):
            for below in value.values() if isinstance(value, dict) else value:
                yield from of(below)
        else:
            try:
                yield float(value)
            except (TypeError, ValueError):
                return

    for file in sorted(folder.iterdir()):
        text = file.read_text("utf-8")
        yield from of(json.loads(text) if file.suffix == ".json" else list(csv.DictReader(text.splitlines())))


def is_rounded(text: str, value: float) -> bool:
    """Whether `text` is `value`, to the digits that it has; zeros at the end of a whole number may be rounded ones."""
    digits = text.replace(",", "")
    places = len(digits.partition(".")[2]) if "." in digits else len(digits.rstrip("0")) - len(digits)
    return any(abs(float(digits) - shown) < 0.500001 * 10**-places for shown in (value, 100 * value))


@pytest.mark.parametrize(
    ("page", "unit"), [(DOCS / "results.md", ""), (DOCS.parent / "README.md", UNITS)], ids=["results", "README"]
)
def test_every_number_stands_in_a_result_file(page: Path, unit: str) -> None:
    values = list(measured(DOCS / "results"))
    numbers = claimed(page.read_text("utf-8"), unit)
    assert numbers
    lost = [text for text in numbers if not any(is_rounded(text, value) for value in values)]
    assert not lost, f"{page.name} says {', '.join(lost)}, which no file of docs/results has"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "table", "file", "counts"),
    [
        ("pruning --quick", "modes", "pruning_modes", ("mode", "queries", "costed", "goals opened", "tasks", "proven")),
        ("rules --quick", "rules_rules", "rules_rules", ("rule", "queries", "bindings", "firings", "new", "duplicates")),
        (
            "space --quick --modes costs",
            "spaces",
            "space_spaces",
            ("query", "plans", "operator trees", "choices", "ways", "costed", "uniform within 2x"),
        ),
    ],
)
def test_counts_are_those_of_today(command: str, table: str, file: str, counts: tuple[str, ...], tmp_path: Path) -> None:
    assert main(("bench", *command.split(), "-q", "-o", str(tmp_path))) == 0
    found, kept = (
        [[row[name] for name in counts] for row in csv.DictReader(path.read_text("utf-8").splitlines())]
        for path in (tmp_path / "tables" / f"{table}.csv", DOCS / "results" / f"{file}.csv")
    )
    assert found == kept, f"planscope bench {command} makes docs/results/{file}.csv, of which docs/results.md tells"


def test_what_is_claimed() -> None:
    assert claimed("1,200 of `9` rows, [Leis 2015], 0.5 % [x](a/7.md), q05, 3.11") == ["1,200", "0.5", "3.11"]
    assert claimed("some 30 MB in 2 tables", UNITS) == ["30"]
    assert is_rounded("30", 32.8) and is_rounded("33", 32.8) and is_rounded("12.5", 0.1249) and not is_rounded("32", 32.8)
