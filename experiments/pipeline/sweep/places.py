"""Where in a TOML file something stands, for messages: the parser of the standard library does not say.

A place is found by reading lines: table headers, keys, and within the value of a key the text of one element. It serves
messages only: where it finds nothing, they name the table and key instead of a line.
"""

from __future__ import annotations

import re

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*(?:"([^"]+)"|'([^']+)'|([\w-]+))((?:\s*\.\s*[\w-]+)*)\s*=""")


class Places:
    """Lines of the tables and keys of one TOML text; `file` is its name in messages ("" when there is no file)."""

    def __init__(self, text: str = "", file: str = "") -> None:
        self.file = file
        self._lines = text.splitlines()
        self._keys: dict[tuple[str, str], list[int]] = {}
        table = ""
        for number, line in enumerate(self._lines, 1):
            if header := _HEADER.match(line):
                table = header[2].replace(" ", "").replace('"', "")
                self._keys.setdefault((table, ""), []).append(number)
            elif key := _KEY.match(line):
                name = (key[1] or key[2] or key[3]) + key[4].replace(" ", "")
                self._keys.setdefault((table, name), []).append(number)

    def line(self, table: str, key: str = "", element: str | None = None, number: int = 0) -> int | None:
        """The line (from 1) of `key` in `table`, or of the table's header; of `element` as it is written within the value.

        `number` says which of several tables of that name. None: not found.
        """
        headers = self._keys.get((table, ""), [])
        start = headers[number] if number < len(headers) else None
        found = self._keys.get((table, key), []) if key else []
        if not key:
            return start
        end = headers[number + 1] if number + 1 < len(headers) else None
        inside = [at for at in found if (start is None or at > start) and (end is None or at < end)]
        if not inside:
            return start
        first = inside[0]
        if element is None:
            return first
        for at in range(first, len(self._lines) + 1):
            line = self._lines[at - 1]
            if at > first and (_HEADER.match(line) or _KEY.match(line)):
                break
            if f'"{element}"' in line or f"'{element}'" in line or re.search(rf"(?<![\w.]){re.escape(element)}(?![\w.])", line):
                return at
        return first

    def say(self, table: str, key: str = "", element: str | None = None, number: int = 0) -> str:
        """The place for people: `line 12: [sweep] queries`."""
        line = self.line(table, key, element, number)
        where = f"[{table}]" + (f" {key}" if key else "")
        return where if line is None else f"line {line}: {where}"
