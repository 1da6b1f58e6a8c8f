"""Raw parts on the way to final ones: where they lie, and what is told of them in the end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.pipeline.intake.finish import source_row
from experiments.pipeline.intake.keys import RawTable
from experiments.pipeline.intake.resolve import Resolved
from experiments.pipeline.intake.schema_file import Declared


@dataclass(frozen=True, slots=True)
class Raw:
    """Raw parts of one table: what `convert` said of each, and the file each came from, whose rows are `numbered` or not."""

    table: RawTable
    results: list[dict[str, Any]]
    files: list[str]
    numbered: bool

    def checksums(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Size and checksum of each file, as it was when it was read; none where Spark read the source."""
        if self.numbered:
            yield from ((file, result["source"]) for file, result in zip(self.files, self.results, strict=True))


def raw_paths(folder: Path, number: int) -> tuple[Path, Path]:
    """Where the raw part and the rejects of a file lie."""
    return folder / f"part-{number:05d}.parquet", folder / f"rejects-{number:05d}.parquet"


def part_name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def rejects_of(raw_part: Path) -> Path:
    return raw_part.with_name(raw_part.name.replace("part-", "rejects-"))


def row_text(raw: Raw, part: int, place: int) -> str:
    """The row at a place of a raw part, for people."""
    row = f"row {source_row(rejects_of(raw.table.parts[part]), place):,} of " if raw.numbered else "one from "
    return row + raw.files[part]


def move(source: Path, target: Path) -> None:
    """By renaming; nothing is left to do when that happened in an earlier run."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.exists() or not target.exists():
        os.replace(source, target)


def without_dangling(declared: Declared, dangling: list[dict[str, Any]]) -> Declared:
    broken = [one["key"] for one in dangling]
    kept = tuple(key for key in declared.references if key.text() not in broken)
    reasons = [f"foreign key {one['key']}: {one['rows']:,} rows refer to no row, first {one['first']}" for one in dangling]
    return replace(declared, references=kept, left_out=(*declared.left_out, *reasons))


def merged_rejects(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each reason and column over all parts, with the first row of all."""
    merged: dict[tuple[str, str | None], dict[str, Any]] = {}
    for result in results:
        for one in result["rejected"]:
            known = merged.setdefault((one["reason"], one["column"]), {**one, "rows": 0})
            known["rows"] += one["rows"]
    return list(merged.values())


def table_counts(results: Sequence[Mapping[str, Any]], resolved: Resolved, declared: Declared) -> dict[str, Any]:
    """What the manifest says of one table."""
    return {
        "read": sum(result["read"] for result in results),
        "kept": sum(result["kept"] for result in results),
        "rejected": merged_rejects(results),
        "dropped": resolved.dropped,
        "left_out": list(declared.left_out),
    }
