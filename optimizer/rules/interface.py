"""What a rule is: a pattern the binder looks for, and a pure function from a binding to equivalent expressions.

The same interface serves the pre-pass (bindings are whole trees) and the memo (bindings end in `Leaf`s, groups).
A pattern names logical operator types only; physical operators are other types, so no rule can bind one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeAlias

from optimizer.algebra.columns import Columns, ColumnSet
from optimizer.algebra.kinds import JoinKind
from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.logical_joins import Join
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.query_blocks import Blocks
from optimizer.algebra.trees import Node, Tree
from optimizer.settings import Settings

OperatorType: TypeAlias = type[LogicalOperator] | tuple[type[LogicalOperator], ...]


class Pattern:
    """An operator type, or one of several, over patterns for its inputs. `op` None is ANY: an input the rule does not look into.

    `inputs` None: any number of inputs, none of them looked into. `where` says which operators of that type fit, `under` which
    fit below another one, the first; they see operators without their inputs, and must always say the same of the same ones.
    `depth`: levels of operators a binding holds: 0 for ANY, 1 for an operator over ANY inputs.
    """

    __slots__ = ("depth", "inputs", "op", "under", "where")

    def __init__(
        self, op: OperatorType | None, inputs: tuple[Pattern, ...] | None = None,
        where: Callable[[LogicalOperator], bool] | None = None,
        under: Callable[[LogicalOperator, LogicalOperator], bool] | None = None,
    ) -> None:  # fmt: skip
        self.op, self.inputs, self.where, self.under = op, inputs, where, under
        self.depth: int = 0 if op is None else 1 + max((below.depth for below in inputs or ()), default=0)

    def __repr__(self) -> str:
        if self.op is None:
            return "ANY"
        named = " or ".join(op.__name__ for op in (self.op if isinstance(self.op, tuple) else (self.op,)))
        return f"node({', '.join((named, *map(repr, self.inputs or ())))})"

    def takes(self, op: LogicalOperator, above: LogicalOperator | None = None) -> bool:
        """Whether an operator fits, whatever its inputs are; `above`: the one that it is below, where that is known."""
        if self.op is None:
            return True
        if not isinstance(op, self.op) or (self.where is not None and not self.where(op)):
            return False
        return self.under is None or above is None or self.under(above, op)

    def level(self, depth: int) -> tuple[Pattern, ...]:
        """The parts of the pattern that name an operator `depth` levels below its root."""
        if depth == 0:
            return () if self.op is None else (self,)
        return tuple(part for below in self.inputs or () for part in below.level(depth - 1))


ANY = Pattern(None)


def binds(pattern: Pattern, op: type[LogicalOperator]) -> bool:
    """Whether some operator of the pattern can be an `op`."""
    return pattern.op is not None and (issubclass(op, pattern.op) or any(binds(p, op) for p in pattern.inputs or ()))


_MEANT = {
    **dict.fromkeys(("UnionAll", "MergeUnion"), "SetOp, whose kind is SetOpKind.UNION"),
    **dict.fromkeys(("HashJoin", "MergeJoin", "NestedLoopJoin"), "Join"),
    **dict.fromkeys(("HashAggregate", "StreamingAggregate"), "Aggregate"),
    **dict.fromkeys(("LimitRows", "TopK"), "Limit"),
    "ConstantRows": "Values", "FilterRows": "Filter", "HashGroupingSets": "GroupingSets", "HashSetOp": "SetOp",
    "NestedApply": "Apply", "ProjectRows": "Project", "TableScan": "Scan", "WindowRows": "Window",
}  # fmt: skip
"""Physical operators that a pattern may be meant to have -> the logical one."""


def node(op: OperatorType, *inputs: Pattern, where: Callable[[LogicalOperator], bool] | None = None) -> Pattern:
    """Pattern of an operator over inputs, perhaps only of those `where` something holds; `node(SetOp)` takes any number of
    ANY inputs."""
    for each in op if isinstance(op, tuple) else (op,):
        name = getattr(each, "__name__", repr(each))
        meant = f": write {_MEANT[name]}" if name in _MEANT else ""
        logical = isinstance(each, type) and issubclass(each, LogicalOperator)
        assert logical, f"a pattern can only name a logical operator, not {name}{meant}"
    for below in inputs:
        called = getattr(below, "__name__", repr(below))
        assert isinstance(below, Pattern), f"an input of a pattern is ANY or a node, not {called:.60}: write node({called:.60})"
    return Pattern(op, inputs or None, where)


def of_kinds(*kinds: JoinKind) -> Callable[[LogicalOperator], bool]:
    """For `node(Join, …, where=…)`: joins of these kinds only."""
    return lambda op: isinstance(op, Join) and op.kind in kinds


def join_over_join(*kinds: tuple[JoinKind, JoinKind]) -> Pattern:
    """A join with a join for its left input, of these kinds, (lower, upper)."""
    pairs = frozenset(kinds)

    def fit(above: LogicalOperator, op: LogicalOperator) -> bool:
        return isinstance(above, Join) and isinstance(op, Join) and (op.kind, above.kind) in pairs

    lower = Pattern(Join, (ANY, ANY), of_kinds(*(lower for lower, _ in kinds)), fit)
    return node(Join, lower, ANY, where=of_kinds(*(upper for _, upper in kinds)))


class Promise(IntEnum):
    """In which order rules are tried on a multi-expression; higher first."""

    NORMALIZE = 30
    EXPLORE = 20
    IMPLEMENT = 10


Partition: TypeAlias = Callable[[Any, int], list[int]]  # a join graph and a set of relations -> a part of each split


class RuleContext(NamedTuple):
    """What a rule may use besides its binding: the query's columns (to add computed ones) and the settings. `forced`: the columns
    of each set of relations that a forced join order has (`joins.placed_order`). `partition`: the enumerator of a plug-in.
    `grouped_share`: how many rows are left of one of a node's when they are grouped by columns, as estimated; none before the
    search. `join_graph`: an inner join with all that its inputs join, where rules alone order joins. `bounds`: by table and
    column, as stored, between which values all of the column lie, None where that is not known. `spools`: what references read,
    before the search; what a recursion reads of itself is not among them. `blocks`: the query's (`algebra.query_blocks`)."""

    columns: Columns
    settings: Settings
    forced: tuple[ColumnSet, ...] = ()
    partition: Partition | None = None
    grouped_share: Callable[[Node, ColumnSet], float] | None = None
    join_graph: Callable[[Tree], Tree | None] | None = None
    bounds: Callable[[str, str], tuple[Any, Any] | None] | None = None
    spools: Mapping[int, Tree] = MappingProxyType({})
    blocks: Blocks = ()


