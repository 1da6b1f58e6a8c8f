"""What rules and operators of a plug-in return, checked as they return it: a wrong tree is a wrong plan, or a far-away error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any

from optimizer.algebra.columns import column_ids
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.traits import Alternative
from optimizer.algebra.trees import Tree
from optimizer.errors import SettingsError
from optimizer.rules.interface import ImplementationRule, RewriteRule, Rule, RuleContext

Apply = Callable[[Tree, RuleContext], Any]


def check_results(rule: Rule, file: str) -> None:
    """Have what `apply` of a rule returns checked; it raises SettingsError where that is wrong."""
    rule.apply = partial(_checked, rule.apply, rule, f"plug-in {file}: rule {rule.name}")  # type: ignore[attr-defined]


def _checked(apply: Apply, rule: Rule, where: str, bound: Tree, context: RuleContext) -> Any:
    found = apply(bound, context)
    if isinstance(rule, RewriteRule):
        if found is not None and not isinstance(found, Tree):
            raise SettingsError(f"{where} returned {_shown(found)}\napply returns a Tree, None where it does not apply")
        if found is not None and (missing := bound.columns & ~found.columns):
            without = ", ".join(map(context.columns.label, column_ids(missing)))
            raise SettingsError(f"{where} returned a tree without {without}\nit has the columns of the tree that is bound")
        return found
    if not isinstance(found, Iterable):
        raise SettingsError(f"{where} returned {_shown(found)}\napply returns a sequence, () where it does not apply")
    kind = PhysicalOperator if isinstance(rule, ImplementationRule) else Tree
    found = tuple(found)
    for each in found:
        if not isinstance(each, kind):
            raise SettingsError(f"{where} returned {_shown(each)} in its sequence, which is no {kind.__name__}")
        if isinstance(each, Tree) and each.columns != bound.columns:
            label = context.columns.label
            wrong = {"without": bound.columns & ~each.columns, "with": each.columns & ~bound.columns}
            parts = [f"{how} {', '.join(map(label, column_ids(columns)))}" for how, columns in wrong.items() if columns]
            raise SettingsError(f"{where} returned a tree {' and '.join(parts)}\nits columns are those of the tree that is bound")
    return found


def check_ways(operator: type[PhysicalOperator], file: str) -> None:
    """Have the alternatives that an operator's own `pass_through` and `derive` return checked; they raise SettingsError."""
    for name in ("pass_through", "derive"):
        own = vars(operator).get(name)
        if callable(own):
            setattr(operator, name, _with_checked_ways(own, f"plug-in {file}: {name} of {operator.name}"))


def _with_checked_ways(method: Callable[..., Any], where: str) -> Callable[..., Any]:
    @wraps(method)
    def checked(*args: Any) -> tuple[Alternative, ...]:
        found = method(*args)
        if not isinstance(found, Iterable):
            raise SettingsError(f"{where} returned {_shown(found)}\nit returns a sequence of Alternatives")
        found = tuple(found)
        for each in found:
            if not isinstance(each, Alternative):
                raise SettingsError(f"{where} returned {_shown(each)} in its sequence, which is no Alternative")
        return found

    return checked


def _shown(value: object) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"
