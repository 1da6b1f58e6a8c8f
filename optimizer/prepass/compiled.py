"""A program in the form in which it is run: for each batch, which of its rules can apply at which type of operator.

Made once for a program and the rules that the settings disable, and kept for the queries that follow.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from itertools import repeat
from operator import or_
from typing import NamedTuple, TypeAlias

from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.instructions import Batch, Instruction, MatchOrder, Subprogram, rules_of
from optimizer.prepass.openings import all_openings
from optimizer.rules.interface import Pattern, RewriteRule, Sweep

# a rule, its bit, whether more than the operator's type has to fit, the bits of those that it spares
Candidate: TypeAlias = tuple[RewriteRule, int, bool, int]


class RuleTable:
    """Rules that are tried together: by type of operator and openings, those that can apply, in order."""

    def __init__(self, rules: tuple[tuple[RewriteRule, int, int], ...], sweep: Sweep | None) -> None:
        self._rules, self.sweep = rules, sweep
        self.covers = len(rules) == 1 and rules[0][0].covers
        self._openings = reduce(or_, (rule.openings for rule, *_ in rules), 0)
        self._by_types: dict[tuple[object, ...], tuple[int, tuple[Candidate, ...]]] = {}

    def candidates(self, vertex: Tree) -> tuple[int, tuple[Candidate, ...]]:
        """The bits of all of them, and they."""
        wanted = all_openings(vertex) & self._openings if self._openings else 0
        key = wanted, type(vertex.op), *[type(below.op) for below in vertex.inputs[:2]]
        found = self._by_types.get(key)
        if found is None:
            rules = [each for each in self._rules if not each[0].openings or each[0].openings & wanted]
            rules = [each for each in rules if _fits_by_types(vertex, each[0].pattern)]
            candidates = tuple((r, bit, _looks_further(r.pattern, vertex.op), spared) for r, bit, spared in rules)
            found = self._by_types[key] = sum(bit for _, bit, _ in rules), candidates
        return found


class CompiledBatch(NamedTuple):
    """`tables`: the parts of a pass, one after the other: neighbouring rules without a sweep together, each other rule alone;
    with `one_firing` every rule alone."""

    batch: Batch
    tables: tuple[RuleTable, ...]

    @property
    def simple(self) -> bool:
        """Whether its passes go downwards and never return to a place, so that they can do without interned vertices."""
        batch = self.batch
        if batch.one_firing or any(table.sweep is not None for table in self.tables):
            return False
        return batch.order is MatchOrder.ARBITRARY or not (batch.fixpoint or batch.order is MatchOrder.BOTTOM_UP)


class CompiledSubprogram(NamedTuple):
    subprogram: Subprogram
    steps: tuple[CompiledBatch | CompiledSubprogram, ...]


@lru_cache(maxsize=16)
def compiled(program: tuple[Instruction, ...], disabled: tuple[str, ...]) -> tuple[CompiledBatch | CompiledSubprogram, ...]:
    """The program without the disabled rules, ready to run. A rule alone becomes a batch to a fixpoint, named after it."""
    bits = {rule: 1 << i for i, rule in enumerate(rule for rule in rules_of(program) if rule.name not in disabled)}
    return tuple(_step(instruction, bits) for instruction in program)


def _step(instruction: Instruction, bits: dict[RewriteRule, int]) -> CompiledBatch | CompiledSubprogram:
    if isinstance(instruction, Subprogram):
        return CompiledSubprogram(instruction, tuple(_step(step, bits) for step in instruction.steps))
    batch = instruction if isinstance(instruction, Batch) else Batch(instruction.name, (instruction,))
    return CompiledBatch(batch, _tables(batch, bits))


def _tables(batch: Batch, bits: dict[RewriteRule, int]) -> tuple[RuleTable, ...]:
    parts: list[tuple[list[tuple[RewriteRule, int, int]], Sweep | None]] = []
    for rule in batch.rules:
        if rule in bits:
            if batch.one_firing or rule.sweep is not None or not parts or parts[-1][1] is not None:
                parts.append(([], rule.sweep))
            parts[-1][0].append((rule, bits[rule], sum(bits.get(other, 0) for other in rule.spares)))
    return tuple(RuleTable(tuple(rules), sweep) for rules, sweep in parts)


def _fits_by_types(vertex: Tree, pattern: Pattern) -> bool:
    """Whether the pattern may match, as far as the types of the operator and its first two inputs say."""
    pairs = [
        (vertex.op, pattern.op),
        *((node.op, p.op) for node, p in zip(vertex.inputs[:2], pattern.inputs or (), strict=False)),
    ]
    return all(wanted is None or isinstance(op, wanted) for op, wanted in pairs)


def _looks_further(pattern: Pattern, op: LogicalOperator) -> bool:
    """Whether it has more to say than that of operators of this type."""
    below = pattern.inputs or ()
    if pattern.where is not None or any(p.where or p.under or p.inputs for p in below):
        return True
    return pattern.inputs is not None and len(below) != op.arity


def fits(node: Node, pattern: Pattern, above: LogicalOperator | None = None) -> bool:
    """Whether `pattern` matches at `node`, which is below the operator `above`."""
    if pattern.op is None:
        return True
    if not isinstance(node, Tree) or not pattern.takes(node.op, above):
        return False
    if pattern.inputs is None:
        return True
    return len(pattern.inputs) == len(node.inputs) and all(map(fits, node.inputs, pattern.inputs, repeat(node.op)))
