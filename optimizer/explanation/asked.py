"""The plan that somebody asks about, as what each operator says of itself: the object that `explain --format json` prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from optimizer.algebra.columns import ColumnId
from optimizer.algebra.plan import PlanNode
from optimizer.algebra.printing import scan_alias
from optimizer.errors import SettingsError
from optimizer.joins.join_order import JoinOrder

Label = Callable[[ColumnId], str]
MOST_OPERATORS = 10_000


class Asked(NamedTuple):
    """`traits`: what the operator delivers, None where nothing is said of it."""

    operator: str
    detail: str
    traits: str | None
    inputs: tuple[Asked, ...]

    def __str__(self) -> str:
        return f"{self.operator} {self.detail}".rstrip()


def asked_plan(plan: PlanNode, label: Label) -> Asked:
    """A plan as it would be printed. Iterative."""
    made: dict[int, Asked] = {}
    for node in reversed(list(plan.walk())):
        traits = node.alternative.delivered.show(label)
        made[id(node)] = Asked(node.op.name, node.op.describe(label), traits, tuple(made[id(below)] for below in node.inputs))
    return made[id(plan)]


def read_asked(value: Any, where: str) -> Asked:
    """The plan in a JSON value: of one operator, or the whole answer of `explain --format json`. Raises SettingsError."""
    if isinstance(value, Mapping) and "plan" in value:
        value = value["plan"]
    made: list[Asked] = []
    stack: list[tuple[Any, bool]] = [(value, False)]
    for _ in range(2 * MOST_OPERATORS):
        if not stack:
            return made[0]
        node, ready = stack.pop()
        if ready:
            arity = len(node["inputs"]) if node.get("inputs") else 0
            inputs = tuple(made[len(made) - arity :])
            del made[len(made) - arity :]
            traits = node.get("traits")
            made.append(Asked(node["operator"], node.get("detail", ""), traits, inputs))
            continue
        fine = isinstance(node, Mapping) and isinstance(node.get("operator"), str)
        fine = fine and isinstance(node.get("detail", ""), str) and isinstance(node.get("traits"), str | None)
        if not fine or not isinstance(node.get("inputs", []), list):
            raise SettingsError(
                f"{where} is no plan: an operator has operator, detail, traits (texts) and inputs (a list of operators)\n"
                "planscope explain --format json writes one"
            )
        stack.append((node, True))
        stack += [(below, False) for below in reversed(node.get("inputs") or [])]
    raise SettingsError(f"{where} is no plan: it has more than {MOST_OPERATORS:,} operators")


def scanned(asked: Asked) -> str | None:
    """The alias that a scan reads, in lower case; None for another operator."""
    if asked.operator != "table_scan":
        return None
    return scan_alias(asked.detail).lower()


def order_of(asked: Asked) -> JoinOrder | None:
    """The join order of a plan: its scans, and operators of two inputs; None where it has no scan."""
    made: list[JoinOrder | None] = []
    stack: list[tuple[Asked, bool]] = [(asked, False)]
    while stack:
        node, ready = stack.pop()
        if not ready:
            stack.append((node, True))
            stack += [(below, False) for below in reversed(node.inputs)]
            continue
        arity = len(node.inputs)
        below = [order for order in made[len(made) - arity :] if order is not None] if arity else []
        del made[len(made) - arity :]
        order: JoinOrder | None = below[0] if below else scanned(node)
        for other in below[1:]:
            assert order is not None
            order = (order, other)
        made.append(order)
    return made[0]
