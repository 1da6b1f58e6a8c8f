"""A filter written above a subquery costs what it costs below: before decorrelation it goes into the inputs of the Apply."""

import re
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executor.session import Session
from optimizer.algebra import Apply, Filter, Tree, postorder
from optimizer.catalog.table import Catalog
from optimizer.dataset import open_dataset
from optimizer.decorrelate.methods import METHODS
from tests.cases import Case, params, read
from tests.conftest import duckdb_over
from tests.reference.compare import assert_same_bag, rows_of

CROSSED = read(Path(__file__).parent / "filters_first.cases")
PROJECTION = CROSSED[0].sql


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
@pytest.mark.parametrize("case", params(CROSSED))
@pytest.mark.parametrize("method", METHODS)
def test_a_filter_costs_the_same_outside_and_inside(method: str, case: Case, catalog: Catalog) -> None:
    session = Session(catalog, {"decorrelate": method})
    outside, inside = (session.optimize(spelled(case.sql, each)) for each in (False, True))
    assert outside.cost == pytest.approx(inside.cost), f"{spelled(case.sql, False)}\n{outside.stages[2].text}"


@pytest.mark.parametrize("case", params(CROSSED))
def test_the_rows_are_the_same(case: Case, catalog: Catalog) -> None:
    connection = duckdb_over(catalog)
    sql = spelled(case.sql, False)
    assert_same_bag(connection.execute(sql).fetchall(), rows_of(Session(catalog).sql(sql).table))


@pytest.mark.parametrize(
    "condition", ["t.x + 2147483647 > 0", "random() < 2", "t.n > 3"], ids=["may raise", "volatile", "reads the subquery"]
)
def test_what_must_not_move_stays_above(condition: str, catalog: Catalog) -> None:
    sql = f"select * from (select k, x, (select y from b where b.y < a.x) as n from a) t where {condition}"
    stages = {stage.name: stage.tree for stage in Session(catalog).optimize(sql).stages}
    apply = next(node for node in postorder(stages["filters"]) if isinstance(node, Tree) and isinstance(node.op, Apply))
    assert not any(isinstance(node, Tree) and isinstance(node.op, Filter) for node in postorder(apply.inputs[0]))


def test_no_rule_fires_early_without_the_prepass(catalog: Catalog) -> None:
    query = Session(catalog, {"prepass": False}).optimize(spelled(PROJECTION, False))
    assert not {stage.name: stage for stage in query.stages}["filters"].firings
