"""The tour: the first thing a visitor sees."""

import json
import re
import xml.etree.ElementTree as ET

import pytest

from experiments.commands.output import text_width
from experiments.demo import run_demo
from optimizer.errors import OutputError


def test_the_tour_tells_all_of_it(tmp_path, tpch, capfd):
    run_demo(str(tmp_path / "new" / "folder"), data="tpch:0.01")
    out, err = capfd.readouterr()
    assert err == ""
    assert "\x1b" not in out, "no colours into a pipe"
    longest = max(len(re.sub(r"\S*/", "", line)) for line in out.splitlines())  # wherever its folder and the program are
    assert longest <= text_width() + 20, "lines with long commands excepted"
    parts = ("The data", "The query", "after bind", "after prepass", "The search", "The chosen plan", "The result", "Try next")
    places = [out.index(part) for part in parts]
    assert places == sorted(places)
    assert "It was in the cache already" in out
    steps = re.findall(r"^ +(start of Spark|generate|analyze) +[\d.]+ s$", out, re.MULTILINE)
    assert steps[-2:] == ["generate", "analyze"]
    assert "every mode found a plan of the same cost" in out
    assert "q-error" in out and "rows)" in out
    for name in ("memo.svg", "plan.svg"):
        ET.parse(tmp_path / "new" / "folder" / name)
    events = (tmp_path / "new" / "folder" / "trace.jsonl").read_text().splitlines()
    assert json.loads(events[0])["format"] == "planscope-trace"


def test_a_folder_that_cannot_be_made_is_known_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot make folder"):
        run_demo(str(tmp_path / "file"), data="tpch:0.01")
