"""Reader of Calcite's .iq scripts (the format of Quidem).

    a query up to a line that ends with ;
    the table that it prints
    !ok, !error, !plan        what was expected: rows; a refusal; a plan, of Calcite's, which is not compared
    !update                   a statement that changes rows; how many is not compared

`!use NAME` picks the tables; they come from `tables.sql` in the script's folder, which makes a schema for each name. A query
that names a schema before a table sees that one instead, and is read without the name. Lines that begin with # are
comments. Only tables printed in the form `mysql` are read.
"""

import re
from pathlib import Path

from tests.differential.scripts.steps import Expected, Step

_ROWS = re.compile(r"\(\d+ rows?\)")


def read_iq(path: Path) -> list[Step]:
    """The steps of the script; the first one makes the tables."""
    tables = path.parent / "tables.sql"
    setup = tables.read_text(encoding="utf-8") if tables.exists() else ""
    schemas = re.findall(r"CREATE SCHEMA (\w+)", setup)
    steps = [Step(0, setup)]
    schema, block = "", []
    inside_string = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if inside_string:  # of a !set
            inside_string = '"' not in line
        elif line.startswith("!"):
            words = line[1:].split()
            if words[0] == "use":
                schema = words[1].split("-")[0]
            inside_string = words[0] == "set" and line.count('"') == 1
            step = _step(block, words[0], schema)
            if step is not None:
                steps.append(_in_schema(step, schemas))
            block = []
        elif block or (line.strip() and not line.startswith("#")):
            block.append((number, line))
    return steps


def _step(block: list[tuple[int, str]], command: str, schema: str) -> Step | None:
    """The query that the command is about; None where the block holds none, as before the plan of a query already run."""
    end = next((i for i, (_, line) in enumerate(block) if line.rstrip().endswith(";")), None)
    if end is None or command not in ("ok", "error", "plan", "verify", "update"):
        return None
    sql = "\n".join(line for _, line in block[: end + 1] if not line.startswith("#")).rstrip().removesuffix(";")
    printed = [line for _, line in block[end + 1 :]]
    expected = _printed_table(printed) if command == "ok" else None
    return Step(block[0][0], sql, command == "error", expected, schema)


def _in_schema(step: Step, schemas: list[str]) -> Step:
    for name in schemas:
        sql = re.sub(rf'(?:"{name}"|\b{name})\.', "", step.sql)
        if sql != step.sql:
            return step._replace(sql=sql, schema=name)
    return step


def _printed_table(lines: list[str]) -> Expected | None:
    """The rows between +---+ lines, cells trimmed and NULL empty; None when the text is not of this form."""
    lines = [line for line in lines if line.strip()]
    if not lines or not _ROWS.fullmatch(lines[-1]) or not lines[0].startswith("+"):
        return None
    body = [line for line in lines[1:-1] if not line.startswith("+-")][1:]
    if any(not (line.startswith("|") and line.endswith("|")) for line in body):
        return None
    return Expected(tuple(tuple(cell.strip() for cell in line[1:-1].split("|")) for line in body), null="")
