"""Whether the data keep the keys and foreign keys that schema.sql declares, as `planscope data analyze` found it.

    _planscope/constraints.json   {"version": 1, "found": [{"table", "columns", "target", "referenced", "files", "against"}]}

`against` is "" for what holds, else what was found, in words: queries do not rely on that. An entry counts only while the
files of its tables are the ones that were read: same contents as far as the fingerprint can tell, same time of change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from optimizer.catalog.folder import METADATA_FOLDER, replace_file
from optimizer.errors import CatalogError

Files = Mapping[str, Mapping[str, str]]  # by table, what its files are known by (`fingerprint.file_identities`)
_VERSION = 1


class Constraint(NamedTuple):
    """A key of `table`, or a foreign key if there is a `target`. Names as stored."""

    table: str
    columns: tuple[str, ...]
    target: str = ""
    referenced: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        return (self.table, self.target) if self.target else (self.table,)


class Findings:
    """What was found, with the files it was found on."""

    def __init__(self, found: Mapping[Constraint, tuple[Files, str]]) -> None:
        self._found = dict(found)

    @property
    def is_empty(self) -> bool:
        return not self._found

    def against(self, constraint: Constraint, files: Files) -> str | None:
        """Nothing ("") if these files keep it, words if they do not, None if nobody has looked."""
        read, words = self._found.get(constraint, ({}, ""))
        return words if all(name in read and read[name] == files.get(name) for name in constraint.tables) else None

    def contradicted(self, files: Files) -> dict[Constraint, str]:
        """What these files do not keep, and why."""
        return {one: words for one in self._found if (words := self.against(one, files))}

    def with_found(self, found: Mapping[Constraint, str], files: Files) -> Findings:
        """These findings on `files`, and the others as far as they still count."""
        left = {one: entry for one, entry in self._found.items() if self.against(one, files) is not None}
        return Findings(left | {one: ({name: files[name] for name in one.tables}, words) for one, words in found.items()})

    def write(self, folder: Path) -> None:
        """Whole or not at all. Raises OSError."""
        entries = [{**one._asdict(), "files": files, "against": words} for one, (files, words) in sorted(self._found.items())]
        target = findings_file(folder)
        target.parent.mkdir(exist_ok=True)
        replace_file(target, json.dumps({"version": _VERSION, "found": entries}, indent=1) + "\n")


def read_findings(folder: Path) -> Findings:
    """Of a dataset's folder; none if it was never analyzed. Raises CatalogError when damaged."""
    if not findings_file(folder).exists():
        return Findings({})
    try:
        content = json.loads(findings_file(folder).read_text(encoding="utf-8"))
        entries = content["found"] if content["version"] == _VERSION else []
        return Findings({_constraint(entry): (dict(entry["files"]), str(entry["against"])) for entry in entries})
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CatalogError(f"cannot read {findings_file(folder)}\ndelete it: planscope data analyze makes it again") from error


def _constraint(entry: Mapping[str, object]) -> Constraint:
    columns, referenced = entry["columns"], entry["referenced"]
    if not isinstance(columns, list) or not isinstance(referenced, list):
        raise TypeError("columns are not listed")
    return Constraint(str(entry["table"]), tuple(columns), str(entry["target"]), tuple(referenced))


def findings_file(folder: Path) -> Path:
    return folder / METADATA_FOLDER / "constraints.json"
