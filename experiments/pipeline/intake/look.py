"""What a file holds, as far as its table's columns depend on it: the task that runs before any conversion.

    in   {"path", "format", "options", "names", "declared"}
    out  {"columns": [{"name", "seen", "kinds"}], "schema", "trouble"}

`declared`: lower-case names of columns whose types are declared, so that their values need no look. `seen` (`Inference.as_json`)
and `kinds` (of JSON values) are there for texts only, `schema` for files whose columns have types.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.pipeline.intake.csv_records import CsvFile
from experiments.pipeline.intake.inference import Inference
from experiments.pipeline.intake.json_records import JsonFile
from experiments.pipeline.intake.target import schema_text
from experiments.pipeline.intake.typed_records import TypedFile
from experiments.pipeline.spark.errors import PipelineError


def look(task: dict[str, Any]) -> dict[str, Any]:
    """`trouble`: why the file cannot be read, so that it is put aside, or one answer can name all such files."""
    try:
        return {"trouble": None, **_look(task)}
    except PipelineError as error:
        return {"trouble": str(error), "columns": [], "schema": None}


def _look(task: dict[str, Any]) -> dict[str, Any]:
    path, format, declared = Path(task["path"]), task["format"], task["declared"]
    if format == "csv":
        return {"columns": _csv_columns(CsvFile(path, task["options"], task["names"]), declared), "schema": None}
    if format == "json":
        return {"columns": _json_columns(JsonFile(path, task["options"]), declared), "schema": None}
    file = TypedFile(path, format)
    return {"columns": [{"name": name} for name in file.schema.names], "schema": schema_text(file.schema.remove_metadata())}


def _csv_columns(file: CsvFile, declared: list[str]) -> list[dict[str, Any]]:
    seen = {name: Inference() for name in file.names if name.lower() not in declared}
    if seen and len(set(file.names)) == len(file.names):
        for records in file.records():
            for name, inference in seen.items():
                inference.see(records.columns[name])
    return [{"name": name, "seen": seen[name].as_json() if name in seen else None} for name in file.names]


def _json_columns(file: JsonFile, declared: list[str]) -> list[dict[str, Any]]:
    """All of the file is read in any case: which keys there are shows at its end."""
    seen: dict[str, Inference] = {}
    for records in file.records():
        for name, texts in records.columns.items():
            if name.lower() not in declared:
                seen.setdefault(name, Inference()).see(texts)
    return [
        {"name": name, "seen": seen[name].as_json() if name in seen else None, "kinds": sorted(kinds)}
        for name, kinds in file.kinds.items()
    ]
