"""Every rule planscope has, for people: `planscope rules` and the check of `--disable`."""

from typing import NamedTuple

from optimizer.decorrelate.quick import QUICK
from optimizer.plugins.registry import Registry
from optimizer.prepass.instructions import rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.rules.catalog import IMPLEMENTATIONS, TRANSFORMATIONS
from optimizer.rules.enforce import partial_sort, sort

STEPS = ("quick", "unnest", "required_only", "cte_inline", "semi_joins", "common_parts")
"""What traces have in the place of rules for other steps before the search, where that is one word."""


class RuleDoc(NamedTuple):
    """`kind`: decorrelate (those of the method quick), prepass, transform, implement or enforce."""

    name: str
    kind: str
    doc: str


def describe_rules(plugins: Registry | None = None) -> list[RuleDoc]:
    """One line on each rule, in the order in which a query meets them; after them what plug-ins bring, rules or not."""
    listed: dict[str, RuleDoc] = {}
    rules = {
        "decorrelate": rules_of(QUICK),
        "prepass": rules_of(PROGRAM),
        "transform": TRANSFORMATIONS,
        "implement": IMPLEMENTATIONS,
    }
    for kind, those in rules.items():
        for rule in those:
            listed.setdefault(rule.name, RuleDoc(rule.name, kind, rule.summary()))
    own = [] if plugins is None else plugins.extensions
    return [
        *listed.values(),
        *(RuleDoc(each.name, "enforce", (each.__doc__ or "").strip().splitlines()[0]) for each in (sort, partial_sort)),
        *(RuleDoc(each.name, each.kind, f"{each.doc} ({each.file})") for each in own),
    ]
