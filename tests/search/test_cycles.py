"""Rules may make groups that are inputs of one another."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from optimizer.algebra.kinds import SetOpKind
from optimizer.algebra.logical import Filter, Project, ProjectItem, SetOp, Values
from optimizer.algebra.predicates import compare
from optimizer.algebra.scalars import ColumnRef, Literal
from optimizer.algebra.trees import Tree
from optimizer.algebra.types import INT64
from optimizer.cost.arrow import ArrowCost
from optimizer.drivers import new_search
from optimizer.figures import Figures
from optimizer.memo.goal import Status
from optimizer.memo.memo import Memo
from optimizer.plan_space.of_search import full_space
from optimizer.rules.catalog import IMPLEMENTATIONS, TRANSFORMATIONS, rule_set
from optimizer.rules.interface import ANY, RuleContext, TransformationRule, node
from planscope import Estimator, Session, Settings
from tests.search.graphs import graph_query


@pytest.mark.parametrize(
    "settings", [{"pruning": "none"}, {"exploration": "on_demand"}, {"exploration": "interleaved"}, {}], ids=str
)
@pytest.mark.parametrize("has_filters", [True, False])
def test_no_more_is_proved_than_is_true(settings: dict[str, Any], has_filters: bool) -> None:
    """σ(R) = π(π'(σ(R))), and π'(σ(R)) is stored: its group is asked for first, and σ(R) while that is open."""
    query = graph_query("chain", 1, 3)
    (scan,) = query.scans
    first = ColumnRef(scan.columns[0].id, INT64)
    more, out = (query.columns.new(name, INT64, False).id for name in ("more", "out"))
    narrow = Project(tuple(ProjectItem(each.id, ColumnRef(each.id, INT64)) for each in scan.columns))
    wide = Project((*narrow.items, ProjectItem(more, first)))
    row = tuple(Literal(1, INT64) for _ in wide.items)

    class Round(TransformationRule):
        name = "round"
        pattern = node(Filter, ANY)

        def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
            return (Tree(narrow, (Tree(wide, (bound,)),)),)

    class Stored(TransformationRule):
        name = "stored"
        pattern = node(Project, ANY)

        def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
            columns = tuple(item.id for item in wide.items)
            return (Tree(Values(columns, (INT64,) * len(row), (row,))),) if bound.op == wide else ()

    filtered = Tree(Filter((compare("<", first, Literal(5, INT64)),)), (Tree(scan),))
    both = SetOp(SetOpKind.UNION, True, (out,), ((first.id,), (first.id,)))
    chosen = Settings(budget_tasks=0, **settings)
    implemented = [rule for rule in IMPLEMENTATIONS if has_filters or not issubclass(Filter, rule.pattern.op or Filter)]
    rules = rule_set(chosen, (*TRANSFORMATIONS, Round(), Stored()), implemented)
    memo = Memo(Figures(Estimator(query.catalog, query.columns), ArrowCost()), None, query.columns.label)
    search = new_search(memo, rules, RuleContext(query.columns, chosen), ArrowCost(), None)
    goal = search.run(Tree(both, (Tree(wide, (filtered,)), filtered)))
    cheapest = full_space(search).best_cost
    assert goal.lower <= cheapest * (1 + 1e-9) and goal.best_cost >= cheapest * (1 - 1e-9)
    assert goal.best_cost == pytest.approx(cheapest) or goal.status is Status.BOUNDED


SEMI_REDUCE = """
from planscope import TransformationRule, node
from planscope.algebra import Join, JoinKind, Scan, Tree
from planscope.plugin import rule

@rule
class SemiReduce(TransformationRule):
    name = "semi_reduce"
    pattern = node(Join, node(Scan), node(Scan))

    def apply(self, bound, context):
        match bound:
            case Tree(Join(JoinKind.INNER, predicate) as op, (left, right)) if predicate:
                return (Tree(op, (Tree(Join(JoinKind.SEMI, predicate), (left, right)), right)),)
        return ()
"""


def test_what_is_not_proven_for_cycles_says_so(tmp_path: Path) -> None:
    """It was said that a gap or epsilon had ended the search."""
    (tmp_path / "semi.py").write_text(SEMI_REDUCE)
    settings = {"pruning": "none", "disable": ["join_exchange_semi"]}
    search = Session("joingraph", settings, plugins=tmp_path / "semi.py").optimize("chain/4").search
    assert not search.proven and search.heuristic == "rules made groups inputs of themselves"
