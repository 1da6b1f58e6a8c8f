"""What rules do to queries, word for word: each `RULE.golden` here holds cases for the rule of that name.

    ==== title: the reason
    prepass fires=RULE silent=OTHER        stage, and which rules must, or must not, fire in it
    the query
    ----
    the tree after decorrelation or the pre-pass, the memo after exploration, or the plan

Every query is also executed over tables with NULLs, duplicates and no rows: naive evaluation of the bound tree, of the tree
after the pre-pass, and the optimized plan must give the same rows; where a rewrite fires, the plan without it and DuckDB must
give them too. The files in `sql/` hold bound trees (stage `bind`) and error messages (`error`), of queries over tables without
rows. `pytest tests/golden --rewrite` writes the files anew; read the diff.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from executor.execution import reader
from optimizer.algebra import Columns, PlanNode, Scan, Tree, column_ids, postorder
from optimizer.algebra.printing import show_tree
from optimizer.algebra.query import BoundQuery
from optimizer.dataset import open_dataset
from optimizer.decorrelate.methods import METHODS
from optimizer.plan_space.expansion import expand_all
from optimizer.prepass.instructions import rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.rules.catalog import ENFORCERS, IMPLEMENTATIONS, TRANSFORMATIONS
from optimizer.sql.bind import bind
from planscope import OptimizedQuery, Optimizer, PlanscopeError, Settings
from tests.conftest import duckdb_over
from tests.golden import tables
from tests.golden.files import read_cases
from tests.reference.compare import assert_same_bag, rows_of
from tests.reference.naive import run_query
from tests.unit.sql.conftest import make_catalog

HERE = Path(__file__).parent
SEEDS = range(4)
BY_BOUNDS = ("arithmetic_within_bounds", "join_separate_sides")
REWRITING = {rule.name for rule in (*TRANSFORMATIONS, *rules_of(PROGRAM))}
REFUSED_BY_DUCKDB = ("left: also what reads the left side only, as that of a row of the right",)


class Case(NamedTuple):
    rule: str
    title: str
    stage: str
    fires: tuple[str, ...]
    silent: tuple[str, ...]
    settings: tuple[str, ...]
    sql: str
    expected: str
    header: str


def read(path: Path) -> tuple[str, list[Case]]:
    """The file's opening comment and its cases."""
    head, found = read_cases(path)
    cases = []
    for title, given, expected in found:
        header, _, sql = given.partition("\n")
        stage, *options = header.split()
        values = {"fires": [], "silent": [], "set": []}
        for option in options:
            name, _, value = option.partition("=")
            values[name].append(value)
        cases.append(Case(path.stem, title, stage, *map(tuple, values.values()), sql, expected, header))
    return head, cases


def params(files: list[Path]) -> list[object]:
    return [pytest.param(case, id=f"{case.rule}: {case.title}") for path in files for case in read(path)[1]]


FILES = sorted(HERE.glob("*.golden"))
SQL_FILES = sorted(HERE.glob("sql/*.golden"))
SQL_CATALOG = make_catalog()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    base = tmp_path_factory.mktemp("golden")
    return [tables.write(base / str(seed), seed) for seed in SEEDS]


catalog = cache(open_dataset)
duckdb_of = cache(lambda folder: duckdb_over(catalog(folder)))  # one for all cases: it takes ten milliseconds to start


def settings(case: Case) -> Settings:
    """What may raise is to raise: by their bounds, sums of these small tables would not. Where the memo is shown, joins are
    searched set by set."""
    chosen = Settings.from_pairs([*["region=tasks"] * (case.stage == "explore"), *case.settings])
    return chosen if case.rule in BY_BOUNDS else replace(chosen, disable=(*chosen.disable, BY_BOUNDS[0]))


def plan(case: Case, folder: Path) -> OptimizedQuery:
    query = Optimizer(catalog(folder), settings(case)).optimize(case.sql)
    if case.stage == "explore":
        expand_all(query.engine)  # joins of regions that were searched without expressions
    return query


def shown(case: Case, query: OptimizedQuery) -> str:
    if case.stage == "decorrelate":
        return show_tree(next(stage.tree for stage in query.stages if stage.name == "decorrelate"), query.columns)
    if case.stage == "plan":
        return show_plan(query.plan, query.columns)
    if case.stage == "prepass":
        tree = query.stages[-1].tree
        text = show_tree(tree, query.columns)
        if case.rule == "column_prune":
            scans = [node.op for node in postorder(tree) if isinstance(node, Tree) and isinstance(node.op, Scan)]
            text += "".join(f"\n{scan.alias} reads {', '.join(c.source for c in scan.columns)}" for scan in scans)
        return text
    assert case.stage == "explore", f"unknown stage {case.stage}"
    lines = []
    for group in query.memo.live_groups():
        for mexpr in group.members():
            inputs = "".join(f" G{query.memo.find(g)}" for g in mexpr.inputs)
            detail = mexpr.op.describe(query.columns.label)
            lines.append(f"G{group.id}  ({mexpr.op.name} [{detail}]{inputs})  {mexpr.rule or 'given'}")
    return "\n".join(dict.fromkeys(lines))  # a join that was costed apart may be there twice


