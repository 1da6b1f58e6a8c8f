"""Random queries cost what the independent brute force says; and it would see if they did not."""

from collections import Counter

import pytest

from optimizer.algebra.physical import joins
from optimizer.algebra.plan import PlanNode
from optimizer.catalog.table import Catalog
from optimizer.rules.implement import join_to_merge_join
from planscope import OptimizedQuery, Optimizer, Settings
from tests.conftest import blocks, quick_and_slow
from tests.search.independent.__main__ import main
from tests.search.independent.check import Tally, brute_force
from tests.search.independent.knowledge import Key, Known
from tests.search.independent.options import HASH, LOOP, without
from tests.search.independent.queries import random_query
from tests.search.independent.replay import replayed
from tests.search.stored_tables import catalog, table


def checked(numbers: range, runs: int) -> Tally:
    tally = Tally()
    for number in numbers:
        tally.add(number, runs)
    assert not tally.faults, "\n".join(map(str, tally.faults))
    assert tally.not_covered <= 1 + tally.queries / 10  # a query in twenty on average
    return tally


@pytest.mark.parametrize("numbers", quick_and_slow(blocks(0, 40, 20), blocks(40, 10_120, 120)), ids=str)
def test_plans_are_the_cheapest(numbers: range) -> None:
    checked(numbers, 1)


FOUND = {
    1265: "an offer completed by what is asked for, and no further",
    1883: "runs of a partial sort told apart by columns that others determine",
    2626: "the same, below a join",
    3300: "rows grouped by a column of another relation that determines the same",
    3587: "a merge join by constant keys keeps whatever order the left rows have",
    5404: "a merge join whose left rows are grouped by more than its keys, in another sequence",
    30110: "groups in an order: their other keys in another sequence",
    1000239: "the order of a nested loop's right rows, after the column joined on",
    1000444: "groups in an order, between its keys a column that one of them determines",
    1000830: "the same as 1000239, with the left order by a key",
    1002094: "rows grouped below a merge join by constant keys, by what comes sorted",
    1033510: "the same, with a column that is grouped by",
    1004430: "an order of four keys, all but the last two of which come for nothing",
    1004658: "an order below a join with a column between its keys that only the join determines",
    1029345: "a column that is constant because a key of its table is, above an aggregate",
    1025985: "groups sorted in part that come by one column that they determine and one of their own",
    4005944: "groups in an order, within it as they come, by what the groups determine",
    4008470: "a nested loop's right rows sorted after one of two columns joined on",
    1018006: "runs of a partial sort told apart by an equal column with another estimate",
    1030005: "the same, by a key of another relation",
    1039767: "the same, by another key of the same relation",
    8203734: "a nested loop's right rows grouped by a column joined on that the left row determines",
    8207121: "a column of a stored order between the keys of one, constant by a join above only",
    9108076: "groups below a merge join that come by its key and a column that they determine and rows are stored by",
    10001161: "an order that an input offers, of which only the first determined key is worth having",
    10043545: "runs of a partial sort, no more of them than a key has values that determines what tells them apart",
    10047835: "groups of four columns, of which three come by themselves",
    11010246: "right rows of a nested loop by a stored order that begins with what the left row determines",
    11142100: "the same, sorted in part",
    11029132: "groups of one key that come in part by the keys of two joins, which it determines",
    11112250: "groups by one of six keys joined on, the others in the sequence that needs the shortest sort",
    13014024: "groups in an order of a column joined on, then of a nested loop's right rows as they are stored",
    13108200: "right rows of a nested loop grouped by a stored order that begins with what the left row determines",
    13134933: "a plan as cheap as one that cut others, which was not called proven",
}


@pytest.mark.few(6)
@pytest.mark.parametrize("number", FOUND, ids=FOUND.get)
def test_plans_that_were_missed_once(number: int) -> None:
    checked(range(number, number + 1), 2)


def test_queries_have_all_that_decides_orders() -> None:
    """Two to six relations, each kind of clause, and plans with each operator."""
    texts, operators, sizes = Counter[str](), Counter[str](), Counter[int]()
    for number in range(60):
        query = random_query(number)
        sizes[query.relations] += 1
        words = {"group by", "order by", " desc", "nulls first", " = 7", " < 500000", "count(*)", "sum(", " join "}
        texts.update(word for word in words if word in query.sql)
        plan = planned(query.sql, query.catalog, (HASH,) if number % 2 else ()).plan
        operators.update({node.op.name for node in plan.walk()})
    assert set(sizes) == {2, 3, 4, 5, 6}
    assert len(texts) == 9
    assert {"hash_join", "merge_join", "nested_loop_join", "sort", "streaming_aggregate", "hash_aggregate"} <= set(operators)


