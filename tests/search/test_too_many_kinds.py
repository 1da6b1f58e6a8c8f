"""Regions of several kinds of joins that are too large to be ordered as a whole."""

from collections.abc import Callable

import pytest

from optimizer.algebra import Join, JoinKind, Tree, postorder
from optimizer.joins.collect import left_joins_above
from optimizer.sql.bind import bind
from planscope import Optimizer, Settings
from tests.search.stored_tables import catalog, table

TABLES = catalog(
    table("big", 300_000, {"k": 1000, "id": 300_000}),
    *(table(name, 1000, {"k": 1000, "v": 40}, key="k") for name in "abcdefghijkl"),
)
TOO_MANY = Settings(exact_mixed_below=2, exact_mixed_sets=1, expand_joins=0)
FEW = Settings(exact_mixed_below=20)


def test_where_the_left_join_is_written_decides_nothing() -> None:
    joins = ["join b on b.k = big.k", "left join c on c.k = big.k", "join d on d.k = b.v", "join e on e.k = d.v"]
    texts = [
        " ".join(["select big.id, c.v from big", *joins[1:place], joins[0], *joins[place:], "where e.v = 3"])
        for place in range(1, 3)
    ]
    texts.append(" ".join(["select big.id, c.v from big", joins[0], *joins[2:], joins[1], "where e.v = 3"]))
    found = [Optimizer(TABLES, TOO_MANY).optimize(sql) for sql in texts]
    best = Optimizer(TABLES, FEW).optimize(texts[0])
    assert best.search.proven
    assert [query.cost for query in found] == pytest.approx([best.cost] * 3)
    assert not any(query.search.proven for query in found)


def test_no_bound_is_told_of_plans_that_were_left_out() -> None:
    """A left join that has to stay below: the optimum may be another order."""
    sql = "select big.id from big left join c on c.k = big.k join d on d.k = coalesce(c.v, big.k) join e on e.k = big.id"
    query = Optimizer(TABLES, TOO_MANY).optimize(sql)
    assert not query.search.proven
    assert query.search.lower_bound == 0.0
    assert query.search.gap is None


def left_joins(names: str) -> str:
    columns = " + ".join(f"{name}.v" for name in names)
    return f"select big.id, {columns} from big " + " ".join(f"left join {name} on {name}.k = big.k" for name in names)


def semi_joins(names: str) -> str:
    """Of which rules make inner joins: they were tried in all orders, until the budget was spent."""
    tests = [f"exists (select 1 from big {name} where {name}.k = a.k and {name}.id > {i})" for i, name in enumerate(names)]
    return f"select a.k from a where {' and '.join(tests)}"


@pytest.mark.parametrize(
    ("text", "many", "few"), [(left_joins, "abcdefghijkl", "abcdefg"), (semi_joins, "bcdefghijkl", "bcdefgh")]
)
def test_a_star_of_such_joins_is_left_as_it_is(text: Callable[[str], str], many: str, few: str) -> None:
    query, small = (Optimizer(TABLES).optimize(text(names)) for names in (many, few))
    assert small.search.proven and not query.search.proven
    assert query.search.mexprs_logical < 2 * small.search.mexprs_logical


@pytest.mark.parametrize(
    ("joins", "kinds"),
    [
        ("big left join a on a.k = big.k join b on b.k = big.k", "inner left"),
        ("b join (big left join a on a.k = big.k) on b.k = big.k", "inner left"),
        ("big left join a on a.k = big.k left join c on c.k = big.k join b on b.k = big.k", "inner left left"),
        ("big left join a on a.k = big.k join b on b.k = a.v or a.v is null", "left inner"),  # it reads the right side
        ("big left join a on a.k = big.k and random() < 0.5 join b on b.k = big.k", "left inner"),
        ("big left join a on a.k = big.k join b on b.k = big.k // a.k or a.k is null", "left inner"),
        ("big left join a on a.k = big.k cross join b", "left inner"),
    ],
)
def test_left_joins_go_above_inner_ones(joins: str, kinds: str) -> None:
    tree = left_joins_above(bind(f"select 1 from {joins}", TABLES).tree)
    found = [node.op.kind for node in postorder(tree) if isinstance(node, Tree) and isinstance(node.op, Join)]
    assert found == [JoinKind(kind) for kind in kinds.split()]
    assert left_joins_above(tree) is tree
