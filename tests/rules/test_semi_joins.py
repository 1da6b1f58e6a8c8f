"""Semi-joins below groups: where they are added and where not; the rows are DuckDB's, and the cheaper plan is found."""

from pathlib import Path

import duckdb
import pytest

from optimizer.algebra import Join, JoinKind, Tree, postorder
from optimizer.catalog.table import Catalog
from planscope import OptimizedQuery, Session
from tests.cases import Case, params, read
from tests.reference.compare import assert_same_bag, rows_of


def added(query: OptimizedQuery) -> int:
    """Semi-joins that the stage made."""
    by_stage = {stage.name: stage.tree for stage in query.stages}
    if "semi_joins" not in by_stage:
        return 0
    return _semi_joins(by_stage["semi_joins"]) - _semi_joins(by_stage["prepass"])


def _semi_joins(root: Tree) -> int:
    return sum(isinstance(n, Tree) and isinstance(n.op, Join) and n.op.kind is JoinKind.SEMI for n in postorder(root))


@pytest.mark.parametrize("case", params(read(Path(__file__).parent / "semi_joins.cases", "added")))
def test_rows_stay(case: Case, database: tuple[Path, duckdb.DuckDBPyConnection]) -> None:
    folder, connection = database
    expected = rows_of(connection.execute(case.sql).to_arrow_table())
    for setting in ("always", "cost"):
        session = Session(folder, {"semi_joins": setting})
        if setting == "always":
            assert added(session.optimize(case.sql)) == int(case.marks.get("added", "0"))
        assert_same_bag(rows_of(session.sql(case.sql).table), expected)


def test_the_cheaper_plan_is_chosen(tpch: Catalog) -> None:
    """Numbering the rows of a few customers costs less than those of all; to count them costs no more than a join that could
    leave some out."""
    one = "select * from customer, (select o_custkey, {} from orders {}) o where o_custkey = c_custkey and c_acctbal < -900"
    numbered = one.format("row_number() over (partition by o_custkey order by o_totalprice, o_orderkey)", "")
    counted = one.format("count(*)", "group by o_custkey")
    for sql, pays in ((numbered, True), (counted, False)):
        off, always, chosen = (Session(tpch, {"semi_joins": each}).optimize(sql).cost for each in ("off", "always", "cost"))
        assert (always < off) is pays
        assert min(off, always) <= chosen <= min(off, always) + 101  # a projection keeps the two apart
