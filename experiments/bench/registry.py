"""The experiments there are, by name; each is a module of this folder, imported when it is asked for."""

import importlib
from typing import cast

from experiments.bench.experiment import Experiment
from optimizer.errors import PlanscopeError

EXPERIMENTS = ("anchors", "decorrelation", "enumeration", "exec", "plan", "pruning", "quality", "robustness", "rules", "search",
               "space", "sweep", "trace")  # fmt: skip


def load(name: str) -> Experiment:
    """The experiment of that name; a name with dots is that of any module. Raises PlanscopeError."""
    if "." not in name and name not in EXPERIMENTS:
        raise PlanscopeError(f'there is no experiment "{name}"')
    return cast(Experiment, importlib.import_module(name if "." in name else f"experiments.bench.{name}"))
