"""The optimizer of planscope: from SQL text to a physical plan. `pipeline` shows the way of a query on one page.

What an extension needs is here by name: `from optimizer import Optimizer, Settings, TransformationRule, node, ANY`.
Names are looked up when they are first used, so importing one part does not import all of them.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "ANY": "optimizer.rules.interface",
    "CostModel": "optimizer.cost.model",
    "Estimator": "optimizer.stats.estimator",
    "ImplementationRule": "optimizer.rules.interface",
    "OptimizedQuery": "optimizer.pipeline",
    "Optimizer": "optimizer.pipeline",
    "RewriteRule": "optimizer.rules.interface",
    "Settings": "optimizer.settings",
    "Trace": "optimizer.trace.recorder",
    "TransformationRule": "optimizer.rules.interface",
    "Tree": "optimizer.algebra.trees",
    "node": "optimizer.rules.interface",
    "open_dataset": "optimizer.dataset",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'optimizer' has no attribute {name!r}")
