"""Every rule planscope has, for people: `planscope rules` and the check of `--disable`."""

from __future__ import annotations

from typing import NamedTuple

from optimizer.prepass.program import PROGRAM
from optimizer.rules.catalog import IMPLEMENTATIONS, TRANSFORMATIONS
from optimizer.rules.enforce import sort


class RuleDoc(NamedTuple):
    """`kind`: prepass, transform, implement or enforce."""

    name: str
    kind: str
    doc: str


def describe_rules() -> list[RuleDoc]:
    """One line on each rule, in the order in which a query meets them."""
    prepass = dict.fromkeys(rule for batch in PROGRAM for rule in batch.rules)
    listed: dict[str, RuleDoc] = {}
    for rule in prepass:
        listed.setdefault(rule.name, RuleDoc(rule.name, "prepass", rule.summary()))
    for transformation in TRANSFORMATIONS:
        listed[transformation.name] = RuleDoc(transformation.name, "transform", transformation.summary())
    for implementation in IMPLEMENTATIONS:
        listed[implementation.name] = RuleDoc(implementation.name, "implement", implementation.summary())
    summary = (sort.__doc__ or "").strip().splitlines()[0]
    return [*listed.values(), RuleDoc(sort.name, "enforce", summary)]
