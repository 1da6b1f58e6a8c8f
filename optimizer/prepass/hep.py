"""Runs a program of rewrites over a tree.

`instructions` says what a program is, `passes` how the tree is passed over, `run` what is remembered meanwhile. Patterns are
those of the memo's rules, matched on trees. The plan is a graph without equal vertices (`dag`), so a rule fires once on a common
subexpression and all its parents see it.

Whatever ends a batch early, the tree is equivalent to the one it began with, and the report says which rules still fired.
"""

from optimizer.algebra.trees import Tree
from optimizer.prepass.compiled import CompiledBatch, CompiledSubprogram, RuleTable, compiled
from optimizer.prepass.instructions import Batch, MatchOrder, Program, Subprogram
from optimizer.prepass.passes import downwards, from_the_root, once_anywhere, upwards
from optimizer.prepass.report import BatchRun, Firing, Rewritten, Stop, counted
from optimizer.prepass.run import SUSPICIOUS, Run
from optimizer.rules.interface import RuleContext, Sweep

__all__ = ["Batch", "BatchRun", "Firing", "MatchOrder", "Rewritten", "Stop", "Subprogram", "run_program"]


def run_program(program: Program, tree: Tree, context: RuleContext) -> Rewritten:
    """Carry out the instructions in order. Rules that the settings disable are left out."""
    run = Run(context)
    for step in compiled(tuple(program), context.settings.disable):
        tree = _run_step(run, step, tree, "", [])
        if run.stopped is Stop.PREPASS_LIMIT:
            break
    converged = all(each.stopped is None for each in run.batches)
    return Rewritten(tree, tuple(run.firings), converged, tuple(run.batches))


def _run_step(run: Run, step: CompiledBatch | CompiledSubprogram, tree: Tree, prefix: str, held: list[Tree]) -> Tree:
    """`prefix`: the names of the subprograms around it. `held`: trees that it may come to be equal to again."""
    if isinstance(step, CompiledSubprogram):
        return _run_subprogram(run, step, tree, prefix, held)
    before = len(run.firings)
    tree = run_batch(run, step, tree, prefix + step.batch.name)
    if len(run.firings) != before:
        run.clear_away([tree, *held])
    return tree


def run_batch(run: Run, step: CompiledBatch, tree: Tree, name: str) -> Tree:
    """Carry out one batch, which reports under this name."""
    batch = step.batch
    run.begin(batch)
    run.dag.interning |= not step.simple
    states = run.states()
    states.add(tree, len(run.firings))
    passes = last = 0
    while True:
        before, last = tree, len(run.firings)
        for index, rules in enumerate(step.tables):
            if run.stopped is None:
                run.begin_part(index)
                tree = run.dag.begin_pass(tree)
                tree = _one_pass(run, batch, rules, tree)
        passes += 1
        run.dag.interning |= passes >= SUSPICIOUS
        if run.stopped is not None or len(run.firings) == last or not batch.fixpoint:
            break
        since = last if tree is before else states.add(tree, len(run.firings))
        if since is not None:
            run.came_back(since)
        elif batch.passes is not None and passes >= batch.passes:
            run.stopped = Stop.PASSES
        else:
            continue
        break
    if run.stopped is Stop.MATCH_LIMIT and not batch.fixpoint:
        run.stopped = None  # that many were asked for
    run.end(name, passes, last)
    return tree


def _one_pass(run: Run, batch: Batch, rules: RuleTable, tree: Tree) -> Tree:
    if batch.one_firing:
        leaves_first = rules.sweep is Sweep.UP or (rules.sweep is None and batch.order is MatchOrder.BOTTOM_UP)
        return once_anywhere(run, tree, rules, leaves_first)
    if rules.sweep is Sweep.UP:
        return upwards(run, tree, rules, repeat=False)
    if rules.sweep is Sweep.DOWN:
        return downwards(run, tree, rules, repeat=False)
    if batch.order is MatchOrder.BOTTOM_UP:
        return upwards(run, tree, rules, again=batch.fixpoint)
    if batch.order is MatchOrder.TOP_DOWN and batch.fixpoint:
        return from_the_root(run, tree, rules)
    return downwards(run, tree, rules, deep=batch.fixpoint and batch.order is MatchOrder.DEPTH_FIRST)


def _run_subprogram(run: Run, step: CompiledSubprogram, tree: Tree, prefix: str, held: list[Tree]) -> Tree:
    subprogram, name = step.subprogram, prefix + step.subprogram.name
    start, rounds, seen = len(run.firings), 0, [tree]
    when = {id(tree): start}
    while True:
        last, before = len(run.firings), tree
        for inner in step.steps:
            tree = _run_step(run, inner, tree, name + "/", [*held, *seen])
            if run.stopped is Stop.PREPASS_LIMIT:
                return tree
        rounds += 1
        run.dag.interning |= rounds > 1
        tree = run.dag.intern(tree)
        if len(run.firings) == last or not subprogram.fixpoint:
            return tree
        since = when.get(id(tree))
        if since is not None or tree is before:
            stopped, rules = Stop.CAME_BACK, counted(run.firings[last if since is None else since :])
        elif subprogram.passes is not None and rounds >= subprogram.passes:
            stopped, rules = Stop.PASSES, counted(run.firings[last:])
        else:
            when[id(tree)] = len(run.firings)
            seen.append(tree)
            continue
        run.batches.append(BatchRun(name, start, len(run.firings), rounds, stopped, rules))
        return tree
