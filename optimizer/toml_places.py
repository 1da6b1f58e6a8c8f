"""Where in a TOML file something stands, for messages: the parser of the standard library does not say.

A place is found by reading lines: table headers, keys, and within the value of a key the text of one element. It serves
messages only: where it finds nothing, they name the table and key instead of a line.
"""

import re
from collections import Counter

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*(?:"([^"]+)"|'([^']+)'|([\w-]+))((?:\s*\.\s*[\w-]+)*)\s*=""")


class Places:
    """Lines of the tables and keys of one TOML text; `file` is its name in messages ("" when there is no file)."""

    def __init__(self, text: str = "", file: str = "") -> None:
        self.file = file
        self._lines = text.splitlines()
        self._found: dict[tuple[str, int, str], int] = {}  # by table, which of those called so, and key ("": the header)
        table, headers = "", Counter({"": 1})  # keys above all headers are of a table without a name
        for at, line in enumerate(self._lines, 1):
            key = ""
            if header := _HEADER.match(line):
                table = header[2].replace(" ", "").replace('"', "")
                headers[table] += 1
            elif found := _KEY.match(line):
                key = (found[1] or found[2] or found[3]) + found[4].replace(" ", "")
            else:
                continue
            self._found.setdefault((table, headers[table] - 1, key), at)

    def line(self, table: str, key: str = "", element: str | None = None, number: int = 0) -> int | None:
        """The line (from 1) of `key` in `table`, or of the table's header; of `element` as it is written within the value.

        `number` says which of several tables of that name. None: not found.
        """
        header = self._found.get((table, number, ""))
        first = self._found.get((table, number, key))
        if first is None and header is None and "." in table:  # an inline table: the value of a key
            outer, _, name = table.rpartition(".")
            return self.line(outer, name, key or element)
        if first is None or not key or element is None:
            return first or header
        for at, line in enumerate(self._lines[first - 1 :], first):
            if at > first and (_HEADER.match(line) or _KEY.match(line)):
                break
            if f'"{element}"' in line or f"'{element}'" in line or re.search(rf"(?<![\w.]){re.escape(element)}(?![\w.])", line):
                return at
        return first
