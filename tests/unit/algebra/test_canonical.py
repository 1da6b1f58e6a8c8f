"""Texts of trees: one for all ways of writing the same rows, another wherever the number of rows may differ."""

from __future__ import annotations

import itertools

import pytest

from optimizer.algebra.canonical import CanonicalTexts, digest
from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.predicates import combined
from optimizer.algebra.trees import Tree
from optimizer.catalog.table import Catalog
from optimizer.pipeline import Optimizer
from optimizer.settings import Settings

SAME = {
    "aliases": (
        "select * from orders o join customer c on c_custkey = o_custkey where o_totalprice > 10",
        "select * from customer x join orders y on o_custkey = c_custkey where 10 < o_totalprice",
    ),
    "order of joins": (
        "select * from orders, lineitem, customer where o_orderkey = l_orderkey and c_custkey = o_custkey",
        "select * from customer join (orders join lineitem on l_orderkey = o_orderkey) on o_custkey = c_custkey",
    ),
    "a table joined with itself": (
        "select * from nation a, nation b, nation c where a.n_regionkey = b.n_nationkey and b.n_regionkey = c.n_nationkey",
        "select * from nation c, nation a, nation b where b.n_regionkey = c.n_nationkey and a.n_regionkey = b.n_nationkey",
    ),
    "columns that are computed": ("select n_name || 'x', n_nationkey + 1 from nation", "select * from nation"),
    "windows": ("select row_number() over (order by n_name) from nation", "select * from nation"),
    "order of keys": (
        "select n_name, n_regionkey from nation group by n_name, n_regionkey",
        "select count(*) from nation group by n_regionkey, n_name",
    ),
}

FEW, MANY = (f"select * from nation where n_nationkey < {n}" for n in (3, 9))

DIFFERENT = {
    "a filter": ("select * from nation where n_nationkey = 1", "select * from nation where n_nationkey = 2"),
    "the type of a literal": ("select * from orders where o_totalprice > 1", "select * from orders where o_totalprice > 1.5"),
    "a kind of join": (
        "select * from nation left join region on n_regionkey = r_regionkey and r_name > 'B'",
        "select * from nation join region on n_regionkey = r_regionkey and r_name > 'B'",
    ),
    "the sides of a join": (
        f"select * from ({FEW}) a left join ({MANY}) b on a.n_name = b.n_name",
        f"select * from ({MANY}) a left join ({FEW}) b on a.n_name = b.n_name",
    ),
    "columns equated": (
        "select * from nation a, nation b where a.n_nationkey = b.n_regionkey and a.n_name = b.n_name",
        "select * from nation a, nation b where a.n_nationkey = b.n_regionkey and a.n_name = b.n_comment",
    ),
    "keys": ("select n_name from nation group by n_name", "select n_comment from nation group by n_comment"),
    "a filter on groups": (
        "select n_regionkey from nation group by n_regionkey having min(n_nationkey) > 3",
        "select n_regionkey from nation group by n_regionkey having max(n_nationkey) > 3",
    ),
    "a filter on a window": (
        "select * from (select *, rank() over (order by n_name) r from nation) where r < 3",
        "select * from (select *, rank() over (partition by n_regionkey order by n_name) r from nation) where r < 3",
    ),
    "set operations": (
        "select n_name from nation union select r_name from region",
        "select n_name from nation intersect select r_name from region",
    ),
    "ALL": (
        "select n_name from nation union select r_name from region",
        "select n_name from nation union all select r_name from region",
    ),
    "limits": ("select * from nation limit 3", "select * from nation limit 4"),
    "who reads which outer column": (
        "select * from nation a, lateral (select * from region where r_regionkey < a.n_regionkey)",
        "select * from nation a, lateral (select * from region where r_regionkey < a.n_nationkey)",
    ),
}


def text(catalog: Catalog, sql: str) -> str:
    return CanonicalTexts()(Optimizer(catalog, Settings(decorrelate="none")).optimize(sql).stages[-1].tree)


@pytest.mark.parametrize("case", SAME)
def test_the_same_rows_have_one_text(tpch: Catalog, case: str) -> None:
    one, other = (text(tpch, sql) for sql in SAME[case])
    assert one == other


@pytest.mark.parametrize("case", DIFFERENT)
def test_other_rows_have_another_text(tpch: Catalog, case: str) -> None:
    one, other = (text(tpch, sql) for sql in DIFFERENT[case])
    assert one != other


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
