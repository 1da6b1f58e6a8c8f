"""Every rule of the pre-pass and of the search fires on some query of a directed corpus, and the rows stay DuckDB's.

Random queries miss some rules by chance. Here each rule has a query that it fires on, over random tables with declared keys;
the query is compared with the rule on and off.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from executor import Session
from optimizer.plan_space.expansion import expand_all
from tests.differential.datasets import Dataset, dataset
from tests.differential.queries import Query
from tests.differential.test_random_queries import Engines, compare_engines
from tests.differential.variants import RULES

WITH_KEYS = (1, 3), (5, 7)  # of the pool
CLASSICAL = {"enumeration": "rules"}
PELLENKOFT = {"enumeration": "duplicate_free_rules", "cross_products": True}
BOTH_WAYS = {"enumeration": "rules_b0", "expand_joins": 0}
PER_ROW = {"decorrelate": "none"}
CHOICE = {"decorrelate": "cost"}


class Case(NamedTuple):
    """`stored_in_order`: over tables that are stored in the order of their first column and say so."""

    sql: str
    settings: dict[str, Any] = {}  # noqa: RUF012 (never changed)
    stored_in_order: bool = False


CASES: dict[str, Case] = {
    "aggregate_merge_project": Case("select count(w) n, max(v) m from (select k is null as w, s || '!' as v from r) p"),
    "aggregate_pull_join": Case("select r.id, v.n from r join (select k, count(*) n from t group by k) v on r.k = v.k"),
    "aggregate_push_join": Case("select r.id, count(*), sum(t.k) from t join r on t.rid = r.id group by r.id"),
    "aggregate_push_outer_join": Case("select r.id, r.k, max(t.s) from r left join t on t.rid = r.id group by r.id, r.k"),
    "aggregate_reduce_constant_keys": Case("select k, s, count(*) from r where k = 1 group by k, s"),
    "aggregate_reduce_keys": Case("select r.k, t.k, count(*) from r join t on r.k = t.k group by r.k, t.k"),
    "aggregate_remove": Case("select id, sum(k) from r group by id"),
    "aggregate_remove_constants": Case("select s, min(5), avg(2), max(k) from r group by s"),
    "aggregate_remove_one_row": Case("select max(n), count(n) from (select count(*) n from r) v"),
    "aggregate_simplify_calls": Case("select count(id), count(distinct id), count(k) from r"),
    "aggregate_split_join": Case("select t.s, sum(u.m), count(*) from t join u on t.k = u.b group by t.s"),
    "aggregate_split_union": Case("select s, count(*) from (select s from r union all select s from t) v group by s"),
    "apply_push_condition": Case("select id from r where k in (select t.k from t where t.rid = r.id)", PER_ROW),
    "arithmetic_simplify": Case("select k + 0 as n, s || '' as w from r"),
    "boolean_normalize": Case("select id from r where not (k < 2 or not (s = 'a' and b is null))"),
    "case_simplify": Case("select case when 1 = 2 then k when s = 'a' then 1 else id end as n from r"),
    "column_prune": Case("select s from (select s, k + 1 as n from r) v"),
    "comparison_simplify": Case("select id from r where (k > 1) = true"),
    "comparison_unwrap": Case("select id from r where k::bigint > 1"),
    "constant_fold": Case("select id from r where k < abs(1 - 3)"),
    "distinct_remove_below": Case("select distinct s from (select distinct s, k from r) v"),
    "distinct_remove_semi": Case("select r.id from r anti join (select distinct k from t) v on r.k = v.k"),
    "distinct_to_limit": Case("select distinct k from r where k = 1"),
    "empty_propagate": Case("select r.id, v.m from r left join (select m from u where FALSE) v on r.k = v.m"),
    "filter_merge": Case("select * from (select id, k, s from r where k > 0) v where s <> 'a'"),
    "filter_push_aggregate": Case("select * from (select s, count(*) n from r group by s) v where s > 'a'"),
    "filter_push_choice": Case("select m from (select (select max(k) from t where rid = id) m from r) where m + 1 > 0", CHOICE),
    "filter_push_grouping_sets": Case("select * from (select k, s from r group by grouping sets ((k, s), (k))) v where k > 0"),
    "filter_push_join": Case("select r.id from r left join t on r.k = t.k where r.s <> 'a'"),
    "filter_push_limit": Case("select * from (select * from (values (1, 2), (2, 3)) v (a, b) order by a limit 5) v where b = 2"),
    "filter_push_project": Case("select * from (select k + 1 as n from r) v where n > 2"),
    "filter_push_scan": Case("select id from r where k > 1"),
    "filter_push_setop": Case("select * from (select k from t except select k from r) v where k > 0"),
    "filter_push_window": Case("select * from (select k, s, count(*) over (partition by s) n from r) v where s > 'a'"),
    "filter_remove_implied": Case("select k from (select k from r where k > 1 limit 20) v where k > 1"),
    "foreign_key_join_remove": Case("select t.k, t.s from t join r on t.rid = r.id"),
    "join_associate": Case("select r.id, t.s, u.m from r join t on r.k = t.k join u on t.rid = u.qid", CLASSICAL),
    "join_associate_left": Case("select r.id, t.s, u.m from r left join t on r.k = t.k left join u on t.rid = u.qid", CLASSICAL),
    "join_associate_reverse": Case("select r.id, t.s, u.m from r join (t join u on t.rid = u.qid) on r.k = t.k", BOTH_WAYS),
    "join_commute": Case("select r.id, t.s from r right join t on r.k = t.k", CLASSICAL),
    "join_connect": Case("select r.id from r, t, u where r.k = u.m and u.b = t.k"),
    "join_exchange_full": Case("select r.id, t.s, u.m from r full join t on r.k = t.k left join u on r.id = u.qid", CLASSICAL),
    "join_exchange_inner": Case("select t.s from (r join t using (k)) join (q join u on q.id = qid) on r.id = q.rid", PELLENKOFT),
    "join_exchange_left": Case("select r.id, t.s, u.m from r left join t on r.k = t.k join u on r.id = u.qid", CLASSICAL),
    "join_exchange_semi": Case("select r.id, t.s from r join t on r.k = t.k anti join u on r.id = u.qid", CLASSICAL),
    "join_infer_filter": Case("select r.id, t.s from r join t on r.k = t.k where r.k > 1"),
    "join_infer_or": Case("select r.id, t.s from r, t where (r.k = 1 and t.s = 'a') or (r.k = 2 and t.s = 'b')"),
    "join_push_condition": Case("select r.id, t.s from r left join t on r.k = t.k and t.s <> 'a'"),
    "join_to_apply": Case("select t.x, r.s from t left join r on t.k = r.id", CHOICE, stored_in_order=True),
    "join_to_apply_grouped": Case("select id, n from r join (select k j, max(s) n from t group by k) v on id = j", CHOICE, True),
    "like_simplify": Case("select id from r where s like 'a%' or s like 'b'"),
    "limit_merge": Case("select * from (select id from r order by id limit 5) v limit 3"),
    "limit_push_join": Case("select r.id, t.s from r left join t on r.k = t.k order by r.id limit 3"),
    "limit_push_one_match": Case("select id, k in (select m from u) m from r order by id limit 3"),
    "limit_push_project": Case("select k + 1 as n from r limit 3"),
    "limit_push_scan": Case("select id from r limit 3"),
    "limit_push_union": Case("select id from r union all select id from q order by 1 limit 3"),
    "limit_reduce_order": Case("select id, k from r order by id, k limit 3"),
    "limit_remove": Case("select k from (select count(*) k from r order by k limit 5) v"),
    "mark_join_remove": Case("select id from (select id, k in (select m from u) m from r) v"),
    "mark_join_to_semi": Case("select id from (select id, k in (select m from u) m from r) v where m"),
    "not_null_simplify": Case("select id is null as n, coalesce(id, k) as m from r"),
    "or_factor": Case("select id from r where (k = 1 and s = 'a') or (k = 1 and s = 'b')"),
    "outer_join_remove": Case("select t.k from t left join r on t.k = r.id"),
    "outer_join_simplify": Case("select r.id, t.s from r left join t on r.k = t.k where t.s <> 'a'"),
    "outer_join_to_anti": Case("select r.id from r left join t on r.k = t.k where t.k is null"),
    "partition_joins": Case("select r.id, t.s, u.m from r join t on r.k = t.k join u on r.id = u.qid", {"pruning": "none"}),
    "partition_region": Case("select r.id, t.s, u.m from r left join t on r.k = t.k join u on r.id = u.qid"),
    "predicate_intersect": Case("select id from r where k in (1, 2, 3) and k > 1 and k <> 2"),
    "predicate_weaken": Case("select id from r where k = k or s in ('a', NULL)"),
    "project_merge": Case("select n * 2 as m from (select k + 1 as n from r) v"),
    "project_merge_aggregate": Case("select count(*), max(k) from r union all select b, k from r where FALSE"),
    "project_pull_join": Case("select w, u.d from (select upper(r.s) as w, t.k from r join t using (k)) p join u on p.k = u.m"),
    "project_push_union": Case("select k is null as n, w from (select k, s || '!' as w from r union all select k, 'b' from t) v"),
    "project_remove": Case("select id, s from (select id, s from r) v"),
    "scan_split_outer": Case("select id, (select count(*) from t where t.k = r.k) n from r", PER_ROW),
    "semi_join_to_inner_on_distinct": Case("select t.s from t semi join u on t.k = u.m"),
    "semi_join_to_inner_on_key": Case("select t.s, t.k from t semi join r on t.k = r.id"),
    "semi_join_to_extreme": Case("select t.s from t where t.k < any (select m from u) or t.s = 'a'"),
    "single_join_to_left": Case("select k, (select r.s from r where case when true then r.id = t.k end) v from t"),
    "sort_remove": Case("select r.id from r join (select n from (values (1), (2)) v (n) order by n limit 2) v on r.k = v.n"),
    "union_flatten": Case("select k from r union all (select k from t union all select m from u)"),
    "union_remove_empty": Case("select k from r union all select k from t where FALSE"),
}  # fmt: skip


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, bool], Engines]:
    root: Path = tmp_path_factory.mktemp("datasets")

    @functools.cache
    def engines(index: int, stored_in_order: bool) -> Engines:
        data = dataset(root, index)
        return Engines(in_order(data) if stored_in_order else data)

    return engines


def in_order(data: Dataset) -> Dataset:
    """A copy of the tables, each in the order of its first column."""
    folder = data.folder.with_name(f"{data.folder.name}_in_order")
    shutil.copytree(data.folder, folder)
    tables = {name: table.sort_by(table.column_names[0]) for name, table in data.tables.items()}
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=3, sorting_columns=[pq.SortingColumn(0)])
    return Dataset(folder, tables, data.number)


def test_every_rule_has_a_query() -> None:
    assert set(CASES) == set(RULES)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("datasets", [WITH_KEYS[0], pytest.param(WITH_KEYS[1], marks=pytest.mark.slow)], ids=str)
def test_rule_fires_and_rows_stay(rule: str, datasets: tuple[int, ...], pool: Callable[[int, bool], Engines]) -> None:
    sql, settings, stored_in_order = CASES[rule]
    unlimited, limited, count = sql.rpartition(" limit ")
    query = Query(sql, unlimited, limit=int(count)) if limited and count.isdigit() else Query(sql, sql)
    fired = False
    for index in datasets:
        engines = pool(index, stored_in_order)
        planned = Session(engines.catalog, settings).optimize(sql)
        expand_all(planned.engine)  # joins of regions that were searched without expressions
        fired |= any(mexpr.rule == rule for group in planned.memo.live_groups() for mexpr in group.logical)
        fired |= rule in planned.search.rules_fired or any(rule == name for s in planned.stages for name, _, _ in s.firings)
        compare_engines(engines, query, settings)
        compare_engines(engines, query, {**settings, "disable": (rule,)})
    assert fired, f"{rule} fires on none of the tables"
