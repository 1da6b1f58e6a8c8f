"""What planscope passes to the methods of a plug-in, and whether they take it: told when the file is read, not in a search."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from inspect import getattr_static, signature
from typing import Any

from optimizer.algebra.logical import LogicalOperator
from optimizer.algebra.physical import PhysicalOperator
from optimizer.cost.model import CostModel
from optimizer.errors import SettingsError, many
from optimizer.plugin_code import written_in
from optimizer.plugins.results import LOGICAL_OPERATORS, check_methods_of
from optimizer.rules.interface import Pattern

RULE = {"apply": ("bound", "context")}
OPERATOR = {
    "cost": ("model", "output", "inputs"),
    "produce": ("node", "context"),
    "stage": ("node", "context"),
    "pass_through": ("required", "output", "inputs"),
    "derive": ("delivered", "index", "output", "inputs"),
    "describe": ("label",), "used_columns": ("output",), "columns_of_input": ("index", "output"),
}  # fmt: skip
LOGICAL = {
    "derive_props": ("inputs",), "estimate": ("props", "inputs"), "describe": ("label",), "output_columns": ("inputs",),
    "used_columns": (), "scalars": (),
}  # fmt: skip
ESTIMATOR = {
    "__init__": ("catalog", "columns"),
    "estimate": ("op", "props", "inputs"), "inner_region": ("leaves", "predicate", "props"), "known": ("relations",),
}  # fmt: skip
COST_MODEL = {
    "local": ("op", "delivered", "output", "inputs"),
    "least": ("op", "output", "inputs"),
    "lower_bound": ("op", "output", "inputs", "leaves"),
}
MORE_OF_COSTS: dict[str, tuple[str, ...]] = {
    "__init__": (), "join_costs": (), "rerun": ("op", "delivered", "output", "inputs", "kept"), "least_rerun": ("op",),
}  # fmt: skip


def check_cost_model(model: Any, called: str) -> None:
    """Raises SettingsError where a cost model, or a class of them, lacks one of the methods that a search calls."""
    kind = model if isinstance(model, type) else type(model)
    stubs = {method for method in COST_MODEL if getattr(kind, method, None) is getattr(CostModel, method)}
    missing = [method for method in COST_MODEL if method in stubs or not callable(getattr(model, method, None))]
    if missing:
        raise SettingsError(f"{called} is no cost model: it has no method {missing[0]}")


def check_object(thing: object) -> None:
    """Raises SettingsError for a class, where an object of it is asked for."""
    if isinstance(thing, type):
        raise SettingsError(f"{thing.__name__} is a class: pass an object of it, {thing.__name__}()")


def check_methods(kind: type, methods: Mapping[str, tuple[str, ...]]) -> None:
    """Raises SettingsError where a class has one of these methods, but with other arguments; where it is none; and where a name
    of the class is nearly one of these."""
    for name, arguments in methods.items():
        if hasattr(kind, name):
            method, called = getattr(kind, name), f"{kind.__name__}.{name}"
            if not callable(method):
                raise SettingsError(f"{called} is {method!r:.60}: write def {name}({', '.join(('self', *arguments))})")
            alone = isinstance(getattr_static(kind, name), (staticmethod, classmethod))
            check_arguments(method, called, arguments if alone else ("self", *arguments))
    check_names(kind, methods)


def check_names(kind: type, known: Iterable[str]) -> None:
    """Raises SettingsError where a name in a class is nearly a known one, which it leaves as it is."""
    for own in vars(kind):
        if not own.startswith("_") and own not in known and not any(hasattr(base, own) for base in kind.__bases__):
            if near := get_close_matches(own, [name for name in known if name not in vars(kind)], 1, 0.88):
                raise SettingsError(f'{kind.__name__} has "{own}": did you mean "{near[0]}"? If not, call it otherwise')


def check_logical(kind: type[LogicalOperator]) -> None:
    """Raises SettingsError for a logical operator that lacks something."""
    for name, value in (("name", f'"{kind.__name__.lower()}"'), ("arity", "1, or how many inputs it has")):
        if not hasattr(kind, name):
            raise SettingsError(f"the operator {kind.__name__} has no {name}: write {name} = {value}")
    if kind.derive_props is LogicalOperator.derive_props:
        raise SettingsError(f"the operator {kind.__name__} does not say what it produces: write def derive_props(self, inputs)")
    check_methods(kind, LOGICAL)


def check_arguments(function: Callable[..., Any], called: str, arguments: tuple[str, ...]) -> None:
    """Raises SettingsError where a function cannot be called with so many arguments."""
    try:
        takes = signature(function)
    except (TypeError, ValueError):  # written in C: it does not say
        return
    try:
        takes.bind(*arguments)
    except TypeError as error:
        passed = tuple(each for each in arguments if each != "self")
        raise SettingsError(
            f"{called} gets {many(len(passed), 'argument')} ({', '.join(passed)}): {error}\n"
            f"write def {called.rpartition('.')[2]}({', '.join(arguments)})"
        ) from None


def check_fields(rule: str, pattern: Pattern, to: type[PhysicalOperator]) -> None:
    """Raises SettingsError where `to` is no physical operator, or has a field that a logical one it is made of has not."""
    if not (isinstance(to, type) and issubclass(to, PhysicalOperator)):
        raise SettingsError(f"to of {rule} is {getattr(to, '__name__', to)!r:.60}: write a class of physical operators")
    for op in pattern.op if isinstance(pattern.op, tuple) else (pattern.op,):
        for name in to.__match_args__:
            if op is not None and not hasattr(op, name):
                raise SettingsError(f"{rule} cannot make a {to.__name__} of a {op.__name__}, which has no {name}: write an apply")


def check_pattern(rule: str, pattern: Pattern) -> None:
    """Raises SettingsError where a pattern has another number of inputs than its operator: it would never bind; and for a `where`
    that is no function of an operator."""
    if pattern.where is not None and not callable(pattern.where):
        raise SettingsError(f"where in the pattern of {rule} is {pattern.where!r:.60}: write a function of an operator")
    if pattern.where is not None:
        check_arguments(pattern.where, f"where in the pattern of {rule}", ("op",))
    for op in pattern.op if isinstance(pattern.op, tuple) else (pattern.op,):
        if op is not None and written_in(op):
            check_logical(op)
            check_methods_of(op, LOGICAL_OPERATORS)
        arity, inputs = getattr(op, "arity", None), pattern.inputs
        if op is not None and inputs is not None and arity is not None and arity != len(inputs):
            right = ", ".join((op.__name__, *["ANY"] * arity))
            raise SettingsError(
                f"the pattern of {rule} gives {op.__name__} {many(len(inputs), 'input')}, and it has {arity}: write node({right})"
            )
    for below in pattern.inputs or ():
        check_pattern(rule, below)
