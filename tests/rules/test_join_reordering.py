"""Reordering joins of all kinds: every expression the rules reach is equivalent, and they reach all there is.

The rules are tried on random trees in the mode `rules`, where they alone make the search space.
"""

from collections import Counter
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from optimizer.algebra import HashJoin, JoinKind
from optimizer.catalog.table import Catalog
from optimizer.rules.catalog import TRANSFORMATIONS
from optimizer.search.search import Search
from planscope import Session, Settings
from tests.conftest import blocks, quick_and_slow
from tests.rules.closure import plans_of_memo, plans_of_tree
from tests.rules.equivalence import assert_groups_are_equivalent
from tests.rules.join_trees import JoinTree, join_tree
from tests.search.planning import new_search, planned_alike

RULES = ("join_exchange_left", "join_exchange_full", "join_exchange_semi", "join_associate_left")
SEMI_TO_INNER = ("semi_join_to_inner_on_key", "semi_join_to_inner_on_distinct")
OTHERS = tuple(
    rule.name for rule in TRANSFORMATIONS if rule.name not in (*RULES, *SEMI_TO_INNER, "join_commute", "join_associate")
)


def explored(tree: JoinTree, **settings: object) -> tuple[Search, int]:
    search = new_search(tree.query, Settings(enumeration="rules", **settings))
    return search, search.explore(tree.query.tree)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_all_expressions_of_a_group_give_the_same_rows(n: int) -> None:
    """Predicates that reject NULLs or do not, one conjunct or two; over data with NULLs, duplicates and empty tables."""
    fired: Counter[str] = Counter()
    for seed in range(40):
        tree = join_tree(n, seed, strict=60, wide=20)
        search, _ = explored(tree, disable=OTHERS)
        fired.update(search.counters.rules_fired)
        for tables in tree.tables:
            assert_groups_are_equivalent(search.memo, tree.query.columns, tables)
    if n > 3:
        assert all(fired[rule] for rule in (*RULES, *SEMI_TO_INNER)), f"a rule was not tried: {fired}"


FEW = [*(((n,), range(30), (100, 50)) for n in (3, 4, 5, 6)), ((3,), range(1000, 1300), (20,))]
MANY = [*(((n,), range(30, 60), (100, 50)) for n in (3, 4, 5, 6)), *(((4, 5, 6), s, (80,)) for s in blocks(1000, 1500, 100))]


@pytest.mark.parametrize(("sizes", "seeds", "shares"), quick_and_slow(FEW, MANY), ids=str)
def test_the_plans_are_those_of_the_closure(sizes: tuple[int, ...], seeds: range, shares: tuple[int, ...]) -> None:
    """The rules and join_commute find every tree of the core search space, and no other."""
    for n, seed, strict in product(sizes, seeds, shares):
        tree = join_tree(n, seed, strict=strict)
        search, root = explored(tree, disable=(*OTHERS, *SEMI_TO_INNER))
        assert plans_of_memo(search.memo, root, tree.query.tree) == plans_of_tree(tree.query.tree), (
            f"{n} relations, seed {seed}, strict {strict}"
        )


def test_exploration_ends() -> None:
    """Rules that undo each other make no new groups: exploring six relations again, in another order, finds the same plans."""
    sizes = []
    for seed in range(60):
        tree = join_tree(6, seed, kinds=(JoinKind.LEFT, JoinKind.INNER, JoinKind.SEMI))
        found = []
        for rule_order in (0, 1, 2):
            search, root = explored(
                tree, rule_order=rule_order, disable=(*OTHERS, *SEMI_TO_INNER), budget_mexprs=0, budget_tasks=0
            )
            found.append(plans_of_memo(search.memo, root, tree.query.tree))
            sizes.append(search.memo.logical_count)
        assert found[0] == found[1] == found[2]
        search, _ = explored(tree, budget_mexprs=0, budget_tasks=0)
        sizes.append(search.memo.logical_count)
    assert max(sizes) < 1000


def test_groups_are_seldom_made_twice() -> None:
    """A group of outer joins has no key but its expressions: one may be made twice and merged, which must stay rare."""
    groups = merges = 0
    for seed in range(60):
        search, _ = explored(join_tree(6, seed), disable=OTHERS)
        groups += len(search.memo.live_groups())
        merges += search.memo.merges
    assert merges * 20 < groups


MIXED = (JoinKind.LEFT, JoinKind.INNER, JoinKind.SEMI, JoinKind.LEFT, JoinKind.FULL)


@pytest.mark.few(2)
@pytest.mark.parametrize("n", [4, 5, 6])
def test_pruning_loses_no_plan(n: int) -> None:
    """What a group costs at least must hold for the expressions that the rules add to it, whichever came first."""
    for seed in range(40):
        tree = join_tree(n, seed, kinds=MIXED)
        costs = {}
        for mode in ("none", "both"):
            search = new_search(tree.query, Settings(enumeration="rules", pruning=mode))
            costs[mode] = search.run(tree.query.tree).best_cost
        assert costs["both"] == pytest.approx(costs["none"], rel=1e-9), f"seed {seed}"


EXHAUSTIVE: dict[str, Any] = {"pruning": "none", "seed": "none"}


