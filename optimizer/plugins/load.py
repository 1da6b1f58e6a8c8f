"""From the files of plug-ins to what they bring."""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import lru_cache, partial, update_wrapper
from importlib.util import module_from_spec, spec_from_file_location
from operator import index
from pathlib import Path
from typing import SupportsIndex

from optimizer.cost.model import CostModel
from optimizer.decorrelate.quick import QUICK
from optimizer.engines.arrow import COST_MODELS, cost_model
from optimizer.errors import PlanscopeError, SettingsError
from optimizer.joins.graph import JoinGraph, Relations
from optimizer.plugin_code import plugin_files, written_in
from optimizer.plugins.parameters import chosen_class
from optimizer.plugins.registry import Enumerator, Registry, _loading
from optimizer.plugins.results import shown
from optimizer.plugins.signatures import check_arguments
from optimizer.prepass.instructions import rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.rules.catalog import ENFORCERS, IMPLEMENTATIONS, TRANSFORMATIONS
from optimizer.settings import ESTIMATORS, PARTITIONERS, Settings, not_one_of
from optimizer.stats.choose import EstimatorFactory, estimator_factory
from optimizer.stats.true import RowCounter

_in_use: tuple[str, ...] = ()
_RULES = frozenset(rule.name for rule in (*rules_of((*QUICK, *PROGRAM)), *TRANSFORMATIONS, *IMPLEMENTATIONS)) | set(ENFORCERS)


def load_plugins(files: Sequence[str]) -> Registry:
    """What the files bring, in order. They are run, once for each of their versions: their names come from the user, never from
    data. Raises SettingsError with file and line of what is wrong."""
    global _in_use
    _in_use = tuple(files)
    return _load(tuple(_version(file) for file in files))


def chosen_cost_model(settings: Settings, plugins: Registry) -> CostModel:
    """The cost model that the settings name, a plug-in's or a built-in one. Raises SettingsError."""
    own = plugins.of_kind("cost_model")
    made = chosen_class(settings.cost_model, own)
    if made is not None:
        model: CostModel = made()
        return model
    if settings.cost_model not in COST_MODELS:
        raise not_one_of("cost_model", settings.cost_model, (*COST_MODELS, *own))
    return cost_model(settings)


def chosen_estimator(settings: Settings, plugins: Registry, counter: RowCounter | None = None) -> EstimatorFactory:
    """Likewise the estimator. Raises SettingsError."""
    own: dict[str, EstimatorFactory] = plugins.of_kind("estimator")
    made: EstimatorFactory | None = chosen_class(settings.estimator, own)
    if made is not None:
        return made
    if settings.estimator not in ESTIMATORS and ":" not in settings.estimator:
        raise not_one_of("estimator", settings.estimator, (*ESTIMATORS, *own))
    return estimator_factory(settings, counter)


def chosen_enumerator(settings: Settings, plugins: Registry) -> Enumerator | None:
    """The enumerator that the settings name, where it is a plug-in's. Raises SettingsError."""
    own = own_enumerators(plugins)
    if settings.partitioner not in (*PARTITIONERS, *own):
        raise not_one_of("partitioner", settings.partitioner, (*PARTITIONERS, *own))
    return own.get(settings.partitioner)


def own_enumerators(plugins: Registry) -> dict[str, Enumerator]:
    """The enumerators of plug-ins by name. They raise PlanscopeError where what they give is no part of the set."""
    return {
        name: update_wrapper(partial(_checked, name, splits), splits) for name, splits in plugins.of_kind("enumerator").items()
    }


def _checked(name: str, splits: Enumerator, graph: JoinGraph, s: Relations) -> list[Relations]:
    """What an enumerator of a plug-in gives. Raises PlanscopeError where that is no part of the set with its lowest relation, or
    where the part or what is left of the set is not connected."""
    parts = splits(graph, s)
    if not isinstance(parts, list):
        raise _wrong(splits, f"the enumerator {name} gives {shown(parts)} for the set {s:#b}\nit has to give a list of integers")
    parts = [index(part) if isinstance(part, SupportsIndex) else part for part in parts]  # NumPy's are integers too
    for part in parts:
        if not isinstance(part, int) or part & ~s or part == s or not part & s & -s:
            by = f"{part:#b}" if isinstance(part, int) else repr(part)[:60]
            raise _wrong(
                splits,
                f"the enumerator {name} splits the set {s:#b} by {by}\n"
                "it has to give a list of parts of the set as integers, each with its lowest relation and not all of it",
            )
        if not (graph.connected(part) and graph.connected(s & ~part)):
            raise _wrong(
                splits,
                f"the enumerator {name} splits the set {s:#b} into {part:#b} and {s & ~part:#b}, which is not connected\n"
                "both parts of a split have to be, as graph.connected says",
            )
    return list(dict.fromkeys(parts))


def _wrong(splits: Enumerator, text: str) -> PlanscopeError:
    return PlanscopeError(written_in(splits) + text)


def plugins_in_use() -> tuple[str, ...]:
    """The plug-ins that were asked for last, as they were named."""
    return _in_use


def _version(file: str) -> tuple[str, str, int, int]:
    path = Path(os.path.expanduser(file))
    if path.suffix != ".py":
        raise SettingsError(f'a plug-in is a Python file, and "{file}" does not end in .py')
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot read plug-in {file}: {getattr(error, 'strerror', error)}") from None
    return file, str(path.absolute()), found.st_mtime_ns, found.st_size


@lru_cache(maxsize=32)
def _load(versions: tuple[tuple[str, str, int, int], ...]) -> Registry:
    registry = Registry(_RULES)
    for file, path, _, _ in versions:
        _run(registry, file, path)
    return registry


def _run(registry: Registry, file: str, path: str) -> None:
    """Run one plug-in under a module name of its own; decorators in it, and its function `register`, add to the registry."""
    name = f"planscope_plugin_{abs(hash(path))}"
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, f"{path} does not end in .py"
    module = module_from_spec(spec)
    before, registry.file = len(registry.extensions), file
    plugin_files[path] = file
    sys.modules[name] = module  # dataclasses look their module up
    _loading.append(registry)
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            spec.loader.exec_module(module)
            if callable(register := getattr(module, "register", None)):
                check_arguments(register, "register", ("registry",))
                register(registry)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise SettingsError(f"plug-in {file}{_line(error, path)}: {_text(error)}") from error
    finally:
        _loading.pop()
    if len(registry.extensions) == before:
        raise SettingsError(
            f"plug-in {file} registers nothing\n"
            "decorate what it brings with rule, operator, cost_model, estimator or enumerator of planscope.plugin,\n"
            "or write a function register(registry)"
        )


def _line(error: BaseException, path: str) -> str:
    """The last line of the plug-in on the way to the error."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f", line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f", line {lines[-1]}" if lines else ""


def _text(error: BaseException) -> str:
    if isinstance(error, PlanscopeError):
        return str(error)
    return f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}".removesuffix(": ")
