"""The experiments there are, by name; each is a module of this folder, imported when it is asked for."""

import importlib
from typing import cast

from experiments.bench.experiment import Experiment

EXPERIMENTS = ("anchors", "decorrelation", "enumeration", "exec", "plan", "pruning", "quality", "robustness", "rules", "search",
               "space", "sweep", "trace")  # fmt: skip


def load(name: str) -> Experiment:
    """The experiment of that name; a name with dots is that of any module."""
    return cast(Experiment, importlib.import_module(name if "." in name else f"experiments.bench.{name}"))
