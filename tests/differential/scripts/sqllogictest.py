"""Reader of sqllogictest scripts, with DuckDB's additions.

statement ok|error        the statement up to a blank line, or up to ---- and a message
query TYPES [SORT]        the query up to ----, then the values up to a blank line: one a line, or a row a line with
                          tabs, or "N values hashing to MD5"
loop v FROM TO, foreach v A B …, endloop      ${v} in the text between is replaced
skipif E, onlyif E        about the next record; this reader is the engine "duckdb"
require NAME              the script needs more than a database: it is left out, but for parts DuckDB always has
mode skip, mode unskip, halt
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.differential.scripts.steps import Expected, Step

ENGINE = "duckdb"
_ALWAYS_THERE = ("vector_size", "no_vector_verification", "noforcestorage", "skip_reload", "64bit", "parquet", "json", "icu")
_DIGEST = re.compile(r"(\d+) values hashing to ([0-9a-f]{32})")

Line = tuple[int, str]


def read_sqllogictest(path: Path) -> list[Step]:
    """The steps of the script, its loops unrolled. Raises ValueError for a record of an unknown kind."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    steps: list[Step] = []
    skipping = False
    for record in _unrolled(_records([(i, line.rstrip("\r")) for i, line in enumerate(lines, 1)])):
        while record and record[0][1].split()[0] in ("skipif", "onlyif"):
            word, engine = record[0][1].split()[:2]
            record = record[1:] if (engine == ENGINE) == (word == "onlyif") else []
        if not record:
            continue
        words = record[0][1].split()
        if words[0] == "mode":
            skipping = {"skip": True, "unskip": False}.get(words[1], skipping)
        elif words[0] == "halt" or (words[0] == "require" and words[1] not in _ALWAYS_THERE):
            break
        elif words[0] in ("statement", "query"):
            if not skipping:
                steps.append(_step(record, words))
        elif words[0] not in _ABOUT_THE_RUN:
            raise ValueError(f"{path.name}:{record[0][0]}: unknown record {words[0]}")
    return steps


_ABOUT_THE_RUN = (
    "require", "require-env", "test-env", "hash-threshold", "set", "reset", "restart", "reconnect", "load", "sleep", "unzip",
    "tags", "continue", "cache",
)  # fmt: skip


def _records(lines: Sequence[Line]) -> list[list[Line]]:
    """Blocks between blank lines, comments left out; a directive that stands alone on its line is a block of its own."""
    records: list[list[Line]] = []
    current: list[Line] = []
    for number, line in [*lines, (len(lines) + 1, "")]:
        if line.startswith("#") and not any(text == "----" for _, text in current):
            continue
        if line.strip():
            current.append((number, line))
            if len(current) == 1 and line.split()[0] not in ("statement", "query", "skipif", "onlyif"):
                records.append(current)
                current = []
        elif current:
            records.append(current)
            current = []
    return records


def _unrolled(records: list[list[Line]]) -> Iterator[list[Line]]:
    """The records, those inside loops once for each value."""
    position = 0
    while position < len(records):
        words = records[position][0][1].split()
        position += 1
        if words[0] not in ("loop", "foreach", "concurrentloop", "concurrentforeach"):
            yield records[position - 1]
            continue
        end, depth = position, 1
        while depth:
            word = records[end][0][1].split()[0]
            depth += word in ("loop", "foreach", "concurrentloop", "concurrentforeach")
            depth -= word == "endloop"
            end += 1
        values = map(str, range(int(words[2]), int(words[3]))) if words[0].endswith("loop") else words[2:]
        for value in values:
            for record in _unrolled(records[position : end - 1]):
                yield [(number, line.replace("${" + words[1] + "}", value)) for number, line in record]
        position = end


def _step(record: list[Line], words: list[str]) -> Step:
    texts = [line for _, line in record[1:]]
    cut = texts.index("----") if "----" in texts else len(texts)
    sql = "\n".join(texts[:cut])
    if words[0] == "statement":
        return Step(record[0][0], sql, fails=words[1] == "error")
    expected = None if cut == len(texts) else _expected(texts[cut + 1 :], words)
    return Step(record[0][0], sql, expected=expected)


def _expected(lines: list[str], words: list[str]) -> Expected | None:
    types = words[1] if len(words) > 1 else ""
    sort = words[2] if len(words) > 2 and words[2] in ("rowsort", "valuesort") else "nosort"
    digest = _DIGEST.fullmatch(lines[0]) if len(lines) == 1 else None
    if digest is not None:
        return Expected(digest=(int(digest[1]), digest[2]), types=types, sort=sort)
    if any(line.startswith(("<REGEX>", "<!REGEX>", "<FILE>")) for line in lines):
        return None
    flat = len(types) > 1 and not any("\t" in line for line in lines)
    rows = (tuple(filter(None, line.split("\t"))) or ("",) for line in lines)  # an empty text is printed as (empty)
    return Expected(tuple(rows), flat, None, types, sort)