def test_a_plan_that_such_a_bound_cut(tpch: Catalog) -> None:
    sql = """select count(*) from supplier s semi join nation n on s_nationkey = n_nationkey
        join customer on s_nationkey = c_nationkey join nation o on c_nationkey = o.n_nationkey
        where exists (select * from nation p where p.n_regionkey = s_nationkey)"""
    planned_alike(tpch, [sql], [EXHAUSTIVE, {"pruning": "none"}, {}], cost_model="c_out")


def test_a_part_of_a_region_that_has_other_expressions() -> None:
    """An aggregate was pushed below a join: the rest is a group, of which an outer join was taken apart. Neither the table of the
    region's sets nor their bounds know that."""
    sql = """select a.id from r a
        join ((values (0), (0), (0)) b(x) join (select y from (values (1.5, 0)) c(y, z)) d on b.x = d.y)
            on a.id is not distinct from b.x
        join (r e right join r f on e.id + f.id = e.id + e.id) on a.id = f.id
        group by a.id"""
    tables = {"r": pa.table({"id": pa.array([7, 1, 5, 8, 4, 3], pa.int32())})}
    ways = [EXHAUSTIVE, {}, {"region": "table"}, {"region": "tasks"}, {"pruning": "upper"}]
    planned_alike(Session(tables).catalog, [sql], ways)


def test_a_part_of_a_region_that_is_a_region_of_several_kinds_too(tpch: Catalog) -> None:
    """Its group is no region of inner joins itself, and has a lookup: sets of the larger region have to find it there."""
    sql = """select l_shipmode, exists (select * from nation t where t.n_nationkey = c_nationkey and t.n_name >= 'GERMANY')
        from orders full join customer on o_custkey = c_custkey and c_custkey in (10, 700) and o_orderdate = '1995-01-01'
        full join lineitem on o_orderkey = l_orderkey full join partsupp on l_partkey = ps_partkey
        join supplier on c_nationkey = s_nationkey and s_suppkey < 5
        full join nation n on s_nationkey = n.n_nationkey and n.n_name = 'GERMANY' where ps_availqty > 9000"""
    ways = [EXHAUSTIVE, {}, {"pruning": "lower"}, {"region": "table"}]
    planned_alike(tpch, [sql], ways, proves=0, decorrelate="cost")


@pytest.mark.parametrize("exploration", ["all", "on_demand", "interleaved"])
def test_a_whole_region_that_has_other_expressions(tpch: Catalog, exploration: str) -> None:
    """The joins of a region are also a part of a region of several kinds, where a rule made a lookup of one, which costs less. It
    may be found after the table of the region was filled."""
    sql = """select ps_comment from partsupp p join part on ps_partkey = p_partkey where ps_supplycost = 100
        and not exists (select * from partsupp q where q.ps_suppkey = p.ps_suppkey and q.ps_availqty > 9000)"""
    ways = [
        EXHAUSTIVE, {"region": "tasks", **EXHAUSTIVE}, {}, {"region": "table"}, {"region": "table", "pruning": "none"},
        {"region": "tasks"},
    ]  # fmt: skip
    planned_alike(tpch, [sql], ways, decorrelate="cost", expand_joins=0, exploration=exploration)


def test_a_conjunct_that_reads_no_relation_is_tested_by_the_last_join(tpch: Catalog) -> None:
    sql = """select * from region join nation on r_regionkey = n_regionkey and 0 < 1
        join supplier on n_nationkey = s_nationkey join customer on s_nationkey = c_nationkey"""
    for query in planned_alike(tpch, [sql], [EXHAUSTIVE, {}, {"region": "table"}, {"region": "tasks"}], prepass=False):
        assert isinstance(query.plan.op, HashJoin) and query.plan.op.residual


def test_a_relation_of_a_region_that_is_sorted_inside(tpch: Catalog) -> None:
    """An order of an aggregate's rows may cost less than a sort above it: by a sort below, with a streaming aggregate."""
    sql = """select 1 from supplier s where s_nationkey in (3, 7)
        and exists (select 1 from supplier t where t.s_nationkey = s.s_nationkey and t.s_suppkey = 50)
        and s_acctbal < (select min(u.s_acctbal) from supplier u
            where u.s_nationkey = s.s_nationkey and u.s_nationkey = 7 and u.s_acctbal > s.s_acctbal)"""
    planned_alike(tpch, [sql], [EXHAUSTIVE, {}, {"region": "table", "pruning": "none"}], split_share=1.0)


@pytest.mark.parametrize("enumeration", ["rules", "adaptive"])
def test_no_group_costs_less_than_its_bound(enumeration: str) -> None:
    """Also where a rule takes a leaf of its region apart: the joins of the parts are none of the region's. Of these trees five
    had such groups when all joins of a group counted as its region's."""
    for number, seed in ((4, 112), (4, 200), (5, 197), (6, 30), (7, 131), *((4 + seed % 4, seed) for seed in range(20))):
        search = new_search(join_tree(number, seed, kinds=MIXED).query, Settings(enumeration=enumeration, pruning="none"))
        search.run(join_tree(number, seed, kinds=MIXED).query.tree)
        for goal in search.memo.goals:
            group = search.memo.group(goal.group)
            assert goal.best_cost >= group.lower * (1 - 1e-9), f"seed {seed}, group {group.id}"
