"""Values for the attributes of a plug-in's cost model or estimator, written behind its name: `Noisy(q=4)`.

The text goes wherever the name does, so settings, sweeps and results say which values were used.
"""

import ast
from collections.abc import Mapping
from typing import Any

from optimizer.errors import SettingsError


def chosen_class(text: str, own: Mapping[str, Any]) -> Any:
    """What `own` has under a name, derived with the values behind it; None where it has nothing. Raises SettingsError."""
    name, values, _ = text.partition("(")
    made = own.get(name.strip())
    if made is None or not values:
        return made
    try:
        call = ast.parse(text.strip(), mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) and not call.args else []
        given = {each.arg: ast.literal_eval(each.value) for each in keywords if each.arg}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        given = {}
    if not given or not isinstance(made, type):
        hint = "write NAME(attribute=value, ...) for a class, the values being numbers or texts"
        raise SettingsError(f'"{text}" cannot be read\n{hint}')
    for attribute in given:
        if attribute.startswith("_") or callable(getattr(made, attribute, print)):
            raise SettingsError(
                f'{name} has no value "{attribute}" that could be set\nwrite one into the class: {attribute} = 1.0'
            )
    return type(made.__name__, (made,), given)