EXPANDS = ("always", "small", "never")  # a TransformationRule's `expands`


class Rule:
    """Base of all rules. `name` is also the `--disable` argument, the name in traces, and that of a file about the rule."""

    name: ClassVar[str]
    pattern: ClassVar[Pattern]
    promise: ClassVar[Promise]

    @classmethod
    def text(cls) -> str:
        """What is said of the rule: its docstring, or that of the file which is named after it."""
        about = cls.__module__.endswith(f".{cls.name}")
        return ((sys.modules[cls.__module__].__doc__ if about else cls.__doc__) or "").strip()

    @classmethod
    def summary(cls) -> str:
        """The rule's one-line description."""
        return cls.text().partition("\n")[0]


class TransformationRule(Rule):
    """Logical to logical, both kept: `apply` returns trees equivalent to `bound`; () means that it does not apply.

    `used_with`: settings, each with the values under which the rule is used. `closes`: rules that are never tried on the part
    of a result that `closed` says, since they would only find again what is there (Pellenkoft's flags); `closes_in`: the
    enumerations in which they are not, () for all.
    `expands`: whether join graphs are expanded into joins for the rule, if its pattern binds joins: "always", "small" (up to
    the setting `expand_joins`), or "never" (the rule finds nothing in a region of inner joins that partitioning does not).
    """

    promise = Promise.EXPLORE
    used_with: ClassVar[tuple[tuple[str, tuple[str, ...]], ...]] = ()
    closes: ClassVar[tuple[str, ...]] = ()
    closes_in: ClassVar[tuple[str, ...]] = ()
    expands: ClassVar[str] = "always"

    def unused(self, settings: Settings) -> str:
        """Which setting leaves the rule out; "" where it is used."""
        for name, values in self.used_with:
            if getattr(settings, name) not in values:
                return f"it is used with {name}={', '.join(values)}, not {getattr(settings, name)}"
        return ""

    def closed(self, result: Tree, rule: str | None, context: RuleContext) -> Tree | None:
        """The part of a result that the rules in `closes` leave alone. `rule`: what made the expression that was bound."""
        return result

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[Tree]:
        raise AssertionError(f"{self.name} has no apply")


