"""JSON files as columns of texts: objects one a line, one after the other, or all in one array.

Numbers keep the digits they are written with. A key that a record lacks is NULL. A key that somewhere has an object or array is
not imported; which keys those are is known after a first reading (`JsonFile.kinds`).
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.pipeline.intake.records import Records, Reject
from experiments.pipeline.intake.stream import MARKS, Decoded
from experiments.pipeline.spark.errors import PipelineError

OPTIONS = {"encoding": "default utf-8"}
_BATCH = 16_384  # records
_CHUNK = 1 << 20  # characters
_BLANK = " \t\r\n"


class _Number(str):
    """A number as it is written."""


class _Twice(ValueError):
    """An object with the same key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for key in keys if keys.count(key) > 1))
    return found


_DECODER = json.JSONDecoder(parse_float=_Number, parse_int=_Number, parse_constant=_Number, object_pairs_hook=_object)


class JsonFile:
    """One file. `kinds`: for each key, in the order of first sight, which of "number", "text", "truth", "nested" were seen; it
    grows while `records` reads."""

    def __init__(self, path: Path, options: Mapping[str, str], names: Sequence[str] | None = None) -> None:
        """`names`: the keys wanted; None for all, of which each `Records` then has those seen so far."""
        self.path, self.encoding, self.names = path, options.get("encoding", "utf-8"), names
        self.kinds: dict[str, set[str]] = {}
        self.sha256, self.size = "", 0

    def records(self) -> Iterator[Records]:
        """The rows in their order. Sets `sha256` and `size` at the end. Raises PipelineError when no more records can be told."""
        with Decoded(self.path, self.encoding) as file:
            rows: list[tuple[int, dict[str, Any]]] = []
            broken: list[Reject] = []
            for number, found in enumerate(_values(file), 1):
                if isinstance(found, Reject):
                    broken.append(found._replace(row=number))
                else:
                    rows.append((number, found))
                if len(rows) + len(broken) >= _BATCH:
                    yield self._columns(rows, broken)
                    rows, broken = [], []
            if rows or broken:
                yield self._columns(rows, broken)
            self.sha256, self.size = file.raw.sha256(), file.raw.size

    def _columns(self, rows: list[tuple[int, dict[str, Any]]], broken: list[Reject]) -> Records:
        texts: dict[str, list[str | None]] = {}
        for i, (_, record) in enumerate(rows):
            for key, value in record.items():
                text, kind = _text(value)
                seen = self.kinds.setdefault(key, set())
                if kind:
                    seen.add(kind)
                if self.names is not None and key not in self.names:
                    continue
                column = texts.get(key)
                if column is None:
                    column = texts[key] = [None] * len(rows)
                column[i] = text
        names = list(self.kinds) if self.names is None else self.names
        columns = {name: pa.array(texts.get(name) or [None] * len(rows), pa.string()) for name in names}
        return Records(columns, np.array([number for number, _ in rows], np.int64), broken)


def _text(value: Any) -> tuple[str | None, str]:
    if value is None:
        return None, ""
    if isinstance(value, _Number):
        return str(value), "number"
    if isinstance(value, bool):
        return "true" if value else "false", "truth"
    if isinstance(value, str):
        return value, "text"
    return json.dumps(value, ensure_ascii=False), "nested"


def _values(file: Decoded) -> Iterator[dict[str, Any] | Reject]:
    """One object or reject for each value of the file."""
    buffered = io.BufferedReader(file, _CHUNK)
    text = io.TextIOWrapper(buffered, "utf-8", newline="\n")
    try:
        first = ""
        for line in text:
            first = line
            if line.strip(_BLANK):
                break
        if _is_record(first):
            yield from (_checked(line, file.marked) for line in chain([first], text) if line.strip(_BLANK))
        elif first.strip(_BLANK):
            yield from _stream(file, first, text)
    finally:  # or they would close the file, whose checksum is still wanted
        text.detach()
        buffered.detach()


def _is_record(line: str) -> bool:
    """Whether a line is a whole value that is no array, or broken in a way that a next line cannot mend."""
    line = line.strip(_BLANK)
    if not line or line.startswith("["):
        return False
    try:
        _DECODER.decode(line)
    except _Twice:
        return True
    except ValueError as error:
        return getattr(error, "pos", 0) < len(line) and line.endswith("}")
    return True


def _checked(line: str, marked: bool) -> dict[str, Any] | Reject:
    text = line.strip(_BLANK)
    if marked and any(MARKS[0] <= c <= MARKS[-1] for c in text):
        return Reject("bytes that are no text in this encoding", None, None, text, None)
    try:
        value = _DECODER.decode(text)
    except _Twice as error:
        return Reject("a key is there twice", str(error), None, text, None)
    except ValueError:
        return Reject("not JSON", None, None, text, None)
    except RecursionError:
        return Reject("nested too deeply", None, None, text[:10_000], None)
    if not isinstance(value, dict):
        return Reject("not a JSON object", None, None, text, None)
    if "\\u" in text and not _is_text(value):
        return Reject("half of a surrogate pair", None, None, text, None)
    return value


def _is_text(value: dict[str, Any]) -> bool:
    """Whether all texts inside can be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _stream(file: Decoded, first: str, text: io.TextIOWrapper) -> Iterator[dict[str, Any] | Reject]:
    """The elements of an array, or values one after the other on any number of lines."""
    buffer, place, ended = first, 0, False
    in_array = buffer.lstrip(_BLANK).startswith("[")
    if in_array:
        place = buffer.index("[") + 1
    count = 0
    expects = True  # a value, rather than a comma or the end
    while True:
        while place < len(buffer) and (buffer[place] in _BLANK or (buffer[place] == "," and in_array and not expects)):
            expects = expects or buffer[place] == ","
            place += 1
        if place < len(buffer) and buffer[place] == "]" and in_array and not (expects and count):
            rest = buffer[place + 1 :] + text.read()
            if rest.strip(_BLANK):
                raise PipelineError(f"{file.path}: there is more after the array that ends with record {count}")
            return
        if place == len(buffer) and ended:
            if in_array:
                raise PipelineError(f"{file.path} is cut off: its array does not end, after record {count}")
            return
        try:
            if place == len(buffer):
                raise ValueError
            _, end = _scan(buffer, place)
            if end == len(buffer) and not ended:
                raise ValueError  # a number may go on
        except ValueError as error:
            chunk = text.read(max(_CHUNK, len(buffer) - place))
            if not chunk and ended:
                raise PipelineError(f"{file.path}: record {count + 1} is no JSON: {_said(error)}") from error
            ended = not chunk
            buffer, place = buffer[place:] + chunk, 0
            continue
        except RecursionError as error:
            raise PipelineError(f"{file.path}: record {count + 1} is nested too deeply") from error
        count += 1
        expects = not in_array
        yield _checked(buffer[place:end], file.marked)
        place = end


_SCANNER = json.JSONDecoder()


def _scan(buffer: str, place: int) -> tuple[Any, int]:
    return _SCANNER.raw_decode(buffer, place)


def _said(error: ValueError) -> str:
    return str(error).split(":")[0] or "cut off"
