"""planscope from Python, by name: what a user and an extension need, gathered from the packages where it lives.

    from planscope import Session
    print(Session("tpch:0.1").explain("tpch/q05"))

`planscope.algebra` has the operators and scalars that rules are made of, `planscope.workloads` what is built in. Names are
looked up when they are first used, so importing one does not import all. An ImportError says which file is in the way when a
package of ours is not ours (`packages`).
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, which takes longer to import than all the rest
if TYPE_CHECKING:
    from typing import Any

    from executor.counting.of_catalog import row_counter as row_counter
    from executor.explanation import Explanation as Explanation
    from executor.explanation import Result as Result
    from executor.session import Session as Session
    from executor.session import explain as explain
    from executor.session import open_data as open_data
    from executor.spark.engine import SparkEngine as SparkEngine
    from optimizer.algebra.physical import PhysicalOperator as PhysicalOperator
    from optimizer.algebra.trees import Tree as Tree
    from optimizer.cost.model import CostModel as CostModel
    from optimizer.errors import PlanscopeError as PlanscopeError
    from optimizer.pipeline import OptimizedQuery as OptimizedQuery
    from optimizer.pipeline import Optimizer as Optimizer
    from optimizer.rules.interface import ANY as ANY
    from optimizer.rules.interface import ImplementationRule as ImplementationRule
    from optimizer.rules.interface import RewriteRule as RewriteRule
    from optimizer.rules.interface import TransformationRule as TransformationRule
    from optimizer.rules.interface import node as node
    from optimizer.settings import Settings as Settings
    from optimizer.stats.estimator import Estimator as Estimator
    from optimizer.stats.known_rows import KnownRows as KnownRows
    from optimizer.trace.recorder import Trace as Trace
    from optimizer.trace.replay import Replay as Replay
    from planscope import algebra as algebra
    from planscope import plugin as plugin
    from planscope import workloads as workloads

_HOMES = {
    "executor.counting.of_catalog": ("row_counter",),
    "executor.explanation": ("Explanation", "Result"),
    "executor.session": ("Session", "explain", "open_data"),
    "executor.spark.engine": ("SparkEngine",),
    "optimizer.algebra.physical": ("PhysicalOperator",),
    "optimizer.algebra.trees": ("Tree",),
    "optimizer.cost.model": ("CostModel",),
    "optimizer.errors": ("PlanscopeError",),
    "optimizer.pipeline": ("OptimizedQuery", "Optimizer"),
    "optimizer.rules.interface": ("ANY", "ImplementationRule", "RewriteRule", "TransformationRule", "node"),
    "optimizer.settings": ("Settings",),
    "optimizer.stats.estimator": ("Estimator",),
    "optimizer.stats.known_rows": ("KnownRows",),
    "optimizer.trace.recorder": ("Trace",),
    "optimizer.trace.replay": ("Replay",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

_MODULES = ("algebra", "plugin", "workloads")

__all__ = [*_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"planscope.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'planscope' has no attribute {name!r}")
    from planscope.packages import check_packages

    check_packages()
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
