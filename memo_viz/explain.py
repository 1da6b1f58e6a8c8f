"""Plans and searches as text for people and as JSON values for programs.

`Actual` is what one operator really did; it is there after EXPLAIN ANALYZE and absent (None) otherwise.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from memo_viz.export import finite_json
from memo_viz.q_error import q_error
from memo_viz.text import clean, shorten
from optimizer.algebra.columns import Columns, column_ids
from optimizer.algebra.physical import TableScan
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.printing import described, number
from optimizer.errors import SettingsError, many
from optimizer.plugin_code import plugins_named


class Actual(NamedTuple):
    """`rows` out of an operator, `ms` spent in it (its inputs not counted), `bytes` of rows it held at its peak. `removed`: rows
    that a scan dropped by runtime filters; `fewer`: the operator saw fewer rows for such a filter, so `rows` says nothing of an
    estimate."""

    rows: int
    ms: float
    bytes: int
    removed: int = 0
    fewer: bool = False


Actuals = Mapping[int, Actual]  # by PlanNode.id
_NAMES = 30  # characters for the operators: figures are left out until there is so much room
_LEAST = 20  # characters for them where leaving out does not help
_LEFT_OUT = ("cost", "in", "%", "MB", "q-error", "ms")
_LONGEST = 10_000  # characters of what an operator does; the JSON has all


def plan_json(plan: PlanNode, columns: Columns, actual: Actuals | None = None) -> dict[str, Any]:
    """One object per operator, inputs nested; `columns`: those that it gives, of a scan those that it reads. Iterative."""
    made: dict[int, dict[str, Any]] = {}
    total = _total_ms(actual)
    for node in reversed(list(plan.walk())):
        found = None if actual is None else actual.get(node.id)
        given = node.op.scan.output_columns(()) if isinstance(node.op, TableScan) else node.columns
        made[node.id] = {
            "operator": node.op.name,
            "detail": node.op.describe(columns.label),
            "columns": [columns.label(id) for id in column_ids(given)],
            "traits": node.alternative.delivered.show(columns.label),
            "rows": finite_json(node.rows),
            "cost": finite_json(node.cost),
            "actual_rows": None if found is None else found.rows,
            "removed_rows": None if found is None else found.removed,
            "rows_in": None if actual is None else _rows_in(node, actual),
            "ms": None if found is None else round(found.ms, 3),
            "share": None if found is None else round(found.ms / total, 4),
            "peak_bytes": None if found is None else found.bytes,
            "inputs": [made[child.id] for child in node.inputs],
        }
    return made[plan.id]


@plugins_named()
def plan_table(plan: PlanNode, columns: Columns, actual: Actuals | None = None, width: int = 100) -> str:
    """The plan as an indented tree with figures in columns at the right; long payloads go on over further lines.

    Figures: estimated rows and cost including inputs; with `actual` also the real rows, the q-error of the estimate, the rows
    that came in, the milliseconds spent in the operator itself, in percent of all operators' too, and the megabytes of rows it
    held at its peak; a narrow table leaves some of them out. A scan says how many rows runtime filters removed.
    """
    if not isinstance(width, int):
        raise SettingsError(f"a width is a number of characters, not {width!r:.60}")
    heads = ["rows", "cost"] if actual is None else ["rows", "actual", "q-error", "cost", "in", "ms", "%", "MB"]
    total = _total_ms(actual)
    body: list[tuple[list[str], list[str]]] = []
    sizes: list[int] = [len(head) for head in heads]
    pending: list[tuple[PlanNode, str, str]] = [(plan, "", "")]
    trees: list[tuple[PlanNode, str, str, list[str]]] = []
    while pending:
        node, first, rest = pending.pop()
        figures = _figures(node, actual, total)
        sizes = [max(size, len(figure)) for size, figure in zip(sizes, figures, strict=True)]
        trees.append((node, first, rest, figures))
        for i in range(len(node.inputs) - 1, -1, -1):
            last = i == len(node.inputs) - 1
            pending.append((node.inputs[i], rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")))
    for head in _LEFT_OUT if actual is not None else ():
        if width - sum(size + 2 for size in sizes) >= _NAMES:
            break
        at = heads.index(head)
        del heads[at], sizes[at]
        for *_, figures in trees:
            del figures[at]
    left = max(_LEAST, width - sum(size + 2 for size in sizes))
    for node, first, rest, figures in trees:
        below = rest + ("│    " if node.inputs else "     ")
        text = clean(f"{node.op.name}  {shorten(described(node.op, columns), _LONGEST)}").rstrip() + _removed(node, actual)
        body.append((_wrapped(text, first, below, left), figures))
    lines = [" " * left + "".join(f"  {head:>{size}}" for head, size in zip(heads, sizes, strict=True))]
    for texts, figures in body:
        lines.append(f"{texts[0]:<{left}}" + "".join(f"  {f:>{size}}" for f, size in zip(figures, sizes, strict=True)))
        lines += texts[1:]
    return "\n".join(lines)


def regions_text(regions: Mapping[str, int]) -> str:
    """How the regions of inner joins were searched, as one text; empty where there is none, or rules order the joins."""
    return ", ".join(method if count == 1 else f"{method} ×{count}" for method, count in sorted(regions.items()))


def search_text(search: Mapping[str, Any], ms: Mapping[str, float], cost: float, width: int = 100) -> str:
    """What a search did: its figures (the `search` object of `explain --format json`), milliseconds by phase, winner's cost."""
    skips = {name: count for name, count in search["pruned"].items() if count}
    dominated = skips.pop("dominated", 0)
    pruned = ", ".join(f"{count:,} by {name}" for name, count in skips.items()) or "nothing"
    pruned += f"; {many(dominated, 'merge join')} left out, as hash joins never cost more" if dominated else ""
    forms = search.get("forms_left_out", 0)
    pruned += f"; {many(forms, 'form')} of the query left out, whose tables cost more to read than this plan" if forms else ""
    forced = search.get("forced", "")
    proof = "proven to be the cheapest of its space" + (" with that join order" if forced else "")
    if not search["proven"]:
        least, gap = search.get("lower_bound", 0.0), search.get("gap")
        why = search.get("budget") or search.get("heuristic") or "a gap or epsilon ended the search"
        proof = f"not proven: {why}" + (f"; no plan costs less than {number(least)}" if least else "")
        proof += f", so it is at most {100 * gap:.3g} % above the optimum" if gap is not None and gap < 10 else ""
    fired = sum(search["rules_fired"].values())
    parts = [
        f"{many(search['groups'], 'group')}, {search['mexprs_logical']:,} logical and "
        f"{many(search['mexprs_physical'], 'physical multi-expression')}",
        f"{many(search['tasks'], 'task')}, {many(fired, 'rule firing')}, {many(search['joins_enumerated'], 'join')} enumerated",
        *([f"regions of joins: {regions}"] if (regions := regions_text(search.get("regions", {}))) else []),
        *([f"forced: joins in the order {clean(forced)}"] if forced else []),
        f"{many(search['costed'], 'alternative')} costed; pruned: {pruned}",
        f"cost {number(cost)}, {proof}",
        *([] if search.get("prepass_converged", True) else ["the pre-pass did not reach its fixpoint; --stage prepass says why"]),
        f"{sum(ms.values()):.1f} ms = " + " + ".join(f"{name} {value:.1f}" for name, value in ms.items() if value >= 0.05),
    ]
    return _under("search", parts, width)


