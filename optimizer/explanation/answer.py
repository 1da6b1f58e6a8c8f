"""The answer to "why not this plan?", as data and as text."""

from collections import Counter
from itertools import zip_longest
from typing import Any, NamedTuple

from optimizer.algebra.plan import PlanNode, aliases_below
from optimizer.algebra.printing import number, ratio
from optimizer.errors import many
from optimizer.explanation.reasons import Reason
from optimizer.explanation.recost import show_set
from optimizer.explanation.row_change import RowChange


class Operator(NamedTuple):
    """An operator of the plan asked about, of the chosen one, or of both, over `relations`: its own cost in each (None: it is not
    in that plan)."""

    operator: str
    relations: tuple[str, ...]
    asked: float | None
    chosen: float | None

    @property
    def text(self) -> str:
        return f"{self.operator} {show_set(frozenset(self.relations))}" if self.relations else self.operator


class Answer(NamedTuple):
    """`status`: "chosen" (it is the plan), "exists" (the space has it, at `cost`), "absent", or "unused" (a rule
    or an expression that nothing of the plan comes from). `reason`: the first one, None for
    what was chosen. `chosen_cost`: of the chosen plan. `notes`: further sentences.
    `change`: of one row count, that would make it win; or the factor below which none does; None where it was not sought."""

    asked: str
    status: str
    reason: Reason | None
    cost: float | None
    chosen_cost: float
    operators: tuple[Operator, ...] = ()
    change: RowChange | float | None = None
    notes: tuple[str, ...] = ()

    @property
    def json(self) -> dict[str, Any]:
        reason, change = self.reason, self.change
        return {
            "asked": self.asked,
            "status": self.status,
            "reason": None if reason is None else {**reason._asdict(), "kind": reason.kind.value},
            "cost": self.cost,
            "chosen_cost": self.chosen_cost,
            "operators": [each._asdict() for each in self.operators],
            "change": {**change._asdict(), "aliases": sorted(change.aliases), "factor": change.factor}
            if isinstance(change, RowChange)
            else None,
            "no_change_below": None if isinstance(change, RowChange) else change,
            "notes": list(self.notes),
        }

    @property
    def text(self) -> str:
        lines = [self._head(), *self.notes]
        if self.reason is not None:
            lines += ["", f"first reason ({self.reason.kind.value}): {self.reason.text}"]
            if self.reason.event is not None:
                lines.append(f"look at event {self.reason.event}")
        if self.operators:
            lines += ["", *self._table()]
        if self.change is not None:
            lines += ["", _text_of(self.change)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text

    def _head(self) -> str:
        if self.status == "chosen":
            return f"{self.asked}: that is the chosen plan; it costs {number(self.chosen_cost)}"
        if self.status == "unused":
            return f"{self.asked}: the chosen plan, which costs {number(self.chosen_cost)}, has nothing of it"
        if self.status == "absent" or self.cost is None:
            return f"{self.asked}: there is no such plan; the chosen one costs {number(self.chosen_cost)}"
        more = self.cost - self.chosen_cost
        share = f" ({ratio(100 * abs(more) / self.chosen_cost)} %)" if self.chosen_cost else ""
        above = f"{number(abs(more))}{share} {'below' if more < 0 else 'above'} the chosen plan's {number(self.chosen_cost)}"
        return f"{self.asked}: exists, cost {number(self.cost)}, {above}"

    def _table(self) -> list[str]:
        same = [each for each in self.operators if each.asked == each.chosen]
        rows = [
            (each.text, *("" if cost is None else number(cost) for cost in (each.asked, each.chosen)))
            for each in self.operators
            if each.asked != each.chosen
        ]
        if same:
            cost = number(sum(each.asked or 0.0 for each in same))
            rows.append((f"{many(len(same), 'operator')} of both plans", cost, cost))
        rows.append(("sum", number(self.cost or 0.0), number(self.chosen_cost)))
        sizes = [max(len(head), *(len(row[i]) for row in rows)) for i, head in ((1, "asked"), (2, "chosen"))]
        return [f"{a:>{sizes[0]}}  {c:>{sizes[1]}}  {text}" for text, a, c in [("own cost", "asked", "chosen"), *rows]]


def _text_of(change: RowChange | float) -> str:
    if not isinstance(change, RowChange):
        return f"no change of one row count by a factor below {number(change)}, up or down, was found that would make it win"
    by = f"{'×' if change.after > change.before else '÷'} {ratio(change.factor)}"
    rows = f"{many(number(change.after), 'row')} rather than {number(change.before)} ({by})"
    least = "no plan" if change.proven else "no plan that was searched"
    return f"it would cost {number(change.cost)}, and {least} less, if {show_set(change.aliases)} had {rows}"


def compared(asked: PlanNode, chosen: PlanNode) -> tuple[Operator, ...]:
    """The operators of two plans beside each other: the same are those of one name over the same relations, with the same payload
    where there are several."""
    mine, theirs = _operators(asked), _operators(chosen)
    rows = []
    for key in dict.fromkeys((*mine, *theirs)):
        operator, relations, _ = key
        for a, c in zip_longest(mine.get(key, []), theirs.get(key, [])):
            rows.append(Operator(operator, relations, a, c))
    return tuple(_joined(rows))


def _operators(plan: PlanNode) -> dict[tuple[str, tuple[str, ...], str], list[float]]:
    found: dict[tuple[str, tuple[str, ...], str], list[float]] = {}
    below = aliases_below(plan)
    for node in plan.walk():
        key = node.op.name, tuple(sorted(below[id(node)])), node.op.describe(str)
        found.setdefault(key, []).append(node.local_cost)
    return found


def _joined(rows: list[Operator]) -> list[Operator]:
    """Rows of one operator over the same relations, of which each plan has one with a payload of its own, become one row."""
    names = Counter((row.operator, row.relations) for row in rows)
    kept: list[Operator] = []
    for row in rows:
        if names[row.operator, row.relations] == 2 and (row.asked is None) != (row.chosen is None):
            other = next((k for k in kept if k[:2] == row[:2] and (k.asked is None) != (row.asked is None)), None)
            if other is not None and (other.asked is None or other.chosen is None):
                own = row.asked if row.asked is not None else other.asked
                kept[kept.index(other)] = Operator(*row[:2], own, row.chosen if row.chosen is not None else other.chosen)
                continue
        kept.append(row)
    return kept
