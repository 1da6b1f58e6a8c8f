"""Imports run one way. Every import of the product's folders is compared with the tables below."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import networkx
import pytest

ROOT = Path(__file__).parent.parent.parent

# room (or one module of it) -> rooms of `optimizer` it may import besides itself, each listed before it
OPTIMIZER = {
    "errors": "",
    "plugin_code": "errors",
    "toml_places": "",
    "settings": "errors toml_places",
    "presets": "errors",
    "algebra": "errors settings",
    "catalog": "errors settings algebra",
    "sql": "errors settings algebra catalog",
    "dataset": "errors catalog sql",
    "trace": "errors settings algebra",
    "stats": "errors plugin_code settings algebra catalog",
    "cost": "errors plugin_code settings algebra catalog stats",
    "rules.interface": "errors settings algebra",  # what a rule is, without any rule
    "memo": "errors settings algebra catalog stats cost trace rules.interface",
    "joins": "errors settings algebra catalog stats cost trace rules.interface memo",
    "rules": "errors settings algebra catalog stats cost trace rules.interface memo joins",
    "engines": "errors settings algebra catalog stats cost rules",
    "prepass": "errors plugin_code settings algebra catalog trace stats rules",
    "decorrelate": "errors settings algebra catalog trace stats rules prepass",
    "plugins": "errors plugin_code settings algebra catalog stats cost joins rules engines prepass decorrelate",
    "figures": "errors plugin_code algebra stats cost memo joins engines",
    "search": "errors plugin_code settings algebra catalog stats cost trace memo joins rules engines figures",
    "search_stats": "algebra memo search",
    "iterative": "errors settings algebra memo joins rules figures search",
    "drivers": "cost trace memo rules search iterative",
    "plan_space": "errors settings algebra memo rules search",
    "audit": "errors settings algebra memo trace plan_space search",
    "stage_events": "algebra memo trace prepass search",
    "stages": "algebra rules prepass decorrelate",
    "collector": "",
    "pipeline": "errors plugin_code settings algebra catalog sql trace stats cost memo joins rules engines decorrelate prepass"
    " figures search search_stats drivers plugins stages stage_events collector",
    "explanation": "errors settings algebra catalog stats cost trace memo joins rules figures plan_space search audit pipeline",
}

# folder, or one file of it -> what it may import of the product besides its own folder
FOLDERS = {
    "executor": "optimizer.algebra optimizer.errors optimizer.plugin_code",
    "executor/session.py": "optimizer memo_viz experiments.workloads",  # the front door from Python, and what it hands out:
    "executor/execution.py": "optimizer memo_viz",
    "executor/explanation.py": "optimizer memo_viz",
    "executor/pictures.py": "optimizer memo_viz",
    "executor/what_if.py": "optimizer memo_viz",
    "executor/counting/of_catalog.py": "optimizer experiments.workloads",
    "executor/registered.py": "optimizer",
    "executor/spark/placing.py": "optimizer.algebra optimizer.catalog optimizer.cost optimizer.errors",
    "executor/spark/engine.py": "optimizer.algebra optimizer.cost optimizer.errors",
    "memo_viz": "optimizer.algebra optimizer.errors optimizer.plugin_code optimizer.trace",
    "experiments": "optimizer executor memo_viz",
    "planscope": "optimizer executor memo_viz experiments",  # names only; nothing imports it
}

# third-party package -> where alone it may be imported
ONLY_IN = {
    "sqlglot": ("optimizer/sql/",),
    "pyspark": ("executor/spark/", "experiments/pipeline/"),
    "matplotlib": ("experiments/bench/figures.py", "experiments/diagram_file.py", "experiments/pipeline/report/figures.py"),
    "duckdb": (
        "tests/", "experiments/pipeline/generate/tpcds.py", "experiments/duckdb_sql.py", "experiments/engines.py",
        "experiments/duckdb_estimates.py", "experiments/workloads/tpcds_queries.py",
    ),
}  # fmt: skip

PRODUCT = ("optimizer", "executor", "memo_viz", "experiments", "planscope")


class Import(NamedTuple):
    """`module` as imported: `optimizer.algebra.columns`; an imported name is part of it where it may be a module."""

    file: str
    line: int
    module: str


def imports_of(source: str, file: str) -> Iterator[Import]:
    """Every import statement, also inside functions and TYPE_CHECKING blocks; relative ones made absolute."""
    package = file.removesuffix(".py").split("/")[:-1]
    for node in ast.walk(ast.parse(source, filename=file)):
        if isinstance(node, ast.Import):
            yield from (Import(file, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module in PRODUCT:  # `from optimizer import sql` may name a room
                yield from (Import(file, node.lineno, f"{module}.{alias.name}") for alias in node.names)
            else:
                yield Import(file, node.lineno, module)


def complaint(one: Import) -> str | None:
    """Why the import is not allowed, as `file:line: …`; None when it is."""
    top = one.module.split(".")[0]
    here = one.file.split("/")[0]
    if top in ONLY_IN and not one.file.startswith(ONLY_IN[top]):
        return f"{one.file}:{one.line}: imports {top}, which only {' and '.join(ONLY_IN[top])} may"
    if top not in PRODUCT:
        return None
    if here == "optimizer" == top:
        return _within_optimizer(one)
    allowed = FOLDERS.get(one.file, FOLDERS.get(here, "")).split()
    if top == here or any(one.module == name or one.module.startswith(f"{name}.") for name in allowed):
        return None
    return f"{one.file}:{one.line}: {here} may not import {one.module}"


def _within_optimizer(one: Import) -> str | None:
    here, there = _room(one.file.removesuffix(".py").split("/")[1:]), _room(one.module.split(".")[1:])
    if here == "__init__":
        return None
    if here not in OPTIMIZER:
        return f"{one.file}:{one.line}: optimizer has a new room {here}; say in test_imports.py what it may import"
    if any(there == room or there.startswith(f"{room}.") for room in [here, *OPTIMIZER[here].split()]):
        return None
    return f"{one.file}:{one.line}: optimizer.{here} may not import {one.module}"


def _room(path: list[str]) -> str:
    """The entry of OPTIMIZER that a module path below `optimizer` belongs to: `rules.interface` before `rules`."""
    module = ".".join(path[:2])
    return module if module in OPTIMIZER else ".".join(path[:1])


def test_no_import_points_back() -> None:
    files = sorted(path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py"))
    found = [one for path in files for one in imports_of(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())]
    complaints = [text for one in found if not one.file.startswith("tests/") and (text := complaint(one))]
    assert len(found) > 100, "the folders were not found"
    assert not complaints, "imports that point back:\n" + "\n".join(complaints)


def test_no_files_of_the_search_import_each_other_in_a_circle() -> None:
    """Files and not only rooms, and also what only type checkers see."""
    rooms = ("memo", "search", "audit", "plan_space", "joins", "trace", "cost", "engines")
    files = {path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"): path
             for room in rooms for path in (ROOT / "optimizer" / room).rglob("*.py")}  # fmt: skip
    graph = networkx.DiGraph()
    for name, path in files.items():
        for one in imports_of(path.read_text("utf-8"), path.relative_to(ROOT).as_posix()):
            if one.module in files and one.module != name:
                graph.add_edge(name, one.module)
    circles = [sorted(part) for part in networkx.strongly_connected_components(graph) if len(part) > 1]
    assert graph.number_of_edges() > 100
    assert not circles


def test_the_table_has_no_cycle() -> None:
    earlier: set[str] = set()
    for room, allowed in OPTIMIZER.items():
        assert set(allowed.split()) <= earlier, f"{room} may import {set(allowed.split()) - earlier}, listed after it"
        earlier.add(room)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("optimizer/algebra/a.py", "def f():\n    import optimizer.memo.group"),
        ("optimizer/algebra/a.py", "from optimizer import memo"),
        ("optimizer/algebra/a.py", "from ..memo import group"),
        ("optimizer/rules/interface.py", "from optimizer.rules.catalog import RULES"),
        ("memo_viz/a.py", "from optimizer.memo.group import Group"),
        ("experiments/cli.py", "import duckdb"),
    ],
)
def test_what_points_back_is_found(file: str, source: str) -> None:
    """That nothing else is refused is shown by the imports of the product."""
    (one,) = imports_of(source, file)
    assert complaint(one)
