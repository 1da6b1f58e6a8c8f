"""What a plug-in brings, by kind and name.

    from planscope.plugin import rule               def register(registry):
    @rule                                               registry.rule(DistinctRemove)
    class DistinctRemove(TransformationRule): ...

A file may do either. A kind is a method of `Registry` and a decorator of its name; what is registered is checked here, so that
a mistake is found where it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from optimizer.algebra.physical import OPERATORS, PhysicalOperator
from optimizer.cost.model import CostModel
from optimizer.engines.arrow import COST_MODELS
from optimizer.errors import SettingsError
from optimizer.joins.graph import JoinGraph, Relations
from optimizer.joins.partition import PARTITIONERS
from optimizer.plugins import results
from optimizer.plugins.signatures import (
    COST_MODEL,
    ESTIMATOR,
    MORE_OF_COSTS,
    OPERATOR,
    RULE,
    check_arguments,
    check_cost_model,
    check_fields,
    check_methods,
    check_names,
    check_pattern,
)
from optimizer.prepass.functions import FunctionRule
from optimizer.prepass.instructions import Batch, Program, rules_of
from optimizer.rules.interface import EXPANDS, ImplementationRule, Pattern, RewriteRule, Rule, Sweep, TransformationRule
from optimizer.settings import DEFAULTS, ESTIMATORS
from optimizer.stats.estimator import Estimator

Thing = TypeVar("Thing")
_RULES = {TransformationRule: "transform", ImplementationRule: "implement", RewriteRule: "prepass"}
Enumerator: TypeAlias = Callable[[JoinGraph, Relations], list[Relations]]
_OPERATORS = frozenset(each.name for each in OPERATORS)


class Extension(NamedTuple):
    """One thing that a plug-in brings. `kind`: transform, implement, prepass, operator, cost_model, estimator or enumerator."""

    name: str
    kind: str
    doc: str
    file: str
    thing: Any


class Registry:
    """Everything that some plug-ins bring. `taken`: names of the rules there are without them."""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self.extensions: list[Extension] = []
        self._taken = taken
        self.file = ""  # of the plug-in that registers now

    def rule(self, rule: Thing) -> Thing:
        """A rule, or a class of rules that needs no arguments; its base class says of which kind."""
        made = rule() if isinstance(rule, type) else rule
        base = next((base for base in _RULES if isinstance(made, base)), None)
        if base is None or not isinstance(made, Rule):
            raise SettingsError(
                f"{_called(rule)} is no rule: derive it from TransformationRule, ImplementationRule or RewriteRule"
            )
        pattern = getattr(made, "pattern", None)
        if not isinstance(pattern, Pattern):
            has = "no pattern" if pattern is None else f"the pattern {getattr(pattern, '__name__', pattern)!s:.60}"
            raise SettingsError(f"{_called(rule)} has {has}: write pattern = node(...)")
        if pattern.op is None and base is not RewriteRule:
            raise SettingsError(f"the pattern of {_called(rule)} is ANY: write pattern = node(...), which names an operator")
        if type(made).apply is base.apply and getattr(made, "to", None) is None:  # type: ignore[attr-defined]
            raise SettingsError(f"{_called(rule)} has no method apply(self, bound, context)")
        if not isinstance(made.promise, int | float):
            raise SettingsError(f"{_called(rule)} has the promise {made.promise!r:.60}: write a number, or one of Promise")
        if isinstance(made, TransformationRule) and made.expands not in EXPANDS:
            raise SettingsError(f"{_called(rule)} has expands = {made.expands!r:.60}: it is one of {', '.join(EXPANDS)}")
        check_methods(type(made), RULE)
        check_names(type(made), dir(base))
        if isinstance(made, RewriteRule) and made.sweep not in (None, *Sweep):
            raise SettingsError(f"{_called(rule)} has sweep = {made.sweep!r:.60}: it is None or one of {', '.join(Sweep)}")
        for each in made.used_with if isinstance(made, TransformationRule) else ():
            if not (isinstance(each, tuple) and len(each) == 2 and hasattr(DEFAULTS, each[0]) and isinstance(each[1], tuple)):
                raise SettingsError(f'{_called(rule)} has {each!r:.60} in used_with: write ("setting", ("value", ...))')
        if isinstance(made, FunctionRule):
            check_arguments(type(made).function, made.name, ("tree", "context"))
        check_pattern(_called(rule), made.pattern)
        if isinstance(made, ImplementationRule) and made.to is not None:
            check_fields(_called(rule), made.pattern, made.to)
        self._add(made, _RULES[base], self._taken)
        results.check_results(made)
        return rule

    def operator(self, operator: type[PhysicalOperator]) -> type[PhysicalOperator]:
        """A physical operator: a frozen dataclass whose methods `cost` and `stage` or `produce` price and run it, or are
        those of the operator it is derived from."""
        if not (isinstance(operator, type) and issubclass(operator, PhysicalOperator)):
            raise SettingsError(f"{_called(operator)} is no operator: derive it from PhysicalOperator or from one of its classes")
        check_methods(operator, OPERATOR)
        self._add(operator, "operator", _OPERATORS)
        results.check_methods_of(operator, results.OPERATORS)
        return operator

    def cost_model(self, model: Callable[[], CostModel]) -> Callable[[], CostModel]:
        """A class of cost models that needs no arguments; `--set cost_model=NAME` chooses it."""
        check_cost_model(model, _called(model))
        if not isinstance(model, type):
            raise SettingsError(f"an object of {_called(model)} is no cost model here: register the class")
        check_methods(model, {**COST_MODEL, **MORE_OF_COSTS})
        self._add(model, "cost_model", frozenset(COST_MODELS))
        results.check_methods_of(model, results.COST_MODELS)
        return model

    def estimator(self, estimator: type[Estimator]) -> type[Estimator]:
        """An estimator; `--set estimator=NAME` chooses it. NAME is its `name`, else that of the class."""
        if not (isinstance(estimator, type) and issubclass(estimator, Estimator)):
            raise SettingsError(f"{_called(estimator)} is no estimator: derive it from Estimator or KnownRows")
        check_methods(estimator, ESTIMATOR)
        self._add(estimator, "estimator", frozenset(ESTIMATORS), name=getattr(estimator, "name", None) or estimator.__name__)
        results.check_methods_of(estimator, results.ESTIMATORS)
        return estimator

    def enumerator(self, splits: Enumerator) -> Enumerator:
        """A function (graph, relations) that gives the splits of a connected set that are tried, each as the part that has the
        lowest relation; `--set partitioner=NAME` chooses it. What it leaves out is not searched."""
        if not callable(splits):
            raise SettingsError(f"{_called(splits)} is no enumerator: write a function (graph, relations)")
        check_arguments(splits, _called(splits), ("graph", "relations"))
        self._add(splits, "enumerator", frozenset(PARTITIONERS), name=_called(splits))
        return splits

    def of_kind(self, kind: str) -> dict[str, Any]:
        """What there is of a kind, by name, in the order in which it was registered."""
        return {each.name: each.thing for each in self.extensions if each.kind == kind}

    def program(self, program: Program) -> Program:
        """A program of the pre-pass, and a last batch of the rewrites that it does not name itself."""
        named = rules_of(program)
        own = tuple(rule for rule in self.of_kind("prepass").values() if rule not in named)
        return (*program, Batch("plugins", own)) if own else program

    def _add(self, thing: Any, kind: str, taken: frozenset[str] = frozenset(), name: str | None = None) -> None:
        name = name if name is not None else getattr(thing, "name", None)
        if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
            snake = re.sub(r"(?<!^)(?=[A-Z])", "_", _called(thing)).lower()
            raise SettingsError(f'{_called(thing)} needs a name of letters, digits and _: name = "{snake}"')
        there = next((each.file for each in self.extensions if each.name == name), "planscope" if name in taken else None)
        if there is not None:
            raise SettingsError(f'there is a "{name}" already, of {there}: choose another name')
        doc = (thing.__doc__ or "").strip().partition("\n")[0]
        self.extensions.append(Extension(name, kind, doc, self.file, thing))


def _called(thing: Any) -> str:
    return str(getattr(thing, "__name__", None) or type(thing).__name__)


_loading: list[Registry] = []  # whose plug-in is being run


def _decorator(kind: str) -> Callable[[Thing], Thing]:
    def register(thing: Thing | None = None) -> Thing:
        if thing is None:
            raise SettingsError(f"@{kind} has no arguments: write it without parentheses")
        getattr(_loading[-1] if _loading else Registry(), kind)(thing)  # elsewhere it is only checked
        return thing

    register.__doc__ = getattr(Registry, kind).__doc__
    return register


rule: Callable[[Thing], Thing] = _decorator("rule")
operator: Callable[[Thing], Thing] = _decorator("operator")
cost_model: Callable[[Thing], Thing] = _decorator("cost_model")
estimator: Callable[[Thing], Thing] = _decorator("estimator")
enumerator: Callable[[Thing], Thing] = _decorator("enumerator")