class Sweep(StrEnum):
    """Over the whole tree once, each operator asked once: inputs before the operator, or operators before their inputs."""

    UP = "up"
    DOWN = "down"


class RewriteRule(Rule):
    """A pre-pass rewrite: always at least as good, so its result replaces `bound`; None means that it does not apply.

    `sweep` None: the rule fires wherever its batch finds it applies, in the batch's order. Else it passes over the whole tree
    by itself, where it stands in the batch's list of rules. `openings`: what one of the operator's scalars has to have for the
    rule to be asked, or something in its tree, as bits of `prepass.openings` and `algebra.flags`; 0: nothing. `covers`: it sees
    to all below the operator that it is asked about: it would do nothing to its result, nor to anything in it, nor in what it
    left as it was. `spares`: rules that do not come to apply where it does nothing but take columns from leaves, nor above where
    it does nothing but put into a leaf the conjuncts that stood over it.
    """

    promise = Promise.NORMALIZE
    sweep: ClassVar[Sweep | None] = None
    openings: ClassVar[int] = 0
    covers: ClassVar[bool] = False
    spares: tuple[RewriteRule, ...] = ()

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        raise AssertionError(f"{self.name} has no apply")


Rewrite: TypeAlias = Callable[[Tree, RuleContext], Tree | None]

ANY_OPERATOR = node(LogicalOperator)


class FunctionRule(RewriteRule):
    """A rewrite that is one function; made by `rewrite`. Each function has a class of its own, which carries its name."""

    function: ClassVar[Rewrite]

    def apply(self, bound: Tree, context: RuleContext) -> Tree | None:
        return type(self).function(bound, context)


def rewrite(
    pattern: Pattern = ANY_OPERATOR, *, sweep: Sweep | str | None = None, name: str | None = None, openings: int = 0
) -> Callable[[Rewrite], RewriteRule]:
    """Makes a function a rule. It is asked about trees that fit `pattern`, and answers with a tree of the same rows in the same
    columns, or None where it does not apply. `sweep`: "up" or "down"; `name`: other than the function's; `openings`: as in
    `RewriteRule`."""
    assert isinstance(pattern, Pattern), "rewrite is called with a pattern, or with nothing: write @rewrite()"
    chosen = None if sweep is None else Sweep(sweep)

    def rule_of(function: Rewrite) -> RewriteRule:
        own = name or function.__name__
        parts = {
            "name": own, "pattern": pattern, "sweep": chosen, "openings": openings, "function": staticmethod(function),
            "__doc__": function.__doc__, "__module__": function.__module__,
        }  # fmt: skip
        rule: FunctionRule = type(own, (FunctionRule,), parts)()
        rule.apply = function  # type: ignore[assignment]  # without a call between: rules are asked often
        return rule

    return rule_of


class ImplementationRule(Rule):
    """Logical to physical: operators that compute `bound.op` over the same inputs in the same order.

    `to`: a physical operator each of whose fields the logical one has under the same name; a rule that has more to say than that
    has an `apply` of its own.
    """

    promise = Promise.IMPLEMENT
    to: ClassVar[type[PhysicalOperator] | None] = None

    def apply(self, bound: Tree, context: RuleContext) -> Sequence[PhysicalOperator]:
        assert self.to is not None, f"{self.name} has neither an operator nor an apply"
        return (self.to(*(getattr(bound.op, name) for name in self.to.__match_args__)),)
