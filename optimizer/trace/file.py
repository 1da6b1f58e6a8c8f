"""Reading a written trace: its events, and what is wrong with it where it was damaged or cut."""

import json
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from optimizer.errors import CatalogError
from optimizer.trace.recorder import FORMAT, VERSION
from optimizer.trace.vocabulary import complaint, with_numbers

_AT_ONCE = 1000  # lines that are parsed together: quicker, and field names are in memory once


class TraceFile(NamedTuple):
    """`damage`: None, or which line is the first that cannot be read, and why; `events` are those before it."""

    events: list[dict[str, Any]]
    damage: str | None


def read_trace(path: Path) -> TraceFile:
    """Read a JSON-lines trace. Raises CatalogError when it is none, or of another version."""
    events: list[dict[str, Any]] = []
    damage = None
    if not isinstance(path, str | PathLike) or "\0" in str(path):
        raise CatalogError(f"a trace is a file, not {path!r:.60}")
    try:
        with Path(path).open("rb") as file:
            _check_header(Path(path), file.readline())
            file.seek(0)
            while damage is None and (lines := list(islice(file, _AT_ONCE))):
                values, damage = parse_events(lines, len(events))
                events += values
    except OSError as error:
        raise CatalogError(f"cannot read trace {path}: {error.strerror}") from None
    if not events:
        raise CatalogError(f"{path} is not a planscope trace: {damage}")
    return TraceFile(events, damage)


def _check_header(path: Path, line: bytes) -> None:
    try:
        head = _read(line)
    except (ValueError, RecursionError) as error:
        raise CatalogError(f"{path} is not a planscope trace: line 1: not a trace event ({_reason(error)})") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise CatalogError(f"{path} is not a planscope trace: line 1: not a trace event with the format {FORMAT}")
    if head.get("version") != VERSION:
        raise CatalogError(
            f"{path}, line 1: trace version {head.get('version')}; this planscope reads version {VERSION}: record it again"
        )


def parse_events(lines: list[bytes], first: int) -> tuple[list[dict[str, Any]], str | None]:
    """The events of some lines, the first of which has the number `first`, up to one that is damaged."""
    values: list[Any]
    try:
        values = _read(b"[" + b",".join(lines) + b"]")
        if len(values) == len(lines):
            return _checked(values, first, None)
    except (ValueError, RecursionError):
        pass  # one of them is not a value: which?
    values = []
    for line in lines:
        try:
            values.append(_read(line))
        except (ValueError, RecursionError) as error:
            return _checked(values, first, f"line {first + len(values) + 1}: not a trace event ({_reason(error)})")
    return _checked(values, first, None)


def _checked(values: list[Any], first: int, damage: str | None) -> tuple[list[dict[str, Any]], str | None]:
    """The values up to one that is no event; `damage`: what comes after them."""
    for i, value in enumerate(values):
        wrong = complaint(with_numbers(value)) if isinstance(value, dict) else "it is not an object"
        if wrong is None and value["seq"] != first + i:
            wrong = f"event {first + i} was expected, not {value['seq']}"
        if wrong is not None:
            return values[:i], f"line {first + i + 1}: not a trace event ({wrong})"
    return values, damage


def _read(text: bytes) -> Any:
    """Raises ValueError, RecursionError."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    return "nested too deep" if isinstance(error, RecursionError) else str(error).partition(":")[0]
