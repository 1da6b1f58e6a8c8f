"""What a program of the pre-pass is made of: instructions. Programs are data, to be printed, reordered, cut or replaced.

    a rule       fires wherever it applies until it does so nowhere
    Batch        a group of rules, together: once or to a fixpoint, in a match order, within limits
    Subprogram   instructions in sequence, once or again and again until a round changes nothing

The instructions are those of Calcite's HEP planner, where match order and match limit are instructions of their own that hold
for the groups after them; here each group says its own. Once and fixed point with a maximum are Catalyst's strategies;
`one_firing` is how sql-query-engine-rs iterates.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from optimizer.rules.interface import RewriteRule


class MatchOrder(StrEnum):
    """Which vertex is next, and where the search for it goes on after a firing.

    arbitrary     operators before their inputs; after a firing on with the result, then with its inputs. What a firing makes
                  possible above it waits for the next pass. The fastest
    depth_first   likewise, but a subtree in which something fired is brought to its own fixpoint before it is left
    top_down      operators before their inputs; after a firing again from the root, so the highest vertex always fires first
    bottom_up     inputs before their operator; after a firing again from the leaves, so a vertex fires only when none below does
    """

    ARBITRARY = "arbitrary"
    DEPTH_FIRST = "depth_first"
    TOP_DOWN = "top_down"
    BOTTOM_UP = "bottom_up"


class Batch(NamedTuple):
    """Rules that are tried together, in this order at each vertex.

    `fixpoint`: pass over the tree again until nothing fires, at most `passes` times (None: only the setting `prepass_limit`
    ends it); else one pass, without returning to what a firing made possible elsewhere. `match_limit`: at most so many
    firings. `one_firing`: in a pass each rule in turn fires at one vertex, the first of the order where it applies, or none.
    """

    name: str
    rules: tuple[RewriteRule, ...]
    fixpoint: bool = True
    order: MatchOrder = MatchOrder.ARBITRARY
    passes: int | None = None
    match_limit: int | None = None
    one_firing: bool = False


class Subprogram(NamedTuple):
    """Instructions in sequence; `fixpoint`: again until a round changes nothing, at most `passes` rounds (None: no maximum)."""

    name: str
    steps: tuple[Instruction, ...]
    fixpoint: bool = True
    passes: int | None = None


Instruction: TypeAlias = "RewriteRule | Batch | Subprogram"
Program: TypeAlias = "Sequence[Instruction]"


def rules_of(program: Program) -> tuple[RewriteRule, ...]:
    """Every rule that a program may fire, each once, in the order in which it is met first."""
    found: dict[RewriteRule, None] = {}
    for instruction in program:
        match instruction:
            case Batch(rules=rules):
                found.update(dict.fromkeys(rules))
            case Subprogram(steps=steps):
                found.update(dict.fromkeys(rules_of(steps)))
            case _:
                found[instruction] = None
    return tuple(found)


def without(program: Program, names: Collection[str]) -> tuple[Instruction, ...]:
    """The program without the rules of these names, wherever they stand."""
    kept: list[Instruction] = []
    for instruction in program:
        match instruction:
            case Batch(rules=rules):
                kept.append(instruction._replace(rules=tuple(rule for rule in rules if rule.name not in names)))
            case Subprogram(steps=steps):
                kept.append(instruction._replace(steps=without(steps, names)))
            case _:
                kept += [] if instruction.name in names else [instruction]
    return tuple(kept)
