"""The default program on real queries: it reaches its fixpoint, in every order, and quickly; a filter above many joins takes one
firing."""

from collections.abc import Iterator
from functools import reduce
from itertools import pairwise

import pytest

from experiments.workloads.data import open_data
from experiments.workloads.queries import built_in_queries, resolve_sql
from optimizer.algebra import ColumnRef, Filter, Literal, Tree, compare, conjunction
from optimizer.algebra.printing import show_tree
from optimizer.catalog.table import Catalog
from optimizer.decorrelate.methods import decorrelate
from optimizer.decorrelate.removal import remove_subqueries
from optimizer.prepass.hep import Batch, run_program
from optimizer.prepass.instructions import MatchOrder
from optimizer.prepass.program import PROGRAM
from optimizer.prepass.rules.filter_push_join import filter_push_join
from optimizer.rules.interface import RuleContext
from optimizer.settings import DEFAULTS
from optimizer.sql.bind import bind
from optimizer.stages import required_only
from planscope import Session
from tests.unit.prepass.small_trees import BIG, columns_of, cross, notes, run, scan

TPCH = [f"tpch/q{i:02d}" for i in range(1, 23)]
JOB = [query.name for query in built_in_queries() if query.name.startswith("job/")]


@pytest.fixture(scope="module")
def job() -> Catalog:
    return open_data("job")


def before_prepass(sql: str, catalog: Catalog) -> tuple[Tree, RuleContext]:
    bound = bind(sql, catalog)
    context = RuleContext(bound.columns, DEFAULTS)
    tree, _ = remove_subqueries(bound.tree, bound.columns)
    return required_only(bound, decorrelate(tree, DEFAULTS.decorrelate, context).tree), context


def cases(tpch: Catalog, job: Catalog) -> Iterator[tuple[str, str, Catalog]]:
    for name in TPCH:
        yield name, resolve_sql(name), tpch
    for name in JOB:
        yield name, resolve_sql(name), job


def test_the_program_reaches_its_fixpoint(tpch: Catalog, job: Catalog) -> None:
    """In few passes, and with nothing left to do: running it again on its result fires nothing."""
    count = 0
    for name, sql, catalog in cases(tpch, job):
        tree, context = before_prepass(sql, catalog)
        done = run_program(PROGRAM, tree, context)
        assert done.converged and not notes(done), (name, notes(done))
        assert all(batch.passes <= 8 for batch in done.batches), (name, done.batches)
        again = run_program(PROGRAM, done.tree, context)
        assert [firing.rule for firing in again.firings] == [], name
        count += 1
    assert count == 22 + 113


@pytest.mark.parametrize(
    "sql",
    [
        "select x from (select false as f from a) v join b on v.f = b.t",
        "select x from (select true as f from a) v, b where v.f = b.t",
        "select x from a where x in (select a.x from b union select z from b) and x > 1",
        "select x from a where x in (select a.x from b union all select z from b) and x = x",
    ],
)
def test_what_was_inferred_is_known_again_when_it_was_rewritten(sql: str) -> None:
    """b.t = FALSE is NOT b.t then, and x = x is x IS NOT NULL."""
    tables = {"a": {"x": [1, 2, None]}, "b": {"x": [1, None, 3], "z": [1, None, 3], "t": [True, False, None]}}
    assert Session(tables).optimize(sql).search.prepass_converged


@pytest.mark.few(2)
@pytest.mark.parametrize("order", list(MatchOrder))
def test_it_does_in_every_order(order: MatchOrder, tpch: Catalog, job: Catalog) -> None:
    program = tuple(batch._replace(order=order) for batch in PROGRAM)
    for name, sql, catalog in list(cases(tpch, job))[:: 2 if order is MatchOrder.BOTTOM_UP else 6]:
        done = run_program(program, *before_prepass(sql, catalog))
        assert done.converged, (order, name, notes(done))


def test_one_firing_at_a_time_gets_there_too(tpch: Catalog) -> None:
    program = tuple(batch._replace(one_firing=True, fixpoint=True) for batch in PROGRAM)
    for name in TPCH:
        done = run_program(program, *before_prepass(resolve_sql(name), tpch))
        assert done.converged, (name, notes(done))
        for batch in done.batches:
            assert batch.stop - batch.start <= batch.passes * len(next(b for b in PROGRAM if b.name == batch.batch).rules)


def test_a_filter_goes_through_all_joins_at_once() -> None:
    """One firing for a region of 600 relations: local conjuncts reach their scans, the others the lowest join."""
    columns, tree = columns_of(600), reduce(cross, map(scan, range(600)))
    refs = [ColumnRef(i, BIG) for i in range(600)]
    local = [compare(">", ref, Literal(7, BIG)) for ref in refs[::3]]
    links = [compare("=", a, b) for a, b in pairwise(refs)]
    result = run(Tree(Filter(conjunction([*local, *links])), (tree,)), Batch("all", (filter_push_join,)), columns=columns)
    assert [firing.rule for firing in result.firings] == ["filter_push_join"]
    text = show_tree(result.tree, columns)
    assert text.count("filter") == 200 and text.count("inner on") == 599 and "cross" not in text
