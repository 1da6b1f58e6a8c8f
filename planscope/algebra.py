"""Operators, scalars and column sets: what rules match and make."""

from planscope.packages import check_packages

check_packages()

from optimizer.algebra import *  # noqa: E402, F403
from optimizer.algebra import __all__ as __all__  # noqa: E402
