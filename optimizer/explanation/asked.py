"""The plan that somebody asks about, as what each operator says of itself: the object that `explain --format json` prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
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
    nodes = [value]
    for node in nodes:  # parents before inputs
        fine = isinstance(node, Mapping) and isinstance(node.get("operator"), str)
        fine = fine and isinstance(node.get("detail", ""), str) and isinstance(node.get("traits"), str | None)
        if not fine or not isinstance(node.get("inputs", []), list):
            raise SettingsError(
                f"{where} is no plan: an operator has operator, detail, traits (texts) and inputs (a list of operators)\n"
                "planscope explain --format json writes one"
            )
        nodes += node.get("inputs", [])
        if len(nodes) > MOST_OPERATORS:
            raise SettingsError(f"{where} is no plan: it has more than {MOST_OPERATORS:,} operators")
    made: dict[int, Asked] = {}
    for node in reversed(nodes):
        inputs = tuple(made[id(below)] for below in node.get("inputs", []))
        made[id(node)] = Asked(node["operator"], node.get("detail", ""), node.get("traits"), inputs)
    return made[id(value)]


def scanned(asked: Asked) -> str | None:
    """The alias that a scan reads, in lower case; None for another operator."""
    return scan_alias(asked.detail).lower() if asked.operator == "table_scan" else None


def order_of(asked: Asked) -> JoinOrder | None:
    """The join order of a plan: its scans, and operators of two inputs; None where it has no scan."""
    nodes = [asked]
    for node in nodes:  # parents before inputs
        nodes += node.inputs
    made: dict[int, JoinOrder | None] = {}
    for node in reversed(nodes):
        below = [order for each in node.inputs if (order := made[id(each)]) is not None]
        made[id(node)] = reduce(lambda left, right: (left, right), below) if below else scanned(node)
    return made[id(asked)]