def rules_text(stages: Mapping[str, Mapping[str, int]], width: int = 100) -> str:
    """Which rules fired how often in which stage, those that fired most first; empty where none did."""
    parts = []
    for stage, counts in stages.items():
        rules = sorted(counts.items(), key=lambda item: -item[1])
        if rules:
            parts.append(f"{stage}: " + ", ".join(rule if count == 1 else f"{rule}\xa0×{count:,}" for rule, count in rules))
    return _under("rules", map(clean, parts), width)


def _under(head: str, parts: Iterable[str], width: int) -> str:
    """The parts, a line each or more, beside a head that stands before the first; not broken at no-break blanks."""
    lines = (line for i, part in enumerate(parts) for line in _wrapped(part, f"{'' if i else head:<8}", " " * 10, width))
    return "\n".join(lines).replace("\xa0", " ")


def _total_ms(actual: Actuals | None) -> float:
    """Milliseconds of all operators; above 0."""
    return sum(found.ms for found in (actual or {}).values()) or 1.0


def _rows_in(node: PlanNode, actual: Actuals) -> int | None:
    """Rows that came out of the inputs; None for an operator without any, and where an input was not run."""
    found = [actual.get(child.id) for child in node.inputs]
    return sum(each.rows for each in found if each is not None) if found and None not in found else None


def _figures(node: PlanNode, actual: Actuals | None, total: float) -> list[str]:
    rows, cost = number(node.rows), number(node.cost)
    if actual is None:
        return [rows, cost]
    found = actual.get(node.id)
    if found is None:
        return [rows, "", "", cost, "", "", "", ""]
    error = "–" if found.fewer else f"{q_error(node.rows, found.rows):,.1f}" if math.isfinite(node.rows) else "∞"
    rows_in, held = _rows_in(node, actual), f"{found.bytes / 1e6:,.1f}" if found.bytes else ""
    came = "" if rows_in is None else f"{rows_in:,}"
    return [rows, f"{found.rows:,}", error, cost, came, f"{found.ms:,.1f}", f"{100 * found.ms / total:.0f}", held]


def _removed(node: PlanNode, actual: Actuals | None) -> str:
    found = None if actual is None else actual.get(node.id)
    return f" – {many(found.removed, 'row')} removed by runtime filters" if found is not None and found.removed else ""


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    """`text` over lines of at most `width` characters, broken at blanks; `first` and `rest` start the lines."""
    lines: list[str] = []
    prefix = first
    while len(prefix) + len(text) > width:
        room = max(20, width - len(prefix))
        if len(text) <= room:
            break
        cut = text.rfind(" ", 0, room + 1)
        cut = room if cut <= 0 else cut
        lines.append(prefix + text[:cut].rstrip())
        text, prefix = text[cut:].lstrip(), rest
    lines.append(prefix + text)
    return lines
