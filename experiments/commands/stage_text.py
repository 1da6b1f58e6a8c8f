"""A stage between the SQL text and the search, for people and as data: its tree, and each rewriting before and after."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from textwrap import wrap
from typing import Any

from experiments.commands.common_subexpressions import common_subexpressions
from memo_viz.text import clean, shorten
from optimizer.algebra.columns import Columns
from optimizer.algebra.printing import described, show_tree
from optimizer.algebra.trees import Node, Tree, postorder
from optimizer.errors import many
from optimizer.prepass.report import BatchRun, Firing
from optimizer.stages import Stage

_LONG = 40  # lines of one tree or one rewriting that are shown
_BLOCK = 18  # lines in a row that are gone, or new, that are shown
_CONTEXT = 2  # lines shown around a change
_TOO_LARGE = 100_000  # lines before times lines after, beyond which it is not asked which of them stayed


def stage_title(stage: Stage) -> str:
    """The stage's name, its time, and how often each rule fired."""
    counts = Counter(firing.title for firing in stage.rewritings)
    fired = ", ".join(f"{rule} ×{count}" if count > 1 else rule for rule, count in counts.items())
    return f"{stage.name}  ({stage.ms:.1f} ms{'; ' + fired if fired else ''})"


def stage_text(stage: Stage, width: int) -> str:
    """Every rewriting of the stage with the tree before (-) and after (+), by batch, and then the tree in full.

    What a rewriting left as it was is cut short, so that a line takes at most `width` characters and a rewriting a screen.
    """
    if not stage.rewritings:
        return "\n".join([*stage.notes, *([""] if stage.notes else []), stage.text])
    parts = [f"{stage.name}  {stage.ms:.1f} ms, {many(len(stage.rewritings), 'firing')}"]
    runs = [run for run in stage.batches if run.stop > run.start or run.stopped is not None]
    if not runs:
        parts += _rewritings(stage, 0, len(stage.rewritings), width)
    done = 0
    for run in runs:
        parts.append(_batch_title(run))
        parts += _rewritings(stage, max(done, run.start), run.stop, width)
        done = max(done, run.stop)
        if run.stopped is not None:
            parts.append(f"! {run.note}")
    if stage.name == "prepass":
        parts += _common(stage, width)
    return "\n\n".join([*parts, f"after {stage.name}", stage.text])


def stage_json(stage: Stage) -> dict[str, Any]:
    """The same as data; trees are text in full. `batch` of a firing: the batch it was made in, None where there are none."""
    batch_of: dict[int, str] = {}
    for run in stage.batches:
        for i in range(run.start, run.stop):
            batch_of.setdefault(i, run.batch)
    return {
        "stage": stage.name,
        "ms": round(stage.ms, 3),
        "converged": stage.converged,
        "notes": list(stage.notes),
        "batches": [
            {"batch": run.batch, "passes": run.passes, "firings": run.stop - run.start}
            | {"stopped": None if run.stopped is None else run.stopped.value, "rules": dict(run.rules)}
            for run in stage.batches
        ],
        "firings": [
            {"batch": batch_of.get(i), "rule": rule, "before": before, "after": after}
            for i, (rule, before, after) in enumerate(stage.firings)
        ],
        "common": [
            {"times": each.times, "vertices": each.vertices, "tree": show_tree(each.tree, stage.columns, reads=True)}
            for each in common_subexpressions(stage.tree)
        ],
        "tree": stage.text,
    }


def show_change(firing: Firing, columns: Columns, width: int) -> list[str]:
    """The lines of the tree before that are gone (-), those that are new (+), and some of the others around them.

    An input that is the same tree before and after is one line.
    """
    before_ids = {id(node) for node in postorder(firing.before)}
    same = {id(node) for node in postorder(firing.after)} & before_ids
    before, after = (_cut_tree(tree, same, columns) for tree in (firing.before, firing.after))
    if before == after:
        return ["  the same operators; only which columns they read has changed"]
    lines: list[str] = []
    if len(before) * len(after) > _TOO_LARGE:
        opcodes: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(before), 0, len(after))]
    else:
        opcodes = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    for i, (tag, a0, a1, b0, b1) in enumerate(opcodes):
        if tag == "equal":
            kept = before[a0:a1]
            head, tail = (0 if i == 0 else _CONTEXT), (0 if i == len(opcodes) - 1 else _CONTEXT)
            if len(kept) > head + tail + 1:
                kept = [*kept[:head], f"… {many(len(kept) - head - tail, 'line')} as before", *kept[len(kept) - tail :]]
            lines += ["  " + line for line in kept]
        else:
            lines += [*_block("- ", before[a0:a1]), *_block("+ ", after[b0:b1])]
    if len(lines) > _LONG:
        lines = [*lines[: _LONG - 1], f"  … {many(len(lines) - _LONG + 1, 'more line')}; --format json has them all"]
    return [shorten(line, width) for line in lines]


def _rewritings(stage: Stage, start: int, stop: int, width: int) -> list[str]:
    parts = []
    digits = len(str(len(stage.rewritings)))
    for number in range(start, stop):
        firing = stage.rewritings[number]
        lines = show_change(firing, stage.columns, width - digits - 2)
        name, *more = wrap(clean(firing.title), max(20, width - digits - 2))  # a step of decorrelation says why; all of it counts
        head = "\n".join([f"{number + 1:>{digits}}  {name}", *(" " * (digits + 2) + line for line in more)])
        parts.append("\n".join([head, *(" " * (digits + 2) + line for line in lines)]))
    return parts


def _block(sign: str, lines: list[str]) -> list[str]:
    shown = lines if len(lines) <= _BLOCK else [*lines[: _BLOCK - 1], f"… {many(len(lines) - _BLOCK + 1, 'more line')}"]
    return [sign + line for line in shown]


def _batch_title(run: BatchRun) -> str:
    passes = "1 pass" if run.passes == 1 else f"{run.passes:,} passes"
    return f"batch {run.batch}: {passes}, {many(run.stop - run.start, 'firing')}"


def _common(stage: Stage, width: int) -> list[str]:
    parts = []
    for each in common_subexpressions(stage.tree):
        kind = "one vertex" if each.vertices == 1 else "with columns of its own each time"
        lines = show_tree(each.tree, stage.columns, reads=True).split("\n")
        if len(lines) > _LONG:
            lines = [*lines[: _LONG - 1], f"… {many(len(lines) - _LONG + 1, 'more line')}"]
        shown = [shorten(f"  {clean(line)}", width) for line in lines]
        parts.append("\n".join([f"common subexpression: {many(each.times, 'time')}, {kind}", *shown]))
    return parts


def _cut_tree(root: Tree, same: set[int], columns: Columns) -> list[str]:
    """`show_tree` with one line for a tree in `same` of more than two operators."""
    kept: list[tuple[Node, str, str]] = [(root, "", "")]
    lines: list[str] = []
    while kept:
        node, first, rest = kept.pop()
        if not isinstance(node, Tree):
            lines.append(first + show_tree(node, columns, reads=True))
            continue
        detail = described(node.op, columns)
        text = f"{first}{node.op.name}{'  ' + detail if detail else ''}"
        below = sum(1 for _ in postorder(node)) - 1 if id(node) in same else 0
        lines.append(clean(text) + (f"  … over {below} operators as before" if below > 1 else ""))
        if below <= 1:
            for i in range(len(node.inputs) - 1, -1, -1):
                last = i == len(node.inputs) - 1
                kept.append((node.inputs[i], rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")))
    return lines
