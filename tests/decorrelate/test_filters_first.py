"""A filter written above a subquery costs what it costs below: before decorrelation it goes into the inputs of the Apply."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.session import Session
from optimizer.algebra.logical import Filter
from optimizer.algebra.logical_joins import Apply
from optimizer.algebra.trees import Tree, postorder
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from optimizer.decorrelate.methods import METHODS
from tests.conftest import duckdb_over
from tests.reference.compare import assert_same_bag, rows_of

# no column is equal to the one outside, so a domain is needed
COUNT = "(select count(*) from b where b.y < {}) as n"
LIMITED = "(select b.y from b where b.y < {} order by b.y desc limit 1) as n"

# an operator that a filter crosses: a query over it, in brackets what the filter is on where it is written inside
CROSSED = {
    "projection": f"select k, x, {COUNT.format('a.x')} from a where true [k]",
    "computed column": f"select case when k < 2 then 0 else k end as k, {COUNT.format('a.x')} from a"
    " where true [case when k < 2 then 0 else k end]",
    "limited subquery": f"select k, x, {LIMITED.format('a.x')} from a where true [k]",
    "filter": f"select k, x, {COUNT.format('a.x')} from a where x > 50 [k]",
    "inner join": f"select a.k, c.z, {COUNT.format('a.x + c.z')} from a join c on a.x = c.z where true [a.k]",
    "inner join by the filtered column": f"select a.k, {COUNT.format('a.x + c.z')} from a join c on a.k = c.k where true [a.k]",
    "left join": f"select a.k, c.z, {COUNT.format('a.x')} from a left join c on a.x = c.z where true [a.k]",
    "right join": f"select a.k, c.z, {COUNT.format('a.x')} from c right join a on a.x = c.z where true [a.k]",
    "semi apply": f"select k, {COUNT.format('a.x')} from a where exists (select 1 from c where c.z > a.x) [k]",
    "anti apply": f"select k, {COUNT.format('a.x')} from a where not exists (select 1 from c where c.z > a.x) [k]",
    "mark apply": "select k, x, x in (select y from b where b.y < a.k) as m from a where true [k]",
    "left apply": "select k, q.y from (select * from a where true [k]) a left join lateral"
    f" {LIMITED.format('a.x')[:-5]} q on true",
    "inner apply, to the left": f"select a.k, q.y from a, lateral {LIMITED.format('a.x')[:-5]} q where true [a.k]",
    "inner apply, to the right": "select a.x, q.k from a, lateral (select distinct k from c where c.z < a.x [k]) q",
    "single apply": "select k, (select y from b where b.y = a.x * 2 and b.y < a.x + 1) as n from a where true [k]",
    "aggregate": f"select k, {COUNT.format('max(x)')} from a where true [k] group by k",
    "grouping sets": f"select k, x, {COUNT.format('max(z)')} from a join c using (k) where true [k]"
    " group by grouping sets ((k, x), k)",
    "window": f"select k, {COUNT.format('s')} from (select k, sum(x) over (partition by k) as s from a where true [k]) d",
    "union all": f"select k, {COUNT.format('a.x')} from a where true [k] union all select k, 1 from c where true [k]",
    "union": f"select k, {COUNT.format('a.x')} from a where true [k] union select k, 1 from c where true [k]",
    "intersect": f"select k, {COUNT.format('a.x')} from a where true [k] intersect select k, 1 from c where true [k]",
    "except": f"select k, {COUNT.format('a.x')} from a where true [k] except select k, 1 from c where true [k]",
    "order": f"select k, {COUNT.format('a.x')} from a where true [k] order by n",
    "apply over apply": f"select k, {COUNT.format('a.x')}, (select count(*) from c where c.z > a.x and c.k < a.k) as o"
    " from a where true [k]",
    "apply in apply": "select k, (select count(*) from b where b.y < a.x and b.y > (select min(z) from c where c.z > b.y + a.x))"
    " as n from a where true [k]",
}  # fmt: skip


def spelled(query: str, inside: bool) -> str:
    """The query with the filter inside, or above all of it."""
    text = re.sub(r"\[(.*?)\]", r"and \1 < 10" if inside else "", query)
    return f"select * from ({text}) t{'' if inside else ' where t.k < 10'}"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Tables a and b of 400 rows and c of 300, in which k is 0 to 99, with values that do not tie them together."""
    folder: Path = tmp_path_factory.mktemp("filters")
    random = Random(5)

    def column(rows: int, below: int) -> pa.Array:
        return pa.array([random.randrange(below) for _ in range(rows)], pa.int32())

    pq.write_table(pa.table({"k": column(400, 100), "x": column(400, 200)}), folder / "a.parquet")
    pq.write_table(pa.table({"y": column(400, 250)}), folder / "b.parquet")
    pq.write_table(pa.table({"k": column(300, 100), "z": column(300, 200)}), folder / "c.parquet")
    return open_dataset(folder)


@pytest.mark.few(3)
@pytest.mark.parametrize("operator", CROSSED)
@pytest.mark.parametrize("method", METHODS)
def test_a_filter_costs_the_same_outside_and_inside(method: str, operator: str, catalog: Catalog) -> None:
    session = Session(catalog, {"decorrelate": method})
    outside, inside = (session.optimize(spelled(CROSSED[operator], each)) for each in (False, True))
    assert outside.cost == pytest.approx(inside.cost), f"{spelled(CROSSED[operator], False)}\n{outside.stages[2].text}"


@pytest.mark.parametrize("operator", CROSSED)
def test_the_rows_are_the_same(operator: str, catalog: Catalog) -> None:
    connection = duckdb_over(catalog)
    sql = spelled(CROSSED[operator], False)
    assert_same_bag(connection.execute(sql).fetchall(), rows_of(Session(catalog).sql(sql).table))


@pytest.mark.parametrize(
    "condition", ["1 / (t.x - 7) > 0", "random() < 2", "t.n > 3"], ids=["may raise", "volatile", "reads the subquery"]
)
def test_what_must_not_move_stays_above(condition: str, catalog: Catalog) -> None:
    sql = f"select * from (select k, x, (select y from b where b.y < a.x) as n from a) t where {condition}"
    stages = {stage.name: stage.tree for stage in Session(catalog).optimize(sql).stages}
    apply = next(node for node in postorder(stages["filters"]) if isinstance(node, Tree) and isinstance(node.op, Apply))
    assert not any(isinstance(node, Tree) and isinstance(node.op, Filter) for node in postorder(apply.inputs[0]))


def test_no_rule_fires_early_without_the_prepass(catalog: Catalog) -> None:
    query = Session(catalog, {"prepass": False}).optimize(spelled(CROSSED["projection"], False))
    assert not {stage.name: stage for stage in query.stages}["filters"].firings
