"""The TOML file of a pipeline: a table for each stage that is wanted.

Stages run in the order generate, import, analyze, sweep, report, whatever the order of their tables.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.pipeline.generate.kinds import KINDS
from experiments.pipeline.stages.stages import ORDER, Analyze, Generate, Import, MakeReport, Stage, Sweep
from experiments.pipeline.sweep.fields import FIELDS, read_words
from experiments.pipeline.sweep.problems import Problems, SpecError, suggestion
from optimizer.toml_places import Places


@dataclass(frozen=True)
class Pipeline:
    """`stages` in the order in which they run. `file`: where they were read from, absolute; `places` of its tables."""

    file: Path
    stages: tuple[Stage, ...]
    places: Places


def read_pipeline(file: Path) -> Pipeline:
    """Raises SpecError, which names every mistake in the file."""
    try:
        text = file.read_text(encoding="utf-8-sig")
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
    return Pipeline(file.absolute(), stages, problems.places)


def _stages(tables: dict[str, Any], base: Path, problems: Problems) -> tuple[Stage, ...]:
    words = {name: read_words(tables[name], name, problems) for name in FIELDS if name in tables and name != "sweep"}
    found: list[Stage] = []
    made: dict[str, str] = {}  # workload ("*": any) -> folder of the dataset that is made
    if (said := words.get("generate")) is not None:
        found.append(generate := Generate("generate", said, base))
        if said["kind"] not in KINDS:
            problems.add(f'there is no kind of dataset "{said["kind"]}"; there are {", ".join(KINDS)}', "generate", "kind")
        made = dict.fromkeys(generate.workloads, generate.into)
    if (said := words.get("import")) is not None:
        found.append(imported := Import("import", said, base))
        if imported.into in made.values():
            problems.add(
                f'[generate] and [import] both make the folder {imported.into}: give one of them into = "…"', "import", "into"
            )
        made["*"] = imported.into
    if (said := words.get("analyze")) is not None:
        found.append(Analyze("analyze", said, base, tuple(dict.fromkeys(made.values()))))
        if "data" not in said and not made:
            problems.add('nothing to analyze: write data = "FOLDER", or add [generate] or [import]', "analyze")
    if "sweep" in tables:
        from experiments.pipeline.sweep.spec import SweepSpec

        if (spec := SweepSpec.from_table(tables["sweep"], base, problems)) is not None:
            baseline = (words.get("report") or {}).get("baseline")
            found.append(Sweep("sweep", tables["sweep"], base, spec, made, baseline))
    if (said := words.get("report")) is not None:
        found.append(MakeReport("report", said, base))
    return tuple(found)