def bound(case: Case) -> str:
    """The bound tree with outputs and order, or the error's class and message."""
    if case.stage == "error":
        with pytest.raises(PlanscopeError) as caught:
            bind(case.sql, SQL_CATALOG)
        return f"{caught.type.__name__}: {caught.value}"
    assert case.stage == "bind"
    query = bind(case.sql, SQL_CATALOG)
    label = query.columns.label
    outputs = ", ".join(o.name if query.columns[o.id].name == o.name else f"{o.name} = {label(o.id)}" for o in query.outputs)
    lines = [show_tree(query.tree, query.columns), f"out: {outputs}"]
    if query.order:
        lines.append("order: " + ", ".join(key.show(label) for key in query.order))
    return "\n".join(lines)


def show_plan(node: PlanNode, columns: Columns, first: str = "", rest: str = "") -> str:
    lines = [f"{first}{node.op.name}  {node.op.describe(columns.label)}".rstrip()]
    for i, child in enumerate(node.inputs, 1):
        last = i == len(node.inputs)
        lines.append(show_plan(child, columns, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")))
    return "\n".join(lines)


def fired_in(query: OptimizedQuery) -> set[str]:
    """Rules that fired, and enforcers that the plan uses."""
    enforced = {node.op.name for node in query.plan.walk()} & set(ENFORCERS)
    enforced |= {mexpr.rule for group in query.memo.live_groups() for mexpr in group.members() if mexpr.rule is not None}
    return {rule for stage in query.stages for rule, _, _ in stage.firings} | set(query.search.rules_fired) | enforced


@pytest.mark.parametrize("case", params(FILES))
def test_golden(case: Case, folders: list[Path]) -> None:
    """Rules fire or not, the stage is shown as it was written, and the rewritten tree and the plan give the rows of the bound
    tree."""
    query = plan(case, folders[0])
    fired = fired_in(query)
    for rule in case.fires:
        assert rule in fired, f"{rule} did not fire; these did: {sorted(fired)}"
    for rule in case.silent:
        assert rule not in fired, f"{rule} fired"
    assert shown(case, query) == case.expected
    assert_one_set_of_columns(query)
    assert_same_rows(query, tables.make(0))


@pytest.mark.parametrize("case", params(SQL_FILES))
def test_sql(case: Case) -> None:
    assert bound(case) == case.expected


@pytest.mark.few(8)
@pytest.mark.parametrize("case", params(FILES))
def test_rows_stay_whatever_is_null_repeated_or_missing(case: Case, folders: list[Path]) -> None:
    for seed in SEEDS[1:]:
        assert_same_rows(plan(case, folders[seed]), tables.make(seed))


@pytest.mark.few(4)  # one set of tables
@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize("case", [case for case in params(FILES) if case.values[0].rule in {*case.values[0].fires} & REWRITING])
def test_rows_are_duckdbs_with_the_rule_and_without_it(case: Case, seed: int, folders: list[Path]) -> None:
    chosen = settings(case)
    without = Optimizer(catalog(folders[seed]), replace(chosen, disable=(*chosen.disable, case.rule))).optimize(case.sql)
    if case.title in REFUSED_BY_DUCKDB:
        expected = run_query(without.bound, tables.make(seed))
    else:
        expected = rows_of(duckdb_of(folders[seed]).execute(case.sql).to_arrow_table())
    for query in (plan(case, folders[seed]), without):
        assert_same_bag(expected, rows_of(reader(query).read_all()))


def assert_same_rows(query: OptimizedQuery, rows: dict[str, pa.Table]) -> None:
    reference = run_query(query.bound, rows)
    assert_same_bag(reference, run_query(BoundQuery(query.stages[-1].tree, query.columns, query.outputs, query.order), rows))
    assert_same_bag(reference, rows_of(reader(query).read_all()))


def assert_one_set_of_columns(query: OptimizedQuery) -> None:
    """Every expression of a group produces the group's columns (design §13.3)."""
    for group in query.memo.live_groups():
        for mexpr in group.members():
            props = mexpr.op.derive_props([query.memo.group(g).props for g in mexpr.inputs])
            assert list(column_ids(props.columns)) == list(column_ids(group.props.columns))


def test_every_rule_has_cases() -> None:
    """One file a rule, enforcer or method of decorrelation; a case in which it fires, and for what rewrites one in which it is
    silent."""
    rewriting = REWRITING | {"spool_filter"}
    physical = {rule.name for rule in IMPLEMENTATIONS} | set(ENFORCERS)
    methods = {f"decorrelate_{method}" for method in METHODS}
    cases = {path.stem: read(path)[1] for path in FILES}
    assert set(cases) == rewriting | physical | methods
    for rule in rewriting | physical:
        assert any(rule in case.fires for case in cases[rule]), f"no case in which {rule} fires"
    for rule in rewriting:
        assert any(rule in case.silent for case in cases[rule]), f"no case in which {rule} is silent"


def test_titles_are_different() -> None:
    titles = [(path.stem, case.title) for path in FILES + SQL_FILES for case in read(path)[1]]
    assert len(set(titles)) == len(titles)


@pytest.mark.rewrites
def test_rewrite(folders: list[Path]) -> None:
    for path in FILES + SQL_FILES:
        head, cases = read(path)
        found = [(case, bound(case) if path in SQL_FILES else shown(case, plan(case, folders[0]))) for case in cases]
        path.write_text(head + "\n".join(f"==== {c.title}\n{c.header}\n{c.sql}\n----\n{text}\n" for c, text in found), "utf-8")
