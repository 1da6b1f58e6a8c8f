"""The rules of one search, and what it asks of them again and again. Made once for all queries."""

from typing import TypeAlias

from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.logical_joins import Join
from optimizer.rules.interface import ImplementationRule, Pattern, TransformationRule, binds

RulesBelow: TypeAlias = tuple[tuple[int, TransformationRule, tuple[Pattern, ...]], ...]


class RuleSet:
    """Rules in the order in which they are tried, each transformation rule with a bit.

    `barred`: by the name of a rule, the bits of those that are never tried on the root of its results. `deep`: those that look
    into inputs, each with the parts of its pattern at each level; `deepest`: levels of the deepest. `wishes`: whether
    rules want join graphs expanded (`TransformationRule.expands`); `joins`: the implementation rules of joins.
    """

    def __init__(
        self, transformations: tuple[TransformationRule, ...], implementations: tuple[ImplementationRule, ...],
        enforcers: tuple[str, ...], enumeration: str,
    ) -> None:  # fmt: skip
        self.transformations, self.implementations, self.enforcers = transformations, implementations, enforcers
        self.numbered = tuple((1 << i, rule) for i, rule in enumerate(transformations))
        self.bits = {rule.name: bit for bit, rule in self.numbered}
        self.barred = {
            rule.name: sum(self.bits.get(name, 0) for name in rule.closes)
            for rule in transformations
            if not rule.closes_in or enumeration in rule.closes_in
        }
        self.deep = tuple(
            (bit, rule, tuple(rule.pattern.level(depth) for depth in range(rule.pattern.depth)))
            for bit, rule in self.numbered
            if rule.pattern.depth > 1
        )
        self.deepest = max((rule.pattern.depth for rule in transformations), default=1)
        self.wishes = {rule.expands for rule in transformations if binds(rule.pattern, Join)}
        self.joins = {type(rule) for rule in implementations if issubclass(Join, rule.pattern.op or Join)}
        self._of: dict[type[LogicalOperator], tuple[tuple[int, TransformationRule], ...]] = {}
        self._implementing: dict[type[LogicalOperator], tuple[ImplementationRule, ...]] = {}
        self._below: dict[frozenset[type[LogicalOperator]], tuple[RulesBelow, ...]] = {}

    def of(self, op: LogicalOperator) -> tuple[tuple[int, TransformationRule], ...]:
        """The transformation rules, with their bits, whose patterns may have an operator of this type at the root."""
        known = self._of.get(type(op))
        if known is None:
            known = tuple((bit, rule) for bit, rule in self.numbered if isinstance(op, rule.pattern.op or LogicalOperator))
            self._of[type(op)] = known
        return known

    def implementing(self, op: LogicalOperator) -> tuple[ImplementationRule, ...]:
        """The implementation rules whose patterns have an operator of this type at the root."""
        known = self._implementing.get(type(op))
        if known is None:
            known = tuple(rule for rule in self.implementations if isinstance(op, rule.pattern.op or LogicalOperator))
            self._implementing[type(op)] = known
        return known

    def below(self, ops: frozenset[type[LogicalOperator]]) -> tuple[RulesBelow, ...]:
        """For each level below the root the rules whose patterns may have an operator of these types there, with their bits and
        what their patterns name there; no levels beyond the last that has some."""
        known = self._below.get(ops)
        if known is None:
            found = [
                tuple(
                    (bit, rule, levels[depth])
                    for bit, rule, levels in self.deep
                    if len(levels) > depth and any(part.op and issubclass(op, part.op) for part in levels[depth] for op in ops)
                )
                for depth in range(1, self.deepest)
            ]
            while found and not found[-1]:
                found.pop()
            known = self._below[ops] = tuple(found)
        return known
