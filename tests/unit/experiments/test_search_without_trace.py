"""The copy of the search without its trace code: nothing of that is left, and it finds the same plans."""

from __future__ import annotations

import ast
import re
import sys
import textwrap

import pytest

from experiments.search_bench.overhead import search
from experiments.search_bench.settings import SEARCHES
from experiments.search_bench.stages import prepare
from experiments.search_bench.without_trace import copy_of_the_search, silent_methods, sources, without_trace
from experiments.workloads.job_data import job_catalog
from optimizer.settings import Settings


@pytest.fixture(scope="module")
def copy():
    return copy_of_the_search("search_without_trace_tested", traced=False)


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        ("clique/6", SEARCHES["exhaustive"]),
        ("star/7", SEARCHES["default"]),
        ("cycle/6", Settings(enumeration="partition", pruning="none", seed="none")),
        ("chain/6", SEARCHES["rules"]),
        ("star/5", Settings(driver="iterative", enumeration="rules")),
        ("chain/4", Settings(exploration="on_demand")),
        ("clique/10", Settings(budget_tasks=30)),
        ("job/1a", SEARCHES["default"]),
        ("job/3c", SEARCHES["default"]),
    ],
)
def test_same_cost(copy, query, settings):
    catalog = job_catalog() if query.startswith("job/") else None
    _, goal = prepare(query, settings, catalog).search()
    assert search(copy, prepare(query, settings, catalog)) == goal.best_cost


def test_nothing_of_the_trace_is_left(copy):
    silent = silent_methods()
    assert silent >= {"emit_best", "emit_close"}
    emits = 0
    for name, source in sources().items():
        emits += source.count(".emit(")
        left = without_trace(ast.parse(source), silent)
        for node in ast.walk(left):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert node.func.attr not in silent | {"emit"}, f"{name}: {ast.unparse(node)}"
            if isinstance(node, ast.If | ast.IfExp):
                asks = ast.unparse(node.test)
                assert not re.search(r"\btrace is\b|(^|not |\.|and |or )keep($| and| or)", asks), f"{name}: if {asks}"
    assert emits > 30


def test_the_copy_is_a_copy_all_the_way_down(copy):
    made = prepare("chain/4", SEARCHES["rules"])
    memo = copy.module("memo.memo").Memo(copy.module("search.figures").Figures(None, None))
    assert type(memo).__module__ == "search_without_trace_tested.memo.memo"
    assert copy.module("search.search").Search is not type(made.engine(memo))
    assert copy.module("search.search").Memo is copy.module("memo.memo").Memo


def test_loading_leaves_no_module_behind(copy):
    assert not [name for name in sys.modules if name.startswith("search_without_trace_tested")]
    assert not [finder for finder in sys.meta_path if type(finder).__name__ == "_CopyFinder"]


BEFORE = """
def f(self, goal, search):
    '''Docstring.'''
    trace, old = search.trace, goal.cost
    made = len(goal.parts)
    kept = search.goal(goal)
    total = 0
    if trace is None:
        self.run()
    else:
        trace.task = 1
        self.run()
    if a:
        b()
    elif search.keep:
        c()
    if search.trace is not None and made > 3:
        trace.emit("x", old=old)
    while total < 3:
        total += 1
        if not search.keep and a:
            b()
        if self.trace is not None:
            c()
    for x in y:
        if trace is not None or self.keep:
            c()
    self.told(kept)

def told(self, goal):
    if self.trace is not None:
        self.trace.emit("told")
"""

AFTER = """
def f(self, goal, search):
    '''Docstring.'''
    kept = search.goal(goal)
    total = 0
    self.run()
    if a:
        b()
    while total < 3:
        total += 1
        if a:
            b()
    for x in y:
        pass

def told(self, goal):
    pass
"""


def test_what_goes_and_what_stays():
    stripped = ast.unparse(without_trace(ast.parse(BEFORE), frozenset({"told"})))
    assert stripped == ast.unparse(ast.parse(textwrap.dedent(AFTER)))
