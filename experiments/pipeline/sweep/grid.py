"""The variants of a sweep: a grid of settings, variants by name, and which settings a seed stands for."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from executor.session import Session
from experiments.pipeline.sweep.plan import How, Variant
from experiments.pipeline.sweep.problems import Problems, suggestion
from optimizer.catalog.table import Catalog
from optimizer.errors import SettingsError
from optimizer.settings import Settings, describe_settings

FILES = ("injected", "coefficients")  # settings that name a file: looked up beside the specification


def variants_of(
    settings: Mapping[str, Any], variants: Sequence[Mapping[str, Any]], problems: Problems, base: Path,
    plugins: Sequence[str] = (),
) -> tuple[Variant, ...]:  # fmt: skip
    """The grid of `settings`, then each of `variants` on top of the settings that have one value; mistakes go to `problems`.
    All have the plug-ins. A list in `settings` is a dimension of the grid, whose points are named after its values:
    `pruning=none, seed=greedy`. Without any list there is one point, "default"; where variants are given, it is left out."""
    own_files = {"plugins": list(plugins)} if plugins else {}
    lists = {name: value for name, value in settings.items() if isinstance(value, list)}
    fixed = own_files | {name: value for name, value in settings.items() if name not in lists}
    own = [{name: value for name, value in variant.items() if name != "name"} for variant in variants]
    wrong = False
    for name, value in settings.items():
        for one in lists.get(name, [value]):
            wrong |= not _fits(name, one, problems, "sweep.settings", plugins=plugins)
        if value == []:
            problems.add("the list is empty, so there is nothing to run", "sweep.settings", name)
    for number, chosen in enumerate(own):
        for name, value in chosen.items():
            wrong |= not _fits(name, value, problems, "sweep.variants", number, plugins)
    if wrong:
        return ()
    made: list[Variant] = []
    for point in product(*lists.values()) if lists or not variants else ():
        chosen = dict(zip(lists, point, strict=True))
        name = _name({key: value for key, value in chosen.items() if len(lists[key]) > 1})
        made.append(Variant(name, _with_files({**fixed, **chosen}, base)))
    for number, chosen in enumerate(own):
        name = variants[number].get("name", _name(chosen))
        if not isinstance(name, str) or not name:
            problems.add(f"a name is a text, not {name!r}", "sweep.variants", "name", number=number)
            continue
        if name in (other.name for other in made):
            problems.add(f'two variants are called "{name}"', "sweep.variants", "name", number=number)
        made.append(Variant(name, _with_files({**fixed, **chosen}, base)))
    _check_together(made, len(made) - len(variants), problems)
    return tuple(made)


def check_seeds(seeds: Sequence[Any], names: Sequence[str], variants: Sequence[Variant], problems: Problems) -> None:
    """Note seeds that are no whole numbers or come twice, seed settings that are no such setting or that a variant sets too."""
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 63:
            problems.add(f"a seed is a whole number from 0 up, below 2^63, not {seed!r}", "sweep", "seeds")
    if len(set(map(str, seeds))) < len(seeds):
        problems.add("a seed is listed twice", "sweep", "seeds")
    numbers = [doc.name for doc in describe_settings() if isinstance(doc.default, int) and not isinstance(doc.default, bool)]
    for name in names:
        if name not in numbers:
            text = f'"{name}" is no setting that takes a seed; {suggestion(name, How.seed_settings)}'
            problems.add(text, "sweep", "seed_settings", name)
        elif seeds and any(name in variant.settings for variant in variants):
            twice = f"{name} is set by the settings and by the seeds\nleave it out of the settings, or of seed_settings"
            problems.add(twice, "sweep", "seeds")


def _fits(name: str, value: Any, problems: Problems, table: str, number: int = 0, plugins: Sequence[str] = ()) -> bool:
    """Whether a setting can have the value; notes why not."""
    try:
        if name == "plugins":
            raise SettingsError("plug-ins are named beside the settings: plugins = [...] in [sweep]")
        if isinstance(value, (dict, list)) and name != "disable":
            raise SettingsError(f"setting {name} cannot be {value!r}")
        Settings.from_mapping({name: value, "plugins": plugins})
    except SettingsError as error:
        if not str(error).startswith("enumeration="):  # what excludes another setting is looked at with all of them
            element = None if isinstance(value, (bool, list, dict)) else str(value)
            problems.add(str(error), table, name, element, number)
            return False
    return True


def _check_together(variants: Sequence[Variant], points: int, problems: Problems) -> None:
    """Note settings that exclude each other, and variants that are one: their items could not be told apart. The first `points`
    are those of the grid."""
    seen: dict[Settings, str] = {}
    for number, variant in enumerate(variants):
        table, place = ("sweep.settings", 0) if number < points else ("sweep.variants", number - points)
        try:
            settings = Settings.from_mapping(variant.settings)
            Session(Catalog("none", ()), settings)
        except SettingsError as error:
            problems.add(f"variant {variant.name}: {error}", table, number=place)
            continue
        if settings in seen:
            text = f'variants "{seen[settings]}" and "{variant.name}" have the same settings\nleave one of them out'
            problems.add(text, table, number=place)
        seen.setdefault(settings, variant.name)


def _with_files(settings: dict[str, Any], base: Path) -> dict[str, Any]:
    """With absolute paths for settings that name a file: tasks run in other folders."""
    return {name: _absolute(str(value), base) if name in FILES and value else value for name, value in settings.items()}


def _absolute(value: str, base: Path) -> str:
    """FILE or FILE:QUERY, as `injected` may be, with the whole path of a file that is there."""
    for file, query in ((value, ""), (value.rpartition(":")[0], f":{value.rpartition(':')[2]}")):
        if file and (base / file).exists():
            return f"{(base / file).resolve()}{query}"
    return value


def _name(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_show(value)}" for name, value in settings.items()) or "default"


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "+".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
