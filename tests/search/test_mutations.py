"""Bugs that real optimizers had, put into ours one by one: some check notices each within a few random queries.

The bugs are those of §1.7 of the algorithms and of the list of pitfalls (S1 to S23, T3, T6); the checks are brute force, the
audit, the sequence of limits of §1.9, counts of searches, and the assertions in the search. Without a mutation none of them
complains about the same queries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import optimizer.search.seeds as seeds
import pytest
from optimizer.search.join_space import JoinSpace
from optimizer.search.tasks.optimize_joins import OptimizeJoins

from optimizer.cost.arrow import ArrowCost
from optimizer.search.search import Search
from optimizer.search.tasks.explore_input import ExploreInput
from optimizer.search.tasks.group_optimized import GroupOptimized
from optimizer.search.tasks.optimize_group import OptimizeGroup
from optimizer.search.tasks.optimize_inputs import OptimizeInputs
from optimizer.search.tasks.optimize_mexpr import OptimizeMExpr
from tests.search import test_audit, test_dead_ends, test_memo
from tests.search.mutations import Edit, Query, apply, noticed, queries
from tests.search.random_settings import MERGE, Options

RULES: Options = {"enumeration": "rules", "seed": "none"}
LIMITS: Options = {**RULES, "pruning": "upper"}
ON_DEMAND: Options = {**RULES, "exploration": "on_demand"}
SPACES: Options = {"expand_joins": 0, "seed": "none"}
SEEDED: Options = {"expand_joins": 0}
SPACES_WITHOUT_BOUNDS: Options = {"expand_joins": 0, "pruning": "upper", "disable": (MERGE,)}
LEFT_DEEP: Options = {"expand_joins": 0, "enumeration": "left_deep"}
GAP: Options = {"expand_joins": 0, "gap": 0.2}

HASH = "join_to_hash_join"
WITHOUT_HASH: Options = {"enumeration": "rules", "disable": (HASH,)}

ALL_SETTINGS = (RULES, LIMITS, ON_DEMAND, SPACES, SEEDED, SPACES_WITHOUT_BOUNDS, LEFT_DEEP, GAP, WITHOUT_HASH)
QUERIES = 40

FAILED = "goal.status, goal.lower = Status.BELOW, max(goal.lower, min(cheapest_other, goal.best_cost))"
FAILED_JOINS = "node.status, node.lower = Status.BELOW, max(node.lower, min(node.best, node.dropped))"

WRONG_PLAN = {"dearer than the optimum", "dearer under a limit"}
WRONG_ANSWER = {*WRONG_PLAN, "wrong answer to a limit", "audit", "assertion", "no plan"}
WORK = {"more work", "never ends", "searched again under no larger limit"}


class Mutation(NamedTuple):
    """`by`: the checks that may be the first to notice it; `pitfall`: its row in the lists."""

    name: str
    pitfall: str
    edits: tuple[Edit, ...]
    settings: Options
    by: set[str]


MUTATIONS = (
    Mutation(
        "a failure is remembered as there being no plan",
        "S1, §1.7",
        (
            Edit(
                GroupOptimized,
                "perform",
                FAILED,
                "goal.status, goal.lower = Status.IMPOSSIBLE, INFINITY",
            ),
        ),
        LIMITS,
        WRONG_ANSWER,
    ),
    Mutation(
        "a failed set of relations is remembered as having no plan",
        "S1, §1.7",
        (
            Edit(
                OptimizeJoins,
                "_close",
                FAILED_JOINS,
                "node.status, node.lower = Status.IMPOSSIBLE, INFINITY",
            ),
        ),
        SPACES,
        WRONG_ANSWER,
    ),
    Mutation(
        "the first complete plan is the winner, although its limit had already pruned others",
        "§1.7",
        (
            Edit(
                GroupOptimized, "perform", "goal.best is not None and goal.best_cost <= cheapest_other:", "goal.best is not None:"
            ),
            Edit(OptimizeInputs, "perform", "if search.cut(goal, total):", "if candidate.asked < 0 and search.cut(goal, total):"),
        ),
        LIMITS,
        WRONG_ANSWER,
    ),
    Mutation(
        "after a plan is found the limit is what it leaves of the old one",
        "S7, §1.7",
        (
            Edit(
                OptimizeInputs,
                "perform",
                "ceiling = min(goal.limit, goal.best_cost)",
                "ceiling = goal.limit if goal.best_cost == INFINITY else min(goal.limit, abs(goal.limit - goal.best_cost))",
            ),
        ),
        LIMITS,
        WRONG_ANSWER,
    ),
    Mutation(
        "failures are not remembered",
        "S2, §1.7",
        (
            Edit(
                GroupOptimized,
                "perform",
                FAILED,
                "goal.status = Status.BELOW",
            ),
            Edit(GroupOptimized, "perform", "assert goal.lower > goal.limit,", "assert True,"),
        ),
        LIMITS,
        WORK,
    ),
    Mutation(
        "a seed is a strict bound without a plan",
        "§1.7",
        (
            Edit(
                JoinSpace,
                "install",
                "node.best, node.left, node.right, node.method = cost, left, right, method",
                "node.best = cost",
            ),
            Edit(JoinSpace, "install", "self.improved(node, local)", "pass"),
        ),
        SEEDED,
        WRONG_ANSWER,
    ),
    Mutation(
        "plans that cost exactly the limit are cut",
        "S10",
        (Edit(Search, "cut", "bound > goal.limit", "bound >= goal.limit"),),
        RULES,
        WRONG_ANSWER,
    ),
    Mutation(
        "splits that cost exactly the limit are cut",
        "S10",
        (
            Edit(JoinSpace, "splits", "bound <= limit and", "bound < limit and"),
            Edit(
                OptimizeJoins,
                "perform",
                "bound > limit or bound * grace >= best or failed",
                "bound >= limit or bound >= best or failed",
            ),
        ),
        SPACES,
        WRONG_ANSWER,
    ),
    Mutation(
        "an input's own bound is counted against its limit",
        "S8",
        (Edit(OptimizeInputs, "perform", "left = ceiling - (total - search.lower(below))", "left = ceiling - total"),),
        RULES,
        WRONG_ANSWER,
    ),
    Mutation(
        "the part's own bound is counted against its limit",
        "S8",
        (Edit(OptimizeJoins, "perform", "ceiling - local - other.lower", "ceiling - local - other.lower - child.lower"),),
        SPACES,
        WRONG_ANSWER,
    ),
    Mutation(
        "rounding is not allowed for in the limit of an input",
        "S11",
        (Edit(OptimizeInputs, "perform", "+ SLACK * (ceiling if ceiling < INFINITY else 0.0)", ""),),
        LIMITS,
        WRONG_ANSWER,
    ),
    Mutation(
        "rounding is not allowed for in the limit of a part",
        "S11",
        (Edit(OptimizeJoins, "perform", "+ (SLACK * ceiling if ceiling < INFINITY else 0.0)", ""),),
        SPACES,
        WRONG_ANSWER,
    ),
    Mutation(
        "the input of an enforcer gets the limit of the whole",
        "§1.7",
        (
            Edit(
                OptimizeInputs,
                "perform",
                "left = ceiling - (total - search.lower(below))",
                "left = ceiling - (0.0 if candidate.mexpr is None else total - search.lower(below))",
            ),
        ),
        LIMITS,
        WORK,
    ),
    Mutation(
        "an alternative that is too dear ends the loop over all",
        "S9",
        (
            Edit(
                OptimizeMExpr,
                "perform",
                "candidate = Candidate(goal, physical, physical.op, alternative, inputs, local)",
                "candidate = Candidate(goal, physical, physical.op, alternative, inputs, local)\n"
                "            if search.cut(goal, local + sum(search.lower(i) for i in inputs)):\n"
                "                break",
            ),
        ),
        RULES,
        WRONG_ANSWER,
    ),
    Mutation(
        "a split that is too dear ends the loop, although they are not sorted",
        "S9",
        (Edit(OptimizeJoins, "perform", "if sorted_ and (bound", "if (bound"),),
        SPACES_WITHOUT_BOUNDS,
        WRONG_ANSWER,
    ),
    Mutation(
        "what a stronger goal found is the winner of a weaker one",
        "S16",
        (
            Edit(
                OptimizeGroup,
                "perform",
                "goal, limit = self.goal, self.limit",
                "goal, limit = self.goal, self.limit\n"
                "    for other in search.memo.groups[goal.group].goals.values():\n"
                "        if other.settled and other.best is not None and not goal.opened and other is not goal:\n"
                "            if not goal.required.collation:\n"
                "                goal.best, goal.best_cost, goal.lower = other.best, other.best_cost, other.best_cost\n"
                "                goal.settled, goal.status = True, Status.OPTIMAL",
            ),
        ),
        WITHOUT_HASH,
        WRONG_ANSWER,
    ),
    Mutation(
        "explored is taken for implemented",
        "S17",
        (Edit(OptimizeMExpr, "perform", "if not mexpr.implemented:", "if not search.memo.groups[goal.group].explored:"),),
        RULES,
        {"no plan"},
    ),
    Mutation(
        "a group that is being explored does not explore what arrives late",
        "S18",
        (
            Edit(
                Search,
                "schedule_new",
                "        if group.exploring or group.explored:\n            self.push(ExploreMExpr(mexpr))\n        if any",
                "        if any",
            ),
        ),
        RULES,
        WRONG_ANSWER,
    ),
    Mutation(
        "a group counts as explored before anything of it is",
        "S17",
        (Edit(ExploreInput, "perform", "for mexpr in reversed(group.logical):", "for mexpr in reversed(group.logical[:0]):"),),
        RULES,
        WRONG_ANSWER,
    ),
    Mutation(
        "a goal under a limit does not explore its group",
        "S20",
        (Edit(OptimizeGroup, "_explore", "if search.on_demand and", "if self.limit == INFINITY and search.on_demand and"),),
        ON_DEMAND,
        WRONG_ANSWER,
    ),
    Mutation(
        "the bound of groups is too high",
        "S14, §1.5",
        (Edit(ArrowCost, "lower_bound", "return below + own / 1000.0", "return below + 1.5 * own / 1000.0"),),
        RULES,
        WRONG_ANSWER,
    ),
    Mutation(
        "the bound of sets of relations is too high",
        "S14, §1.5",
        (Edit(JoinSpace, "bound", "bound = costs.out * rows - costs.start", "bound = 2 * costs.out * rows"),),
        SPACES,
        WRONG_ANSWER,
    ),
    Mutation(
        "an input that is not settled is expected to cost more than its bound",
        "§1.7",
        (Edit(Search, "expected", "else goal.lower", "else goal.lower * (1.0 if goal.settled else 1.3)"),),
        RULES,
        WRONG_ANSWER,
    ),
    Mutation(
        "limits are not tightened by the best plan",
        "S4",
        (Edit(OptimizeInputs, "perform", "ceiling = min(goal.limit, goal.best_cost)", "ceiling = goal.limit"),),
        LIMITS,
        WORK,
    ),
    Mutation(
        "the first finite limit is ignored",
        "S3",
        (Edit(OptimizeGroup, "perform", "goal.limit = limit\n", "goal.limit = limit if goal.opened > 1 else INFINITY\n"),),
        LIMITS,
        {*WORK, *WRONG_ANSWER},
    ),
    Mutation(
        "a goal that is opened again does not try what a limit had stopped",
        "§1.3",
        (Edit(OptimizeGroup, "perform", "if not candidate.done:", "if first and not candidate.done:"),),
        LIMITS,
        {*WRONG_ANSWER, *WORK},
    ),
    Mutation(
        "an expression cut by a limit is never tried again",
        "T6",
        (
            Edit(OptimizeMExpr, "perform", "goal.waiting[mexpr] = bound\n", "goal.waiting.pop(mexpr, None)\n"),
            Edit(OptimizeMExpr, "perform", "del goal.waiting[mexpr]\n", "goal.waiting.pop(mexpr, None)\n"),
        ),
        RULES,
        WRONG_ANSWER,
    ),
    Mutation(
        "splits that a bound dropped leave no trace in what is proved",
        "S1",
        (Edit(JoinSpace, "splits", "elif bound < dropped:", "elif bound < 0.0:"),),
        SPACES,
        WRONG_ANSWER,
    ),
    Mutation(
        "a plan within the gap is taken for a lower bound",
        "§1.6",
        (
            Edit(
                OptimizeJoins,
                "_close",
                "Status.BOUNDED, max(node.lower, min(node.best, node.dropped))",
                "Status.BOUNDED, node.best",
            ),
        ),
        GAP,
        WRONG_ANSWER,
    ),
    Mutation(
        "an enforcer is fed by the goal that it serves",
        "S21",
        (
            Edit(
                OptimizeGroup,
                "_first_look",
                "goal.candidates.append(candidate)",
                "candidate.inputs = (goal,)\n        goal.candidates.append(candidate)",
            ),
        ),
        RULES,
        WRONG_ANSWER,
    ),
    Mutation(
        "a seed is no plan of the space",
        "§5",
        (Edit(seeds, "_one_by_one", "return all(", "return True or all("),),
        LEFT_DEEP,
        {"cheaper than the optimum"},
    ),
)


class Elsewhere(NamedTuple):
    """A mutation that random join graphs do not show, and the test of another file that notices it."""

    name: str
    pitfall: str
    edits: tuple[Edit, ...]
    test: Callable[[], None]


ELSEWHERE = (
    Elsewhere(
        "no plan is a winner of infinite cost",
        "S5",
        (
            Edit(
                GroupOptimized,
                "perform",
                "goal.status, goal.lower = Status.IMPOSSIBLE, INFINITY",
                "goal.status, goal.lower, goal.settled = Status.OPTIMAL, INFINITY, True",
            ),
        ),
        lambda: test_dead_ends.test_a_goal_that_nobody_can_meet_is_impossible("both"),
    ),
    Elsewhere(
        "a goal that is its own input is searched again",
        "S6, S21",
        (
            Edit(OptimizeInputs, "perform", "if below.status is Status.OPEN:", "if below.status is None:"),
            Edit(
                OptimizeMExpr, "perform", "if any(i.status is Status.OPEN for i in inputs):", "if not inputs and physical.inputs:"
            ),
        ),
        lambda: test_audit.test_groups_that_contain_each_other("none"),
    ),
    Elsewhere(
        "parents do not see a new member of an input",
        "S18, S19",
        (Edit(Search, "schedule_new", "        self._rebind(group.parents, [mexpr])\n", ""),),
        test_memo.test_a_late_member_reaches_patterns_that_look_deeper,
    ),
    Elsewhere(
        "time-out is an exception although there is a plan",
        "S22",
        (Edit(Search, "_drain", "self._abandon()\n            return", "raise AssertionError"),),
        lambda: test_dead_ends.test_every_budget_ends_with_a_complete_plan({"enumeration": "rules"}),
    ),
    Elsewhere(
        "a spent budget leaves goals open",
        "S22",
        (Edit(Search, "_abandon", "goal.status = Status.ABANDONED", "pass"),),
        lambda: test_dead_ends.test_every_budget_ends_with_a_complete_plan({"enumeration": "rules"}),
    ),
)


@cache
def known(settings: tuple[tuple[str, Any], ...]) -> list[Query]:
    """Queries under some settings, planned while nothing is mutated."""
    options = dict(settings)
    return queries(options, QUERIES, 5 if "expand_joins" in options else 4)


def queries_for(settings: Options) -> list[Query]:
    return known(tuple(settings.items()))


@pytest.mark.parametrize("settings", ALL_SETTINGS, ids=str)
def test_nothing_is_noticed_without_a_mutation(settings: Options) -> None:
    for query in queries_for(settings)[:20]:
        assert noticed(query, settings) is None


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_is_noticed(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = queries_for(mutation.settings)
    apply(mutation.edits, monkeypatch)
    for query in planned:
        check = noticed(query, mutation.settings)
        if check is not None:
            assert check in mutation.by
            return
    pytest.fail(f"nobody noticed in {len(planned)} queries: {mutation.name} ({mutation.pitfall})")


@pytest.mark.parametrize("mutation", ELSEWHERE, ids=lambda mutation: mutation.name)
def test_a_mutation_is_noticed_elsewhere(mutation: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation.test()
    apply(mutation.edits, monkeypatch)
    with pytest.raises(AssertionError):
        mutation.test()


def test_a_mutation_that_is_out_of_date_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=r"GroupOptimized\.perform is out of date: 'no such text' is there 0 times"):
        apply((Edit(GroupOptimized, "perform", "no such text", ""),), monkeypatch)