TABLES = catalog(
    table("a", 300_000, {"id": 300_000, "k": 5000, "v": 100}),
    table("b", 20_000, {"id": 20_000, "k": 5000, "v": 100}, order="k"),
    table("c", 2000, {"id": 2000, "k": 2000, "v": 100}, key="id", order="k v"),
)
TWO = "select a.id, a.k from a, b, c where a.k = b.k and b.k = c.k order by a.k, a.id"
THREE = TWO.replace("order", "and a.k = c.k order")
GROUPED = "select b.k, b.v, count(*) from b join c on b.k = c.k group by b.k, b.v order by b.v, b.k"


def planned(sql: str, tables: Catalog = TABLES, rules: tuple[str, ...] = ()) -> OptimizedQuery:
    return optimizer(tables, rules).optimize(sql)


def optimizer(tables: Catalog, rules: tuple[str, ...]) -> Optimizer:
    return Optimizer(tables, without(Settings(), rules))


def faults(query: OptimizedQuery, plan: PlanNode) -> list[str]:
    force = brute_force(query, optimizer(query.catalog, ()))
    return replayed(force, plan, tuple(Key(*key) for key in query.order))


def test_an_equality_that_follows_from_others_costs_nothing() -> None:
    for rules in ((HASH,), (HASH, LOOP)):
        assert planned(THREE, rules=rules).cost == pytest.approx(planned(TWO, rules=rules).cost, rel=1e-12)


def test_an_order_lost_beyond_redundant_keys_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge join that keeps the left order only where all its keys were asked for by name."""
    monkeypatch.setattr(joins.MergeJoin, "_fixes", lambda self, aligned, output: not aligned.rest)
    monkeypatch.setattr(join_to_merge_join, "is_again", lambda *_: False)  # keys that others imply are left out otherwise
    query = planned(THREE, rules=(HASH,))
    expected = brute_force(query, optimizer(TABLES, (HASH,))).cost(tuple(Key(*key) for key in query.order))
    assert query.search.proven
    assert query.cost > expected * 1.1


@pytest.mark.parametrize("rules", [(), (HASH,), (HASH, LOOP)], ids=str)
@pytest.mark.parametrize("sql", [THREE, GROUPED, GROUPED.replace("b.v, b.k", "b.k desc")])
def test_a_plan_without_one_of_its_sorts_is_noticed(sql: str, rules: tuple[str, ...]) -> None:
    query = planned(sql, rules=rules)
    assert not faults(query, query.plan)
    sorted_nodes = [node for node in query.plan.walk() if any(child.op.name in ("sort", "partial_sort") for child in node.inputs)]
    for node in sorted_nodes:
        inputs = node.inputs
        for i, child in enumerate(inputs):
            if child.op.name in ("sort", "partial_sort"):
                node.inputs = (*inputs[:i], *child.inputs, *inputs[i + 1 :])
                assert faults(query, query.plan)
                node.inputs = inputs
    if query.plan.op.name == "sort":
        assert faults(query, query.plan.inputs[0])
    query.plan.cost *= 1.001
    assert faults(query, query.plan)


def test_what_is_known_of_rows() -> None:
    """Columns 0 to 3 of one relation with key 0, 4 and 5 of another without a key; 1 = 4, 2 constant."""
    known = Known(0b1111, 0b1, 0b100, (), ((0b1, 0b1111),), ((0b1,),)).joined(Known(0b110000, 0, 0, (), (), ((),)), ((1, 4),))
    assert known.closure(0) == 0b100
    assert known.closure(1 << 4) == 0b10110
    assert known.closure(1) == 0b11111
    assert not known.unique(0b111111)
    assert known.shown(0b1111).name(4) == 1
    assert known.shown(0b110000).name(1) == 4
    order = (Key(2), Key(4, True, True), Key(1), Key(0), Key(3))
    assert known.reduced(order) == (Key(1, True), Key(0))
    assert known.gives((Key(4), Key(5)), (Key(2), Key(1)))
    assert not known.gives((Key(4), Key(5)), (Key(1), Key(5), Key(0)))
    groups = known.grouped(0b10, 1 << 6)
    assert groups.unique(1 << 4)
    assert groups.closure(0b10) == 0b1010110


def test_the_command_prints_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--queries", "3", "--relations", "2", "--runs", "1", "--seed", "5"]) == 0
    assert capsys.readouterr().out.startswith("3 queries (0 not covered)")
