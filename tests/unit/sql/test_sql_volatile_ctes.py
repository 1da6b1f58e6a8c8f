"""A common table expression is evaluated once: a volatile one is kept where it would else be evaluated anew.

In a WITH inside a subquery, which may itself be evaluated for each row, that is refused and not done.
"""

from __future__ import annotations

import pytest

from optimizer.algebra.spools import With
from optimizer.errors import Unsupported
from optimizer.sql.bind import bind
from tests.unit.sql.world import World

RANDOM = "with q as (select random() as r)"
KEPT = (
    f"{RANDOM} select a.r = b.r from q a, q b",
    "with q as materialized (select random() as r) select a.r = b.r from q a, q b",
    "with q as not materialized (select random() as r) select a.r = b.r from q a, q b",
    f"{RANDOM} select a.r = b.r from q a join q b on true",
    f"{RANDOM} select r from q union all select r from q",
    f"{RANDOM} select r = (select r from q) from q",
    f"{RANDOM}, p as (select r + 1 as s from q) select x.s = y.s from p x, p y",
    f"{RANDOM}, p as (select r + 1 as s from q) select s, r from p, q",
    f"{RANDOM} select (select r from q where t.a > 0) from t",
    f"{RANDOM} select a from t where exists (select 1 from q where r > t.a)",
    f"{RANDOM} select a from t where b in (select a from u where c > (select r + t.b from q))",
    f"{RANDOM} select x.s from t, lateral (select r + t.a as s from q) x",
)
ONCE = (
    f"{RANDOM} select r, r = r from q",
    f"{RANDOM} select a, r from t, q",
    f"{RANDOM} select a, (select r from q) from t",
    f"{RANDOM} select a from t where a > (select r from q)",
    f"{RANDOM}, p as (select r + 1 as s from q) select s from p",
    "select (with q as (select random() + t.a as r) select r from q) from t",
    "select a, (with q as (select random() as r) select r from q where t.a > 0) from t",
)


REFUSED = ("select (with q as (select random() as r) select a.r = b.r from q a, q b) from t",)


@pytest.mark.parametrize("sql", KEPT)
def test_kept(sql: str, world: World) -> None:
    tree = bind(sql, world.catalog).tree
    assert isinstance(tree.op, With) and all(spool.op.forced for spool in tree.inputs[:-1])


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(sql: str, world: World) -> None:
    with pytest.raises(Unsupported, match=r'using the CTE "\w" twice, which has a volatile function'):
        bind(sql, world.catalog)


@pytest.mark.parametrize("sql", ONCE)
def test_once(sql: str, world: World) -> None:
    tree = bind(sql, world.catalog).tree
    assert tree.volatile and not isinstance(tree.op, With)
    assert world.duck.execute(sql).fetchall() is not None
