"""Long and deep texts under Python's default recursion limit (S24), and texts that would never end."""

import sys
from collections.abc import Callable, Iterator

import pytest

from optimizer.algebra import Tree, postorder
from optimizer.algebra.query import BoundQuery
from optimizer.algebra.scalar_trees import walk
from optimizer.errors import SqlError, Unsupported

Bind = Callable[[str], BoundQuery]


@pytest.fixture(autouse=True)
def binding_leaves_the_limit(default_recursion_limit: None) -> Iterator[None]:
    yield
    assert sys.getrecursionlimit() == 1000


ONE = "select a from t"
CTES = ["c0 as (select a from t)", *(f"c{i} as (select * from c{i - 1})" for i in range(1, 200))]
SET_OPERATIONS = " ".join(f"{ONE} {('union all', 'union', 'except', 'intersect')[i % 4]}" for i in range(200))
JOINS = " ".join(f"join t t{i} on t{i}.a = t{i - 1}.a" for i in range(1, 200))
EXISTS = [f"exists (select 1 from t t{i} where t{i}.a = t{i - 1}.a and " for i in range(1, 120)]
DEEP = [  # texts, the operator at the root, and how many operators of what kind there are
    (" union all ".join([ONE] * 200), "setop", "scan", 200),
    (" union ".join([ONE] * 200), "aggregate", "scan", 200),
    (f"{SET_OPERATIONS} {ONE}", "setop", "scan", 201),
    (f"select count(*) from t t0 {JOINS}", "aggregate", "join", 199),
    *(("select " + "(" * depth + "a" + ")" * depth + " from t", "scan", "scan", 1) for depth in (60, 300)),
    (f"with {', '.join(CTES)} select * from c199", "scan", "scan", 1),
    *((f"{ONE} where " + f" {word} ".join(f"a <> {i}" for i in range(2000)), "filter", "filter", 1) for word in ("and", "or")),
    *(("select * from (" * depth + ONE + ") q" * depth, "scan", "scan", 1) for depth in (60, 300)),
    ("select * from (" * 60 + ONE + " order by a limit 5) q" * 60, "limit", "limit", 60),
    (f"select {' || '.join(['s'] * 100)} x, {'case when bo then ' * 50}1{' end' * 50} y from t", "project", "project", 1),
    # each level reads a column of the one around it
    *((f"select a from t t0 where {''.join(EXISTS[:depth])}true{')' * depth}", "filter", "filter", 1) for depth in (59, 119)),
    *(("select " + "(select t.a + " * depth + "1" + ")" * depth + " from t", "project", "project", 1) for depth in (60, 120)),
    ("select t99.a from t t0" + "".join(f", lateral (select t{i - 1}.a + 1 as a) t{i}" for i in range(1, 100)), "", "apply", 99),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "root", "operator", "many"), DEEP, ids=lambda value: str(value)[:40])
def test_long_and_deep_texts_are_bound(sql: str, root: str, operator: str, many: int, bound: Bind) -> None:
    """S24: what is up to 60 deep without further ado, what is deeper on a bigger stack."""
    tree = bound(sql).tree
    names = [node.op.name for node in postorder(tree) if isinstance(node, Tree)]
    assert names[-1] == (root or names[-1]) and names.count(operator) == many


@pytest.mark.parametrize("word", ["union all", "union"])
def test_a_200_way_union_is_one_operator_with_200_inputs(word: str, bound: Bind) -> None:
    """Below one Aggregate where rows are distinct."""
    tree = bound(f" {word} ".join([ONE] * 200)).tree
    assert len((tree if word == "union all" else tree.inputs[0]).inputs) == 200


@pytest.mark.parametrize("text", ["select {} from t", "select a from t where {} > 1", "select sum({}) from t order by {}"])
def test_operators_too_deep_say_so(text: str, bound: Bind) -> None:
    with pytest.raises(SqlError, match="nested more than 150 levels deep"):
        bound(text.replace("{}", " + ".join(["a"] * 500)))


def test_ctes_that_double_are_bound_once(bound: Bind) -> None:
    """40 levels of a CTE that names the one before twice would be 2^40 tables."""
    ctes = ["c0 as (select a from t)", *(f"c{i} as (select x.a from c{i - 1} x, c{i - 1} y)" for i in range(1, 41))]
    assert len(bound(f"with {', '.join(ctes)} select * from c40").columns) < 200


@pytest.mark.parametrize(
    "form",
    [
        "nullif({}, {i})", "nullif({}, {i}.5)", "case {} when {i} then 1 when 2 then 3 end", "cast({} between {i} and a as int)",
        "cast({} in [{i}, a] as int)", "cast(({}, a) < ({i}, a) as int)", "cast(({}, a) in (({i}, 2), (3, a)) as int)",
        "fmod({}, 3)", "year(date '2024-01-01' + {}::int)", "length({}::text[1:2])", "length(hex({}))",
        "datediff('day', d, d + {}::int)", "epoch_ms(make_timestamp({}))", "epoch_ms(date(d + {}::int))",
    ],
)  # fmt: skip
def test_what_is_said_twice_of_an_operand_does_not_double(form: str, bound: Bind) -> None:
    text = "a"
    for i in range(30):
        text = form.replace("{i}", str(i)).replace("{}", text)
    (scalar,) = (item.value for item in bound(f"select {text} from t").tree.op.items)
    assert sum(1 for _ in walk(scalar)) < 30 * 60


@pytest.mark.parametrize(
    "text", ["(" * 5000, "select " + "(" * 5000 + "1" + ")" * 5000, "select " + "not " * 20000 + "bo from t"]
)
def test_what_no_stack_holds(text: str, bound: Bind) -> None:
    with pytest.raises(SqlError):
        bound(text)


@pytest.mark.parametrize("start", ["select (", "select 1 from t where exists (", "select a from t where a in ("])
def test_subqueries_too_deep_say_so(start: str, bound: Bind) -> None:
    with pytest.raises(Unsupported, match="more than 200 levels of subqueries"):
        bound(start * 201 + "select a from t" + ")" * 201)


def test_the_same_deep_subquery_twice(bound: Bind) -> None:
    deep = "(select t.a + " * 60 + "1" + ")" * 60
    query = bound(f"select {deep} as x, {deep} as y from t")
    assert [o.name for o in query.outputs] == ["x", "y"] and query.outputs[0].id == query.outputs[1].id
