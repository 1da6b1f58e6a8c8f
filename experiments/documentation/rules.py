"""The reference of rules: a list, and for the site a page for each rule, of its docstring and its golden cases."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from experiments.documentation.markdown import docstring, plain, table
from experiments.rule_list import ENFORCERS, describe_rules, rules_by_kind

ROOT = Path(__file__).parent.parent.parent
_GOLDEN = ROOT / "tests" / "golden"
_DECORRELATION = "decorrelate_quick"  # the golden file of the rules of that method
_KINDS = {
    "decorrelate": "Decorrelation, method quick: run where the setting `decorrelate` is `quick`.",
    "prepass": "Pre-pass: each replaces what it finds, before the search.",
    "transform": "Transformation: logical to logical, in the memo; both stay.",
    "implement": "Implementation: logical to physical.",
    "enforce": "Enforcers: what adds an order to a plan that lacks it.",
}


class RulePage(NamedTuple):
    name: str
    kind: str
    summary: str
    module: str
    text: str

    @property
    def source(self) -> str:
        return self.module.replace(".", "/") + ".py"

    @property
    def golden(self) -> Path:
        return _GOLDEN / f"{_DECORRELATION if self.kind == 'decorrelate' else self.name}.golden"


def rule_pages() -> list[RulePage]:
    """Every rule and enforcer, in the order in which a query meets them."""
    said = {each.name: (each.__name__, (each.__doc__ or "").strip()) for each in ENFORCERS}
    said |= {rule.name: (type(rule).__module__, rule.text()) for rules in rules_by_kind().values() for rule in rules}
    return [RulePage(*rule, *said[rule.name]) for rule in describe_rules()]


def listing() -> str:
    """docs/reference/rules.md."""
    pages = rule_pages()
    lines = [
        "# Rules\n",
        "Written by `python -m experiments.documentation` from the rules; do not edit.\n",
        "Each name works with `--disable`. A rule is a file, whose docstring says what it is equal to and why; its golden cases",
        "show what it does to queries, and where it has to keep silent. The site has a page for each rule, made of these two.",
    ]
    for kind, meaning in _KINDS.items():
        rows = [
            (f"`{page.name}`", plain(page.summary), f"[cases](../../{page.golden.relative_to(ROOT)})")
            for page in pages
            if page.kind == kind
        ]
        lines += [f"\n## {kind}\n", f"{meaning}\n", *table(("rule", "what it does", ""), rows)]
    return "\n".join([*lines, ""])


def linked(listing: str) -> str:
    """The list with each rule's name a link to its page."""
    return re.sub(r"^\| `(\w+)` \|(.*)\| \[cases\]\([^)]*\) \|$", r"| [`\1`](rules/\1.md) |\2| |", listing, flags=re.MULTILINE)


def page(rule: RulePage) -> str:
    """The page of a rule."""
    lines = [f"# {rule.name}\n", f"{_KINDS[rule.kind]} Source: `{rule.source}`.\n", *docstring(rule.text)]
    cases = list(_cases(rule.golden.read_text("utf-8")))
    if cases:
        lines += ["\n## Cases\n", f"From `tests/golden/{rule.golden.name}`: each is planned, run and compared in the tests.\n"]
    for title, header, sql, shown in cases:
        lines += [f"### {plain(title)}\n", f"`{header}`\n", f"```sql\n{sql}\n```\n", f"```text\n{shown}\n```\n"]
    return "\n".join(lines)


def _cases(golden: str) -> Iterator[tuple[str, str, str, str]]:
    """Title, header, query, and what is shown, of each case of a golden file."""
    for part in golden.split("==== ")[1:]:
        title, header, rest = part.split("\n", 2)
        sql, _, shown = rest.partition("\n----\n")
        yield title, header, sql, shown.strip("\n")
