"""What rules and operators of a plug-in return, checked as they return it: a wrong tree is a wrong plan, or a far-away error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from typing import Any

from optimizer.algebra.columns import ColumnSet, column_ids, column_set, union
from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.physical import PhysicalOperator
from optimizer.algebra.props import LogicalProps
from optimizer.algebra.scalars import Scalar
from optimizer.algebra.traits import Alternative, TraitSet
from optimizer.algebra.trees import Tree
from optimizer.cost.joins import JoinCosts
from optimizer.errors import PlanscopeError, SettingsError, many
from optimizer.plugin_code import plugin_line, written_in
from optimizer.rules.interface import ImplementationRule, RewriteRule, Rule, RuleContext
from optimizer.stats.relation import RelationStats

Apply = Callable[[Tree, RuleContext], Any]
Check = Callable[[Any, str, tuple[Any, ...]], Any]


def check_results(rule: Rule) -> None:
    """Have what `apply` of a rule returns checked; it raises SettingsError where that is wrong."""
    rule.apply = partial(_checked, rule.apply, rule, f"{written_in(rule.apply) or written_in(type(rule))}rule {rule.name}")  # type: ignore[attr-defined]


def _checked(apply: Apply, rule: Rule, where: str, bound: Tree, context: RuleContext) -> Any:
    found = apply(bound, context)
    if isinstance(rule, RewriteRule):
        if found is not None and not isinstance(found, Tree):
            raise SettingsError(f"{where} returned {shown(found)}\napply returns a Tree, None where it does not apply")
        if found is not None:
            _check_tree(found, where)
        if found is not None and (missing := bound.columns & ~found.columns):
            without = ", ".join(map(context.columns.label, column_ids(missing)))
            raise SettingsError(f"{where} returned a tree without {without}\nit has the columns of the tree that is bound")
        return found
    if not isinstance(found, Iterable):
        raise SettingsError(f"{where} returned {shown(found)}\napply returns a sequence, () where it does not apply")
    kind = PhysicalOperator if isinstance(rule, ImplementationRule) else Tree
    found = tuple(found)
    for each in found:
        if not isinstance(each, kind):
            raise SettingsError(f"{where} returned {shown(each)} in its sequence, which is no {kind.__name__}")
        if isinstance(each, Tree):
            _check_tree(each, where)
        else:
            there = bound.columns | union(below.columns for below in bound.inputs)
            _check_columns(each, each.used_columns(bound.columns) & ~there, where)
        if isinstance(each, Tree) and each.columns != bound.columns:
            label = context.columns.label
            wrong = {"without": bound.columns & ~each.columns, "with": each.columns & ~bound.columns}
            parts = [f"{how} {', '.join(map(label, column_ids(columns)))}" for how, columns in wrong.items() if columns]
            raise SettingsError(f"{where} returned a tree {' and '.join(parts)}\nits columns are those of the tree that is bound")
    return found


def _check_columns(op: LogicalOperator | PhysicalOperator, unknown: ColumnSet, where: str) -> None:
    for id in column_ids(unknown):
        raise SettingsError(f"{where} returned {op.name} that reads column #{id}, which none of its inputs has")


def _check_tree(found: Tree, where: str) -> None:
    try:
        wrong = [scalar for scalar in found.op.scalars() if not isinstance(scalar, Scalar)]
        said = f"has {wrong[0]!r:.60} for a scalar" if wrong else ""
        for tree in () if wrong else found._without("_columns"):
            own = tree.columns  # the next tree comes once this one knows them
            there = union(below.columns for below in tree.inputs) if tree.inputs else own
            _check_columns(tree.op, tree.op.used_columns() & ~there, where)
        hash(found.op), found.columns
    except Exception as error:
        if isinstance(error, PlanscopeError) or plugin_line(error) is not None:
            raise
        said = f"cannot be read: {type(error).__name__}: {error}"
    if said:
        hint = (
            "a tree has an operator, a frozen dataclass whose fields are scalars, texts, numbers or tuples, and a tuple of trees"
        )
        raise SettingsError(f"{where} returned a tree that {said}\n{hint}")


def check_methods_of(kind: type, checks: Mapping[str, Check]) -> None:
    """Have what a class's own methods return checked; they raise SettingsError. Once."""
    for name, check in checks.items():
        if callable(own := vars(kind).get(name)) and not hasattr(own, "__wrapped__"):
            called = getattr(kind, "name", kind.__name__)
            setattr(kind, name, _with_check(own, f"{written_in(own)}{name} of {called}", check))


def _with_check(method: Callable[..., Any], where: str, check: Check) -> Callable[..., Any]:
    @wraps(method)
    def called(*args: Any, **named: Any) -> Any:
        return check(method(*args, **named), where, (*args, *named.values()))

    return called


def _ways(found: Any, where: str, args: tuple[Any, ...]) -> tuple[Alternative, ...]:
    if not isinstance(found, Iterable):
        raise SettingsError(f"{where} returned {shown(found)}\nit returns a sequence of Alternatives")
    alternatives: tuple[Alternative, ...] = tuple(found)
    for each in alternatives:
        if not isinstance(each, Alternative):
            raise SettingsError(f"{where} returned {shown(each)} in its sequence, which is no Alternative")
        if not isinstance(each.inputs, tuple) or not all(isinstance(part, TraitSet) for part in (*each.inputs, each.delivered)):
            raise SettingsError(f"{where} returned {each!r:.200}\nan Alternative has a tuple of TraitSets, and a TraitSet")
        if len(each.inputs) != len(args[-1]):
            there = f"and there {'is' if len(args[-1]) == 1 else 'are'} {len(args[-1])}"
            raise SettingsError(f"{where} returned an Alternative for {many(len(each.inputs), 'input')}, {there}")
    return alternatives


def _instance(kind: type | tuple[type, ...], what: str) -> Check:
    def check(found: Any, where: str, args: tuple[Any, ...]) -> Any:
        if not isinstance(found, kind):
            raise SettingsError(f"{where} returned {shown(found)}\nit returns {what}")
        return found

    return check


def _estimate(found: Any, where: str, args: tuple[Any, ...]) -> Any:
    if not isinstance(found, RelationStats):
        raise SettingsError(f"{where} returned {shown(found)}\nit returns RelationStats")
    for props in args:
        if isinstance(props, LogicalProps) and (without := props.columns & ~column_set(found.columns)):
            count = many(without.bit_count(), "column")
            raise SettingsError(f"{where} returned RelationStats without figures for {count}\nchange those that super() gives")
    return found


def shown(value: object) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


_TEXT, _COLUMNS = _instance(str, "a text"), _instance(int, "a set of columns, as column_set makes it")
_JOINS = "JoinCosts of optimizer.cost.joins; a model without the method has its joins costed one by one"
OPERATORS = {
    "pass_through": _ways, "derive": _ways, "describe": _TEXT, "used_columns": _COLUMNS, "columns_of_input": _COLUMNS,
}  # fmt: skip
LOGICAL_OPERATORS = {
    "derive_props": _instance(LogicalProps, "LogicalProps"), "describe": _TEXT, "used_columns": _COLUMNS,
}  # fmt: skip
ESTIMATORS = {"estimate": _estimate, "inner_region": _estimate}
COST_MODELS = {"join_costs": _instance(JoinCosts, _JOINS)}
