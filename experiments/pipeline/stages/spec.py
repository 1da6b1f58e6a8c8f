"""The TOML file of a pipeline: a table for each stage that is wanted.

Stages run in the order generate, import, analyze, sweep, report, whatever the order of their tables.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.pipeline.stages.analyze_stage import Analyze
from experiments.pipeline.stages.generate_stage import Generate
from experiments.pipeline.stages.import_stage import Import
from experiments.pipeline.stages.report_stage import MakeReport
from experiments.pipeline.stages.stage import ORDER, Stage
from experiments.pipeline.stages.sweep_stage import Sweep
from experiments.pipeline.sweep.places import Places
from experiments.pipeline.sweep.problems import Problems, SpecError, suggestion


@dataclass(frozen=True)
class Pipeline:
    """`stages` in the order in which they run. `file`: where they were read from, absolute."""

    file: Path
    stages: tuple[Stage, ...]


def read_pipeline(file: Path) -> Pipeline:
    """Raises SpecError, which names every mistake in the file."""
    try:
        text = file.read_text(encoding="utf-8")
        tables: dict[str, Any] = tomllib.loads(text)
    except OSError as error:
        raise SpecError(f"cannot read {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{file} is not valid TOML: {error}") from error
    problems = Problems(Places(text, file.name))
    for name, value in tables.items():
        if name not in ORDER:
            problems.add(f"there is no stage {name}; {suggestion(name, ORDER)}", name)
        elif not isinstance(value, dict):
            problems.add(f"{name} is a table: write [{name}]", name)
    problems.check()
    if not tables:
        raise SpecError(f"{file} has no stage: write a table [{'], ['.join(ORDER)}]")
    stages = _stages(tables, file.absolute().parent, problems)
    problems.check()
    return Pipeline(file.absolute(), stages)


def _stages(tables: dict[str, Any], base: Path, problems: Problems) -> tuple[Stage, ...]:
    found: list[Stage | None] = []
    made: dict[str, str] = {}  # workload ("*": any) -> folder of the dataset that is made
    folders: list[str] = []
    if "generate" in tables:
        generate = Generate.from_table(tables["generate"], problems)
        found.append(generate)
        if generate is not None:
            made.update((workload, generate.into) for workload in generate.workloads())
            folders.append(generate.into)
    if "import" in tables:
        imported = Import.from_table(tables["import"], base, problems)
        found.append(imported)
        if imported is not None:
            made["*"] = imported.into
            if imported.into in folders:
                problems.add(
                    f'[generate] and [import] both make the folder {imported.into}: give one of them into = "…"', "import", "into"
                )
            folders.append(imported.into)
    if "analyze" in tables:
        found.append(Analyze.from_table(tables["analyze"], base, folders, problems))
    if "sweep" in tables:
        found.append(Sweep.from_table(tables["sweep"], base, made, problems))
    if "report" in tables:
        found.append(MakeReport.from_table(tables["report"], problems))
    return tuple(stage for stage in found if stage is not None)
