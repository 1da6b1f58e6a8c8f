"""docs/extending.md runs as printed, in a fresh Python."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from executor.session import Session
from optimizer.catalog.table import Catalog

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "extending.md"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text("utf-8"), re.S)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page, and page.py: its other blocks."""
    folder = tmp_path_factory.mktemp("page")
    texts: dict[str, list[str]] = {}
    for block in blocks("python"):
        named = re.match(r"# (\w+\.py)(, continued)?\n", block)
        texts.setdefault(named[1] if named else "page.py", []).append(block)
    for name, parts in texts.items():
        (folder / name).write_text("\n\n".join(parts), "utf-8")
    return folder


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_the_page_runs(page: Path, tpch: Catalog) -> None:
    assert {file.name for file in page.iterdir()} >= {"page.py", "mine.py", "careful.py", "semi.py"}
    run([sys.executable, "page.py"], page)


def test_its_commands_run(page: Path, tpch: Catalog) -> None:
    commands = [shlex.split(line) for block in blocks("sh") for line in block.splitlines()]
    assert len(commands) >= 5
    for program, *arguments in commands:
        assert program == "planscope"
        run([sys.executable, "-m", "planscope", *arguments], page)


def test_the_cost_model_of_the_page_is_optimal_in_every_mode(page: Path, tpch: Catalog) -> None:
    """Its bounds are admissible: pruning changes nothing."""
    costs = {
        mode: Session(tpch, {"pruning": mode, "cost_model": "rows_moved"}, plugins=[page / "mine.py"]).optimize("tpch/q10").cost
        for mode in ("none", "upper", "lower", "both")
    }
    assert len(set(costs.values())) == 1
