"""Joins that rules put beside a region, by pushing a grouping below them: every driver finds the same cheapest plan."""

import hashlib
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from optimizer.algebra.columns import column_ids
from optimizer.catalog.table import Catalog
from optimizer.stats.relation import ColumnFigures, RelationStats
from planscope import Estimator, Optimizer, Settings
from tests.conftest import blocks, quick_and_slow
from tests.search.stored_tables import catalog, table

DRIVERS = ({"driver": "iterative"}, {"exploration": "on_demand"}, {"exploration": "interleaved"})
# Partial aggregates are made whatever share of the rows they leave: here that is another for each set of joined columns.
OPEN = {"split_share": 1.0, "budget_tasks": 0}
ALONE = ("semi_join_to_inner_on_distinct", "semi_join_to_inner_on_key")  # these give a projection the rows of its group


class ByColumns(Estimator):
    """Rows as the stored columns of a result say, so that it does not matter which expression of a group came first."""

    def estimate(self, *asked: Any) -> RelationStats:
        stats, columns = super().estimate(*asked), asked[1].columns
        digest = hashlib.blake2b(str(columns & ~self.columns.derived_ids).encode(), digest_size=7).digest()
        stats.rows = stats.base_rows = 10 ** (int.from_bytes(digest, "big") / 2**56 * 4)
        stats.columns = dict.fromkeys(column_ids(columns), ColumnFigures(50.0))
        return stats


def random_query(random: Random) -> tuple[Catalog, str]:
    """Joins of tables and of groupings over joins, outer, semi and anti-joins."""
    tables = []
    for name in "abcde":
        rows = int(10 ** random.uniform(0.5, 5))
        counts = {column: max(1, int(rows ** random.uniform(0.1, 1.0))) for column in "kjv"}
        tables.append(table(name, rows, counts, key=random.choice(["", "k", "k"]), order=random.choice(["", "k", "j k"])))
    parts = [_extended(random)]
    parts += [_extended(random) if random.random() < 0.35 else random.choice("abcde") for _ in range(random.choice([1, 1, 2]))]
    random.shuffle(parts)
    source = f"{parts[0]} t0"
    for i, part in enumerate(parts[1:], 1):
        source += f" join {part} t{i} on t{random.randrange(i)}.{random.choice('kkv')} = t{i}.{random.choice('kkv')}"
    if random.random() < 0.3:
        source += f" where t0.k in (select v from {random.choice('abcde')})"
    wanted = random.choice(
        ["select t0.k, t1.v from {}", "select t0.k, count(*) from {} group by t0.k", "select count(*) from {}"]
    )
    return catalog(*tables), wanted.format(source)


def _extended(random: Random) -> str:
    """Groups, some with an outer join beside them."""
    grouped, other = f"({_grouped(random)})", random.choice("abcde")
    if random.random() < 0.7:
        return grouped
    return f"(select g.k, g.v, u.j from {grouped} g left join {other} u on u.{random.choice('kjv')} = g.{random.choice('kv')})"


def _grouped(random: Random) -> str:
    """Groups or distinct rows of one or two tables, most with an outer, semi or anti-join."""
    source, other = f"{random.choice('abcde')} x", random.choice("abcde")
    if random.random() < 0.3:
        source += f" join {random.choice('abcde')} y on x.{random.choice('kj')} = y.{random.choice('kv')}"
    if random.random() < 0.25:
        source += f" left join {random.choice('abcde')} l on l.k = x.{random.choice('kj')}"
    where = [
        "", f" where x.k in (select k from {other})", f" where x.j in (select j from {other} where v = 1)",
        f" where not exists (select 1 from {other} z where z.k = x.k)",
        f" where not exists (select 1 from {other} z where z.v = x.j)", f" where exists (select 1 from {other} z)",
    ]  # fmt: skip
    chosen = random.choice(where)
    forms = ["select distinct x.k, x.v from {}", "select x.k, count(*) v from {} group by x.k"]
    return random.choice([*forms, "select x.k, max(x.v) v from {} group by x.k"]).format(source + chosen)


@pytest.mark.parametrize("seeds", quick_and_slow(blocks(0, 7, 7), blocks(7, 60, 53) + blocks(1000, 1600, 200)), ids=str)
def test_every_driver_finds_the_same_plan_and_rules_a_proven_one(seeds: Sequence[int]) -> None:
    for seed in seeds:
        random = Random(seed)
        tables, sql = random_query(random)
        more: dict[str, Any] = {"cost_model": random.choice(["arrow", "c_out", "c_mm"]), "disable": ALONE, **OPEN}
        ways: list[dict[str, Any]] = [{}, *DRIVERS, {"enumeration": "rules"}]
        found = [Optimizer(tables, Settings(**more, **way), estimator=ByColumns).optimize(sql) for way in ways]
        costs = [each.cost for each in found]
        assert costs[:-1] == pytest.approx([costs[0]] * len(costs[:-1]), rel=1e-9), (seed, sql, more)
        proven = [each.cost for each in found if each.search.proven]
        assert proven and proven == pytest.approx([min(costs)] * len(proven), rel=1e-9), (seed, sql, more)
