"""Join graphs that rules make: their joins are expressions where a rule looks into them, or someone watches."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from optimizer.algebra.join_graph import JoinGraph
from optimizer.algebra.logical_joins import Join
from optimizer.catalog.table import Catalog
from optimizer.memo.group import Group
from planscope import Optimizer, Settings, Trace
from tests.conftest import blocks, quick_and_slow
from tests.search.stored_tables import STAR, catalog, table

COUNT = "select count(*) from s join a on s.i = a.i join b on s.j = b.j join c on s.k = c.k"
PULLED = "select max(q.n) from (select s.i, s.j, max(s.k) n from s group by s.i, s.j) q join b on q.i = b.k"


def made(tables: Catalog, sql: str, **settings: Any) -> list[Group]:
    """The groups of join graphs that rules made."""
    memo = Optimizer(tables, Settings(**settings)).optimize(sql).memo
    graphs = [m for group in memo.live_groups() for m in group.logical if isinstance(m.op, JoinGraph) and m.rule is not None]
    return [memo.group(graph.group) for graph in graphs if graph.rule != "partition_joins"]


def has_joins(group: Group) -> bool:
    return any(isinstance(m.op, Join) for m in group.logical)


def test_no_rule_looks_into_those_of_partial_aggregates() -> None:
    groups = made(STAR, COUNT)
    assert len(groups) > 8 and not any(map(has_joins, groups))
    assert all(map(has_joins, made(STAR, COUNT, region="tasks")))


def test_where_a_grouping_may_be_pulled_up_there_are_joins() -> None:
    assert any(map(has_joins, made(STAR, PULLED)))


def test_what_was_decided_is_told() -> None:
    trace = Trace()
    Optimizer(STAR, Settings()).optimize(COUNT, trace)
    events = [event for event in trace.events if event["kind"] == "region"]
    assert [event["method"] for event in events] == ["splits"] * len(events) and len(events) > 1


def random_query(random: Random) -> tuple[Catalog, str]:
    """Groups, or distinct rows, of a join of tables, groupings and joins, some of them outer or semi joins."""
    names = "abcde"[: random.choice([2, 3, 3, 4, 4, 5])]
    tables = []
    for name in "abcde":
        rows = int(10 ** random.uniform(1, 5))
        shares = {"k": (0.3, 1.0), "j": (0.1, 0.9), "v": (0.05, 0.6)}
        counts = {column: max(1, int(rows ** random.uniform(*share))) for column, share in shares.items()}
        tables.append(table(name, rows, counts, key=random.choice(["", "k", "k"]), order=random.choice(["", "", "k", "j k"])))
    source = f"{_relation(random, 'a')} a"
    for i, name in enumerate(names[1:], 1):
        on = f"{random.choice(names[:i])}.{random.choice('kkkjv')} = {name}.{random.choice('kkkjv')}"
        source += f"{' left' if random.random() < 0.12 else ''} join {_relation(random, name)} {name} on {on}"
    if random.random() < 0.3:
        source += f" where {random.choice(names)}.k in (select s.{random.choice('kjv')} from {random.choice('abcde')} s)"

    def columns(of: str) -> str:
        return f"{random.choice(names)}.{random.choice(of)}"

    keys = list(dict.fromkeys(columns("kjvn") for _ in range(random.choice([1, 1, 2, 3]))))
    results = [
        "count(*)", f"sum({columns('n')})", f"sum({columns('v')}), count(*)", f"max({columns('v')})",
        f"min({columns('j')}), count({columns('v')})",
    ]  # fmt: skip
    called, by = random.choice(results), ", ".join(keys)
    groups = f"select {keys[0]} g, {called} from {source} group by {keys[0]}"
    forms = [
        f"select {called} from {source}",
        f"select distinct {by} from {source}",
        f"select {by}, {called} from {source} group by {by}",
        f"select {by}, {called} from {source} group by {by} order by {random.choice(keys)}",
        f"select q.g, count(*) from ({groups}) q join b t on q.g = t.k group by q.g",
    ]
    return catalog(*tables), random.choice(forms)


def _relation(random: Random, name: str) -> str:
    pair = f"{name} x, {name} y where x.{random.choice('kj')} = y.{random.choice('kjv')}"
    scan = f"(select k, j, v, k n from {name} {random.choice(['', 'where v = 1', 'where k = 3'])})"
    others = [
        f"(select k, min(j) j, max(v) v, count(*) n from {name} group by k)",
        f"(select k, j, max(v) v, count(*) n from {name} group by k, j)",
        f"(select distinct k, j, v, 1 n from {name})",
        f"(select x.k, y.j, x.v, y.k n from {pair})",
        f"(select x.k, max(y.j) j, max(x.v) v, count(*) n from {pair} group by x.k)",
    ]
    return random.choice([scan] * 8 + others)


@pytest.mark.parametrize("seeds", quick_and_slow(blocks(0, 20, 20), blocks(20, 80, 60) + blocks(1000, 3000, 200)), ids=str)
def test_plans_are_as_cheap_as_with_all_joins(seeds: Sequence[int]) -> None:
    for seed in seeds:
        random = Random(seed)
        tables, sql = random_query(random)
        more: dict[str, Any] = {
            "disable": random.choice([(), (), ("join_to_hash_join",)]), "expand_joins": random.choice([3, 4, 4, 5]),
            "decorrelate": random.choice(["general", "cost"]), "split_share": random.choice([0.9, 1.0]), "budget_tasks": 0,
        }  # fmt: skip
        found = Optimizer(tables, Settings(**more)).optimize(sql)
        every = Optimizer(tables, Settings(**more, region="tasks", pruning="none")).optimize(sql)
        assert found.cost == pytest.approx(every.cost, rel=1e-9), (seed, sql, more)
        assert found.search.proven is every.search.proven, (seed, sql, more)
