"""Texts of trees: one for all ways of writing the same rows, another wherever the number of rows may differ."""

import itertools
from pathlib import Path

import pytest

from optimizer.algebra import Join, JoinKind, Tree, combined
from optimizer.algebra.canonical import CanonicalTexts, digest
from optimizer.algebra.join_graph import JoinGraph
from optimizer.catalog.table import Catalog
from planscope import Optimizer, Settings
from tests.cases import Case, params, read


def text(catalog: Catalog, sql: str) -> str:
    return CanonicalTexts()(Optimizer(catalog, Settings(decorrelate="none")).optimize(sql).stages[-1].tree)


@pytest.mark.parametrize("case", params(read(Path(__file__).parent / "canonical.cases")))
def test_the_same_rows_have_one_text_and_others_another(tpch: Catalog, case: Case) -> None:
    (same, other), *_ = case.marks.items()
    assert (text(tpch, case.sql) == text(tpch, other)) == (same == "=")


def test_all_orders_of_the_inputs_have_one_text(tpch: Catalog) -> None:
    """A chain of one table with itself: only the conjuncts tell its inputs apart."""
    sql = (
        "select * from nation a, nation b, nation c, nation d where a.n_regionkey = b.n_nationkey "
        "and b.n_regionkey = c.n_nationkey and c.n_regionkey = d.n_nationkey"
    )
    tree = Optimizer(tpch, Settings(prepass=False)).optimize(sql).stages[-1].tree
    predicate = next(s for s in walk(tree) if s.op.name == "filter").op.scalars()
    scans = [node for node in walk(tree) if node.op.name == "scan"]
    texts = CanonicalTexts()
    found = {texts(Tree(JoinGraph(combined(predicate)), tuple(each))) for each in itertools.permutations(scans)}
    assert len(found) == 1


def test_deep_trees_and_long_names(tpch: Catalog) -> None:
    """No recursion, and names that do not grow with the depth."""
    tree = Optimizer(tpch).optimize("select * from nation").stages[-1].tree
    left, right = tree, Optimizer(tpch).optimize("select * from region, nation").stages[-1].tree
    for _ in range(3000):
        left = Tree(Join(JoinKind.SEMI, ()), (left, right))
    assert len(digest(CanonicalTexts()(left))) == 32


def walk(tree: Tree) -> list[Tree]:
    found, stack = [], [tree]
    while stack:
        node = stack.pop()
        found.append(node)
        stack += [child for child in node.inputs if isinstance(child, Tree)]
    return found
