"""Long and deep texts under Python's default recursion limit (S24), and texts that would never end."""

import sys
from collections.abc import Callable, Iterator

import pytest

from optimizer.algebra import Tree, postorder
from optimizer.algebra.printing import show_tree
from optimizer.algebra.query import BoundQuery
from optimizer.errors import SqlError, Unsupported

Bind = Callable[[str], BoundQuery]


@pytest.fixture(autouse=True)
def default_recursion_limit() -> Iterator[None]:
    """Python's own limit, whatever ran before (Hypothesis raises it); binding must leave it as it found it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    changed = sys.getrecursionlimit()
    sys.setrecursionlimit(before)
    assert changed == 1000


ONE = "select a from t"
CTES = ["c0 as (select a from t)", *(f"c{i} as (select * from c{i - 1})" for i in range(1, 200))]
DEEP = {  # by the operator at the root
    "setop": [" union all ".join([ONE] * 200)],
    "aggregate": [
        " union ".join([ONE] * 200),
        "select count(*) from t t0 " + " ".join(f"join t t{i} on t{i}.a = t{i - 1}.a" for i in range(1, 200)),
    ],
    "scan": [
        *("select " + "(" * depth + "a" + ")" * depth + " from t" for depth in (60, 300)),
        f"with {', '.join(CTES)} select * from c199",
    ],
    "filter": [f"{ONE} where " + f" {word} ".join(f"a <> {i}" for i in range(2000)) for word in ("and", "or")],
}


@pytest.mark.parametrize(
    ("root", "sql"), [(root, sql) for root, texts in DEEP.items() for sql in texts], ids=lambda text: text[:40]
)
def test_long_and_deep_texts_are_bound(root: str, sql: str, bound: Bind) -> None:
    """S24: a 200-way UNION ALL is one operator with 200 inputs, so is a 200-way UNION, below one Aggregate."""
    tree = bound(sql).tree
    assert tree.op.name == root
    if "union" in sql:
        assert len((tree if root == "setop" else tree.inputs[0]).inputs) == 200


def test_alternating_set_operations(bound: Bind) -> None:
    words = ("union all", "union", "except", "intersect")
    text = " ".join(f"select a from t {words[i % 4]}" for i in range(200)) + " select a from t"
    assert sum(1 for node in postorder(bound(text).tree) if isinstance(node, Tree) and node.op.name == "scan") == 201


@pytest.mark.parametrize("depth", [60, 300])
def test_nested_derived_tables(depth: int, bound: Bind) -> None:
    """S24: 60 deep without further ado, 300 deep on a bigger stack."""
    query = bound("select * from (" * depth + "select a from t" + ") q" * depth)
    assert [o.name for o in query.outputs] == ["a"] and query.tree.op.name == "scan"


def test_nested_limits_keep_their_operators(bound: Bind) -> None:
    query = bound("select * from (" * 60 + "select a from t" + " order by a limit 5) q" * 60)
    assert show_tree(query.tree, query.columns).count("limit") == 60


@pytest.mark.parametrize("text", ["select {} from t", "select a from t where {} > 1", "select sum({}) from t order by {}"])
def test_operators_too_deep_say_so(text: str, bound: Bind) -> None:
    with pytest.raises(SqlError, match="nested more than 150 levels deep"):
        bound(text.replace("{}", " + ".join(["a"] * 500)))


def test_100_operators_are_not_too_deep(bound: Bind) -> None:
    chain, nest = " || ".join(["s"] * 100), "case when bo then " * 50 + "1" + " end" * 50
    query = bound(f"select {chain} as x, {nest} as y from t")
    assert show_tree(query.tree, query.columns)


def test_ctes_that_double_are_bound_once(bound: Bind) -> None:
    """40 levels of a CTE that names the one before twice would be 2^40 tables."""
    ctes = ["c0 as (select a from t)", *(f"c{i} as (select x.a from c{i - 1} x, c{i - 1} y)" for i in range(1, 41))]
    assert len(bound(f"with {', '.join(ctes)} select * from c40").columns) < 200


@pytest.mark.parametrize(
    "text", ["(" * 5000, "select " + "(" * 5000 + "1" + ")" * 5000, "select " + "not " * 20000 + "bo from t"]
)
def test_what_no_stack_holds(text: str, bound: Bind) -> None:
    with pytest.raises(SqlError):
        bound(text)


@pytest.mark.parametrize("depth", [60, 120])
def test_nested_subqueries(depth: int, bound: Bind) -> None:
    """Each level reads a column of the one around it."""
    exists = "".join(f"exists (select 1 from t t{i} where t{i}.a = t{i - 1}.a and " for i in range(1, depth))
    assert bound("select a from t t0 where " + exists + "true" + ")" * (depth - 1)).tree.op.name == "filter"
    assert bound("select " + "(select t.a + " * depth + "1" + ")" * depth + " from t").tree.op.name == "project"


@pytest.mark.parametrize("start", ["select (", "select 1 from t where exists (", "select a from t where a in ("])
def test_subqueries_too_deep_say_so(start: str, bound: Bind) -> None:
    with pytest.raises(Unsupported, match="more than 200 levels of subqueries"):
        bound(start * 201 + "select a from t" + ")" * 201)


def test_the_same_deep_subquery_twice(bound: Bind) -> None:
    deep = "(select t.a + " * 60 + "1" + ")" * 60
    query = bound(f"select {deep} as x, {deep} as y from t")
    assert [o.name for o in query.outputs] == ["x", "y"] and query.outputs[0].id == query.outputs[1].id


def test_a_long_chain_of_lateral_joins(bound: Bind) -> None:
    chain = "".join(f", lateral (select t{i - 1}.a + 1 as a) t{i}" for i in range(1, 100))
    query = bound(f"select t99.a from t t0{chain}")
    assert show_tree(query.tree, query.columns).count("apply") == 99
