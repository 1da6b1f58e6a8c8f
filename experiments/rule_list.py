"""Every rule planscope has, for people: `planscope rules` and the check of `--disable`."""

from collections.abc import Sequence
from typing import NamedTuple

from optimizer.decorrelate.quick import QUICK
from optimizer.plugins.registry import Registry
from optimizer.prepass.instructions import rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.rules.catalog import IMPLEMENTATIONS, TRANSFORMATIONS
from optimizer.rules.enforce import partial_sort, sort
from optimizer.rules.interface import Rule

STEPS = ("quick", "unnest", "required_only", "cte_inline", "semi_joins", "common_parts")
"""What traces have in the place of rules for other steps before the search, where that is one word."""


class RuleDoc(NamedTuple):
    """`kind`: decorrelate (those of the method quick), prepass, transform, implement or enforce."""

    name: str
    kind: str
    doc: str


ENFORCERS = (sort, partial_sort)


def rules_by_kind() -> dict[str, Sequence[Rule]]:
    """All but enforcers, kinds in the order in which a query meets them."""
    before = {"decorrelate": rules_of(QUICK), "prepass": rules_of(PROGRAM)}
    return {**before, "transform": TRANSFORMATIONS, "implement": IMPLEMENTATIONS}


def describe_rules(plugins: Registry | None = None) -> list[RuleDoc]:
    """One line on each rule, in the order in which a query meets them; after them what plug-ins bring, rules or not."""
    listed: dict[str, RuleDoc] = {}
    for kind, those in rules_by_kind().items():
        for rule in those:
            listed.setdefault(rule.name, RuleDoc(rule.name, kind, rule.summary()))
    own = [] if plugins is None else plugins.extensions
    return [
        *listed.values(),
        *(RuleDoc(each.name, "enforce", (each.__doc__ or "").strip().splitlines()[0]) for each in ENFORCERS),
        *(RuleDoc(each.name, each.kind, f"{each.doc} ({each.file})") for each in own),
    ]
