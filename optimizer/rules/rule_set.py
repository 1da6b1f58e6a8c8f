"""The rules of one search, and what it asks of them again and again. Made once for all queries."""

from __future__ import annotations

from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.logical_joins import Join
from optimizer.rules.interface import ImplementationRule, TransformationRule, binds


class RuleSet:
    """Rules in the order in which they are tried, each transformation rule with a bit.

    `barred`: by the name of a rule, the bits of those that are never tried on the root of its results. `deep`: those that look
    into inputs, each with the parts of its pattern at each level; `deepest`: levels of the deepest. `wishes`: whether
    rules want join graphs expanded (`TransformationRule.expands`); `joins`: the implementation rules of joins.
    """

    __slots__ = (
        "_implementing", "_of", "barred", "bits", "deep", "deepest", "enforcers", "implementations", "joins", "numbered",
        "transformations", "wishes",
    )  # fmt: skip

    def __init__(
        self,
        transformations: tuple[TransformationRule, ...],
        implementations: tuple[ImplementationRule, ...],
        enforcers: tuple[str, ...],
        enumeration: str,
    ) -> None:
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
