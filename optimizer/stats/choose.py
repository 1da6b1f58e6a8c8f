"""Which estimator the setting `estimator` names, ready to be made for each query."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from optimizer.algebra.columns import Columns
from optimizer.catalog.table import Catalog
from optimizer.errors import SettingsError
from optimizer.settings import Settings
from optimizer.stats.estimator import Estimator
from optimizer.stats.true import RowCounter, TrueRows

EstimatorFactory = Callable[[Catalog, Columns], Estimator]
"""Makes the estimator of one query: a subclass of Estimator, or a function that knows more."""


def estimator_factory(settings: Settings, counter: RowCounter | None = None) -> EstimatorFactory:
    """`counter` counts the rows of a tree, where there is an engine that can. Raises SettingsError."""
    name = settings.estimator
    if ":" in name:
        return plug_in(name)
    if name in ("true", "perturbed"):
        if counter is None:
            raise SettingsError(
                f"estimator={name} counts rows by running queries, and here is nothing that runs them\n"
                "use executor.Session, the command line, or another estimator"
            )
        count = counter
        if name == "true":
            return lambda catalog, columns: TrueRows(catalog, columns, count)
        return _perturbed(settings, count)
    if name == "injected":
        from optimizer.stats.injected import for_query, injected

        for_query(settings, "")  # a bad file is found now; which of its queries is meant, when there is one
        return lambda catalog, columns: injected(settings.injected, catalog, columns)
    if name == "system_r":
        from optimizer.stats.system_r import SystemR

        return SystemR
    if name == "upper_bound":
        from optimizer.stats.upper_bound import UpperBound

        return UpperBound
    return Estimator


def _perturbed(settings: Settings, counter: RowCounter) -> EstimatorFactory:
    from optimizer.stats.perturbed import Perturbed

    def make(catalog: Catalog, columns: Columns) -> Estimator:
        exact = Estimator(catalog, columns) if catalog.statistics_only else TrueRows(catalog, columns, counter)
        return Perturbed(catalog, columns, exact, settings.q_error, settings.estimate_seed)

    return make


def plug_in(name: str) -> type[Estimator]:
    """The class that `package.module:Class` names. Its module is imported, so it runs: the name comes from the user, never
    from data. Raises SettingsError."""
    module_name, _, class_name = name.partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise SettingsError(
                f'estimator={name}: there is no module "{error.name}"\ninstall it, or put its folder on PYTHONPATH'
            ) from None
        raise SettingsError(f"estimator={name}: {module_name} imports {error.name}, which is not there") from None
    except Exception as error:
        raise SettingsError(f"estimator={name}: importing {module_name} failed: {type(error).__name__}: {error}") from error
    found = getattr(module, class_name, None)
    if found is None:
        raise SettingsError(f'estimator={name}: module {module_name} has no "{class_name}"')
    if not (isinstance(found, type) and issubclass(found, Estimator)):
        raise SettingsError(f"estimator={name}: {class_name} is not a subclass of optimizer.Estimator")
    return found
