"""Decorators with which a plug-in registers what it brings; see docs/extending.md.

from planscope.plugin import cost_model, enumerator, estimator, operator, rule
"""

from planscope.packages import check_packages

check_packages()

from optimizer.plugins.registry import Registry, cost_model, enumerator, estimator, operator, rule  # noqa: E402

__all__ = ["Registry", "cost_model", "enumerator", "estimator", "operator", "rule"]
