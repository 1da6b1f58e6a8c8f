"""Costs by class of operator, with room for operators that a plug-in brings."""

from collections.abc import Callable, Mapping
from typing import Any

from optimizer.algebra.physical import PhysicalOperator
from optimizer.errors import SettingsError
from optimizer.plugin_code import number_from

Cost = Callable[..., float]


def own_cost(op: Any, model: str, *figures: Any) -> float:
    """What an operator's method `cost` says. Raises PlanscopeError where it is no number from 0 up."""
    return number_from(f"the cost model {model} gives {op.name} the cost", op.cost(model, *figures), by=op.cost)


class ByOperator(dict[type[PhysicalOperator], Cost]):
    """What a cost model says of each class of operators. `own` makes the entry of a class that has a method `cost`.

    A class that is not listed answers for itself, else costs what the class costs that it is derived from. Looking up any
    other raises SettingsError: an operator that nobody priced would be free.
    """

    def __init__(self, model: str, listed: Mapping[type[PhysicalOperator], Cost], own: Cost | None = None) -> None:
        super().__init__(listed)
        self._model = model
        self._own = own if own is not None else lambda op, *figures: own_cost(op, model, *figures)

    def __missing__(self, kind: type[PhysicalOperator]) -> Cost:
        found: Any = self._own if hasattr(kind, "cost") else next((self[base] for base in kind.__mro__[1:] if base in self), None)
        if found is None:
            raise SettingsError(
                f"the cost model {self._model} does not know the operator {kind.name}\n"
                f'write {kind.__name__}.cost(self, model, output, inputs): what it costs where model is "{self._model}"'
            )
        self[kind] = found
        return self[kind]
