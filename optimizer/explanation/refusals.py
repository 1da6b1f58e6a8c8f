"""Why there is no such expression: rules that are off, whose pattern was not found, or whose guard refused."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from optimizer.algebra.traits import ANY
from optimizer.errors import SettingsError, did_you_mean
from optimizer.explanation.guard import Guard, refusing_guard
from optimizer.explanation.reasons import Kind, Names, Reason
from optimizer.explanation.walk import Missing
from optimizer.memo.binding import bindings
from optimizer.memo.goal import Goal
from optimizer.memo.mexpr import LogicalExpr
from optimizer.rules.catalog import ENFORCERS, IMPLEMENTATIONS, TRANSFORMATIONS
from optimizer.rules.interface import ImplementationRule, Pattern, Rule, TransformationRule
from optimizer.search.search import Search

SHOWN = 3

Event = dict[str, Any]


class Refusals:
    """What the rules of a search did and did not do, by its trace."""

    def __init__(self, search: Search, events: Sequence[Event]) -> None:
        self._search, self._events, self._names = search, events, Names(search)
        self._label = search.context.columns.label
        own = (*search.rules.transformations, *search.rules.implementations)
        self.rules: dict[str, Rule] = {rule.name: rule for rule in (*TRANSFORMATIONS, *IMPLEMENTATIONS, *own)}
        self._on = {rule.name for rule in own}
        self._skipped: dict[tuple[str, int], int] = {}
        for event in events:
            if event["kind"] == "skip":
                self._skipped.setdefault((event["rule"], event["mexpr"]), event["seq"])

    # -- an operator that is missing ----------------------------------------------------------------------------------------

    def of_missing(self, missing: Missing) -> Reason:
        """Why no move of a goal is what was asked."""
        goal, asked = missing.goal, missing.asked
        where = self._names.goal(goal)
        if missing.same:
            delivered = sorted({move.alternative.delivered.show(self._label) for move in missing.same})
            text = f"{asked.operator} of {where} cannot deliver {asked.traits}: here it delivers {' or '.join(delivered)}"
            return Reason(Kind.TRAITS, text)
        made = self.of_operator(asked.operator, goal)
        if made is not None and not missing.near:
            return made
        if missing.near:
            texts = sorted({f"{move.op.name} {move.op.describe(self._label)}".rstrip() for move in missing.near})
            more = f", and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
            return Reason(Kind.NO_SUCH, f"{where} has no {asked}; it has {'; '.join(texts[:SHOWN])}{more}")
        return Reason(Kind.NO_SUCH, f"{where} has no {asked.operator}")

    def of_operator(self, operator: str, goal: Goal | None = None) -> Reason | None:
        """Why nothing makes a physical operator for a goal, by default for any; None where something may."""
        if operator in ENFORCERS:
            if operator not in self._search.rules.enforcers:
                return Reason(Kind.OFF, f"{operator} is off (disable)")
            if goal is not None and goal.required != ANY:
                return None
            what = f"{self._names.goal(goal)} for an order, so nothing sorts it" if goal is not None else "for an order"
            return Reason(Kind.TRAITS, f"nothing asks {what}")
        physical = [each for group in self._search.memo.groups for mexpr in group.logical for each in mexpr.physical]
        made = {each.op.name: each.rule for each in physical}  # rules of plug-ins have any name
        rules = [
            rule for name, rule in self.rules.items()
            if isinstance(rule, ImplementationRule) and (name.endswith(f"_to_{operator}") or name == made.get(operator))
        ]  # fmt: skip
        if not rules:
            known = sorted({*made, *(rule.name.partition("_to_")[2] for rule in IMPLEMENTATIONS), *ENFORCERS})
            hint = did_you_mean(operator, known, f"there are {', '.join(known)}")
            return Reason(Kind.NO_SUCH, f'no rule makes an operator "{operator}"; {hint}')
        if all(rule.name not in self._on for rule in rules):
            return self._off(rules[0])
        members = (
            list(self._search.memo.expressions().values()) if goal is None else self._search.memo.group(goal.group).members()
        )
        refused: Reason | None = None
        for rule in rules:
            for mexpr in members:
                if rule.name not in self._on or not rule.pattern.takes(mexpr.op):
                    continue
                bound = self._search.memo.bound(mexpr)
                if rule.apply(bound, self._search.context):
                    return None
                if refused is None or (refused.event is None and (rule.name, mexpr.id) in self._skipped):
                    refused = self._refused(rule, mexpr, refusing_guard(rule, bound, self._search.context))
        if refused is not None:
            return refused
        kinds = sorted({mexpr.op.name for mexpr in members})
        needed = sorted({_pattern(rule.pattern) for rule in rules})
        wanted = " or ".join(needed)
        transformed = self._transformations(members, needed)
        text = f"{rules[0].name} needs {wanted}, and no rule made one here: there is {', '.join(kinds)}"
        return transformed._replace(text=f"{text}\n{transformed.text}") if transformed else Reason(Kind.NO_MATCH, text)

    def _transformations(self, members: Iterable[LogicalExpr], needed: Sequence[str]) -> Reason | None:
        """The first transformation rule that makes a `needed` operator, by its name, and refused one of the expressions."""
        ids = {mexpr.id: mexpr for mexpr in members}
        for rule in self._search.rules.transformations:
            if not any(rule.name.startswith(f"{kind}_") or f"_to_{kind}" in rule.name for kind in needed):
                continue
            for (name, id), _ in self._skipped.items():
                if name == rule.name and id in ids:
                    return self._refused(rule, ids[id], self._guard(rule, ids[id]))
        return None

    # -- a rule that did nothing --------------------------------------------------------------------------------------------

    def of_rule(self, name: str, rewrites: Mapping[str, str] = MappingProxyType({})) -> Reason | None:
        """Why a rule of the search made nothing, or one of `rewrites`, before it, which did not fire (and why it was not asked,
        if so); None where it fired. Raises SettingsError for a name that is no rule's."""
        rule = self.rules.get(name)
        if rule is None and name in rewrites:
            if name in self._search.context.settings.disable:
                return Reason(Kind.OFF, f"the rule {name} is off (disable)")
            if rewrites[name]:
                return Reason(Kind.OFF, f"{name} is a rule of {rewrites[name]}")
            return Reason(Kind.NO_MATCH, f"{name} rewrites trees before the search, and found nothing to rewrite in this query")
        if rule is None:
            if name in ENFORCERS:
                raise SettingsError(f'"{name}" is an enforcer and no rule: ask about it as an operator')
            hint = did_you_mean(name, {*self.rules, *rewrites}, "planscope rules lists them")
            raise SettingsError(f'there is no rule "{name}"; {hint}')
        if name not in self._on:
            return self._off(rule)
        if any(event["kind"] == "fire" and event["rule"] == name for event in self._events):
            return None
        tried = [event for event in self._events if event["kind"] == "skip" and event["rule"] == name]
        if not tried:
            text = f"{name} found nothing that fits its pattern, {_pattern(rule.pattern)}, among the expressions it may see"
            return Reason(Kind.NO_MATCH, "\n".join(filter(None, (text, self._search.counters.budget))))
        times = "once and refused" if len(tried) == 1 else f"{len(tried):,} times and refused each time"
        mexpr = self._search.memo.expressions().get(tried[0]["mexpr"])
        if mexpr is None:
            return Reason(Kind.GUARD, f"{name} was tried {times}", tried[0]["seq"])
        assert isinstance(rule, TransformationRule | ImplementationRule)
        found = self._refused(rule, mexpr, self._guard(rule, mexpr))
        return found._replace(text=f"{found.text}\nit was tried {times}")

    def _guard(self, rule: TransformationRule | ImplementationRule, mexpr: LogicalExpr) -> Guard | None:
        """The guard that refused the first binding of an expression that is refused."""
        search = self._search
        for bound in bindings(search.memo, mexpr, rule.pattern):
            guard = refusing_guard(rule, bound, search.context)
            if guard is not None:
                return guard
        return None

    def _refused(self, rule: Rule, mexpr: LogicalExpr, guard: Guard | None) -> Reason:
        what = f"{mexpr.op.name} {mexpr.op.describe(self._label)}".rstrip()
        text = f"{rule.name} refused expression {mexpr.id} ({what})"
        text += f": its guard is {guard}" if guard is not None else f"; its guards: {guards_of(rule)}"
        return Reason(Kind.GUARD, text, self._skipped.get((rule.name, mexpr.id)))

    def _off(self, rule: Rule) -> Reason:
        settings = self._search.context.settings
        if rule.name in settings.disable:
            return Reason(Kind.OFF, f"the rule {rule.name} is off (disable)")
        assert isinstance(rule, TransformationRule), "any other rule that is not disabled is on"
        return Reason(Kind.OFF, f"the rule {rule.name} is off: {rule.unused(settings)}")


def guards_of(rule: Rule) -> str:
    """The line of a rule's docstring that names its guards."""
    text = f"{type(rule).__doc__ or ''}\n{sys.modules[type(rule).__module__].__doc__ or ''}"
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("Guards"):
            found = [line.removeprefix("Guards").strip()]
            for more in lines:
                if not more.startswith("   "):
                    break
                found.append(more.strip())
            return " ".join(found)
    return "not said"


def _pattern(pattern: Pattern) -> str:
    """The operators that a pattern asks for, as text."""
    if pattern.op is None:
        return "any"
    types = pattern.op if isinstance(pattern.op, tuple) else (pattern.op,)
    name = " or ".join(str(getattr(each, "name", None) or _words(each.__name__)) for each in types)
    inputs = pattern.inputs or ()
    return f"{name}({', '.join(map(_pattern, inputs))})" if any(below.op is not None for below in inputs) else name


def _words(name: str) -> str:
    """The name of a class as words: independent join."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
