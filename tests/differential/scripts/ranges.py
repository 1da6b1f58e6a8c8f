"""Table functions that DuckDB's scripts make rows with, as tables: FROM range(0, 10) becomes FROM a table of these rows.

Only calls with constants, after FROM or JOIN. Both engines then run the changed text.
"""

import re
from typing import NamedTuple

_CALL = re.compile(
    r"\b(?P<before>from|join)\s+(?P<function>range|generate_series)\s*\(\s*(?P<args>-?\d+(?:\s*,\s*-?\d+){0,2})\s*\)"
    r"(?=(?:\s+as)?\s+(?P<alias>\w+))?",
    re.IGNORECASE,
)
_NO_ALIAS = re.compile(
    "anti|asof|cross|except|full|group|having|inner|intersect|join|left|limit|natural|offset|on|order|positional|qualify|right|semi|"
    "union|using|where|window"
)
_MOST = 100_000


class RangeTable(NamedTuple):
    """`create` makes the table in DuckDB, where it has one column, called like the function."""

    name: str
    create: str


def with_range_tables(sql: str) -> tuple[str, list[RangeTable]]:
    """The text with calls replaced by tables, and these tables. Longer ranges stay as they are."""
    tables: list[RangeTable] = []

    def replaced(call: re.Match[str]) -> str:
        function = call["function"].lower()
        args = [int(arg) for arg in call["args"].split(",")]
        start, end, step = (args[0] if len(args) > 1 else 0, args[min(len(args) - 1, 1)], args[2] if len(args) > 2 else 1)
        if not step or (end - start) / step > _MOST:
            return call[0]
        name = f"{function}_{'_'.join(map(str, args))}".replace("-", "minus")
        tables.append(RangeTable(name, f"create or replace table {name} as select * from {function}({call['args']})"))
        named = call["alias"] is not None and not _NO_ALIAS.fullmatch(call["alias"].lower())
        return f"{call['before']} (SELECT {function} FROM {name}){'' if named else f' AS {function}'}"

    return _CALL.sub(replaced, sql), tables
