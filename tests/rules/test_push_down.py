"""Push-downs, inference, pruning: random trees of every operator mean the same before and after."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from optimizer.algebra import JoinKind, Node, Project, Tree, column_ids, compare, conjunction, postorder
from optimizer.algebra.logical_joins import AnyJoin, Apply, Join, MarkJoin, SingleJoin
from optimizer.algebra.scalars import ColumnRef, Literal, OuterRef, Scalar
from optimizer.errors import ExecutionError
from optimizer.joins.collect import collect_join_graphs, written_order
from optimizer.joins.region import JoinRegion
from optimizer.prepass.compiled import fits
from optimizer.prepass.hep import Batch, run_program
from optimizer.prepass.instructions import rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.prepass.rules.join_connect import join_connect
from optimizer.rules.interface import RewriteRule, RuleContext
from optimizer.settings import Settings
from tests.conftest import quick_and_slow
from tests.reference.compare import assert_same_bag
from tests.reference.naive import run
from tests.rules.dependent_trees import INT, Trees, database
from tests.rules.equivalence import rules_named

PUSHING = rules_named(
    "filter_merge outer_join_simplify outer_join_to_anti mark_join_to_semi single_join_to_left filter_push_project "
    "filter_push_join filter_push_aggregate filter_push_grouping_sets filter_push_window filter_push_setop filter_push_limit "
    "filter_push_choice filter_push_scan join_push_condition apply_push_condition join_infer_filter join_infer_or join_connect "
    "distinct_remove_below limit_reduce_order limit_push_one_match limit_push_join"
)
OWN = (
    Batch("pushing", PUSHING), Batch("removing", rules_named("outer_join_remove")),
    Batch("columns", rules_named("column_prune"), fixpoint=False),
)  # fmt: skip


def random_tree(seed: int, depth: int) -> tuple[Trees, Tree]:
    """A tree, in half of the cases below a projection to some of its columns."""
    random = Random(seed)
    trees = Trees(random)
    tree = trees.dependent(depth)
    if random.random() < 0.6:
        ids = random.sample(list(column_ids(tree.columns)), random.randint(1, tree.columns.bit_count()))
        kept = 0
        for id in ids:
            kept |= 1 << id
        tree = Tree(Project(trees.passed(kept)), (tree,))
    return trees, tree


def assert_same_rows(before: Tree, after: Tree, trees: Trees, seed: int, databases: int = 2) -> None:
    ids = list(column_ids(before.columns))
    assert not before.columns & ~after.columns
    assert not after.outer & ~before.outer
    for number in range(databases):
        tables = database(Random(f"{seed}/{number}"))
        try:
            expected = run(before, trees.columns, tables)
        except ExecutionError:
            continue  # a second match; after rewriting it may not be looked for
        actual = run(after, trees.columns, tables)
        assert_same_bag([tuple(r[c] for c in ids) for r in expected], [tuple(r[c] for c in ids) for r in actual])


PROGRAMS = quick_and_slow(
    [("push_down", [*range(1000), 1362]), ("whole program", range(125))],  # 1362 fires join_connect
    [("push_down", range(1000, 6000)), ("whole program", range(125, 6000))],
)


@pytest.mark.parametrize(("program", "seeds"), PROGRAMS, ids=lambda value: value if isinstance(value, str) else len(value))
def test_random_trees_keep_their_rows(program: str, seeds: Sequence[int]) -> None:
    fired: Counter[str] = Counter()
    for seed in seeds:
        trees, before = random_tree(seed, 3 if seed % 3 else 4)
        rewritten = run_program(OWN if program == "push_down" else PROGRAM, before, RuleContext(trees.columns, Settings()))
        assert rewritten.converged, f"seed {seed} does not come to an end"
        fired.update(firing.rule for firing in rewritten.firings)
        fired.update(f"{firing.rule} {join.name}" for firing in rewritten.firings for join in joins(firing.before)[:1])
        assert_same_rows(before, rewritten.tree, trees, seed)
    if program == "push_down":
        wanted = [rule.name for batch in OWN for rule in batch.rules]
        wanted += [f"filter_push_join {join.name}" for join in (Join, MarkJoin, SingleJoin, Apply)]
        wanted += [f"join_push_condition {join.name}" for join in (Join, MarkJoin, SingleJoin)]
        missing = [name for name in wanted if not fired[name]]
        assert not missing, f"not tried: {missing}; fired: {fired}"


def test_a_rule_that_covers_leaves_nothing_below_to_do() -> None:
    """It is asked no more at its result, in it, and below where it did not apply; so it must not apply there."""
    fired = 0
    for rule in (rule for rule in rules_of(PROGRAM) if rule.covers):
        for seed in range(400):
            trees, root = random_tree(seed, 3 if seed % 3 else 4)
            context = RuleContext(trees.columns, Settings())
            for tree in places(root, rule):
                after = rule.apply(tree, context)
                fired += after is not None
                left = [each for each in places(after or tree, rule) if rule.apply(each, context) is not None]
                assert not left, f"seed {seed}: {rule.name} applies again"
    assert fired > 200


def test_what_a_rule_spares_does_not_come_to_apply() -> None:
    """Asked or not, the rules that pruning and filter_push_scan spare do the same after these."""
    asking = tuple(batch._replace(rules=tuple(type(r)() if r.spares else r for r in batch.rules)) for batch in PROGRAM)
    sparing = Counter[str]()
    for seed in range(150):
        fired = []
        for program in (PROGRAM, asking):
            trees, root = random_tree(seed, 3 if seed % 3 else 4)
            fired.append([firing.rule for firing in run_program(program, root, RuleContext(trees.columns, Settings())).firings])
        assert fired[0] == fired[1], f"seed {seed}"
        sparing.update(set(fired[0]))
    assert sparing["column_prune"] > 50 and sparing["filter_push_scan"] > 50


def places(root: Tree, rule: RewriteRule) -> list[Tree]:
    return [tree for tree in postorder(root) if isinstance(tree, Tree) and fits(tree, rule.pattern)]


def joins(root: Node) -> list[AnyJoin]:
    """The operator of a tree or of its input, where that is a join."""
    assert isinstance(root, Tree)
    return [tree.op for tree in (root, *root.inputs) if isinstance(tree, Tree) and isinstance(tree.op, AnyJoin)]


@pytest.mark.parametrize("seeds", quick_and_slow([range(10_000, 10_150)], [range(10_150, 12_000)]))
def test_every_firing_by_itself_keeps_the_rows(seeds: range) -> None:
    """A rule that is wrong may be made up for by another one; so each firing is compared on its own."""
    for seed in seeds:
        trees, before = random_tree(seed, 3)
        rewritten = run_program(OWN, before, RuleContext(trees.columns, Settings()))
        for firing in rewritten.firings:
            if not firing.before.outer:
                try:
                    assert_same_rows(firing.before, firing.after, trees, seed, 1)
                except AssertionError as error:
                    raise AssertionError(f"seed {seed}, {firing.rule}") from error


def test_a_second_run_finds_nothing() -> None:
    for seed in range(20_000, 20_250):
        trees, before = random_tree(seed, 3)
        context = RuleContext(trees.columns, Settings())
        once = run_program(OWN[:1], before, context).tree
        assert not run_program(OWN[:1], once, context).firings


def test_conjuncts_without_columns_stay_when_joins_are_regrouped() -> None:
    """A conjunct about an outer row reads no relation; whatever regroups joins keeps it, once."""
    trees = Trees(Random(0))
    a, b, c, d = (trees.scan() for _ in range(4))
    ids = [next(column_ids(tree.columns)) for tree in (a, b, c, d)]

    def equal(one: int, other: int) -> Scalar:
        return compare("=", ColumnRef(ids[one], INT), ColumnRef(ids[other], INT))

    about_row = compare(">", OuterRef(trees.columns.new("o", INT, True).id, INT), Literal(1, INT))
    crossed = Tree(Join(JoinKind.INNER, ()), (Tree(Join(JoinKind.INNER, ()), (a, b)), c))
    joined = Tree(Join(JoinKind.INNER, conjunction((equal(0, 3), equal(1, 3), equal(2, 3), about_row))), (crossed, d))
    connected = join_connect.apply(joined, RuleContext(trees.columns, Settings()))
    assert connected is not None
    assert times(about_row, connected) == 1

    graph = collect_join_graphs(joined, lambda _: False)
    assert times(about_row, graph) == times(about_row, written_order(graph)) == 1

    region = JoinRegion(
        Tree(Join(JoinKind.LEFT, (equal(0, 3),)), (Tree(Join(JoinKind.INNER, (equal(0, 1), about_row)), (a, b)), d))
    )
    everything, tried = region.graph.all, 0
    for part in region.partitions(everything):
        for one, other in ((part, everything ^ part), (everything ^ part, part)):
            made = region.joins(one, other)
            if made is not None:
                assert times(about_row, made.over(*(_over(region, s) for s in (one, other)))) == 1
                tried += 1
    assert tried


def _over(region: JoinRegion, s: int) -> Node:
    leaves = [leaf for i, leaf in enumerate(region.leaves) if s >> i & 1]
    return region.written(s, leaves) if len(leaves) > 1 else leaves[0]


def times(conjunct: Scalar, root: Node) -> int:
    return sum(s is conjunct for tree in postorder(root) if isinstance(tree, Tree) for s in tree.op.scalars())
