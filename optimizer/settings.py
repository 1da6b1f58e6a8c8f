"""Every knob of planscope in one frozen object, made at the edge and passed down; it heads every trace.

Nothing below the edge reads the environment or a file.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from optimizer.errors import SettingsError, did_you_mean
from optimizer.toml_places import Places

PARTITIONERS = ("branch", "conservative")
ESTIMATORS = ("histogram", "system_r", "true", "injected", "perturbed", "upper_bound")


class SettingDoc(NamedTuple):
    name: str
    default: Any
    choices: str
    doc: str


def _knob(default: Any, doc: str, choices: tuple[str, ...] = ()) -> Any:
    return field(default=default, metadata={"doc": doc, "choices": choices})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings; `planscope settings` lists them, `--set name=value` and a TOML file change them. Texts are read as the type
    of the setting. Raises SettingsError for a value that a setting cannot have."""

    pruning: str = _knob(
        "both",
        "what the search may skip: nothing, merge joins where a hash join never costs more (dominance), plans above the best "
        "(upper), such merge joins and what is above the best by predicted cost (lower), or both; a region of joins that is "
        "solved by a table (region) has its bounds under each",
        ("none", "dominance", "upper", "lower", "both"),
    )
    estimator: str = _knob(
        "histogram",
        "where row counts come from: histogram (most common values, histograms, back-off), system_r (distinct counts and "
        "independence), true (counted by running, kept on disk), injected (read from a file), perturbed (true ones times a "
        "random error), upper_bound (never too few), or package.module:Class",
    )
    injected: str = _knob(
        "",
        "estimator=injected: FILE, a table (Parquet, CSV, JSON) of query, aliases, cardinality, or FILE:QUERY where the query is "
        "called otherwise in it",
    )
    q_error: float = _knob(2.0, "estimator=perturbed: the largest factor by which a row count is wrong, up or down")
    estimate_seed: int = _knob(0, "estimator=perturbed: seed of the errors")
    cost_model: str = _knob(
        "arrow",
        "what a plan costs: arrow (microseconds on this engine), c_out (rows out of joins), c_mm (main memory, Leis et al.), "
        "spark (arrow's work spread over nodes, and bytes moved between them)",
        ("arrow", "c_out", "c_mm", "spark"),
    )
    coefficients: str = _knob("", "cost_model=arrow|spark: file written by planscope calibrate; empty: the authors' measurements")
    spark_nodes: int = _knob(4, "cost_model=spark: machines that share the work")
    decorrelate: str = _knob(
        "general",
        "correlated subqueries: quick (rules for the commonest forms), value_generator (joins with the distinct "
        "outer values), general (unnesting of every form), none (they are evaluated for each row), cost (the search picks)",
        ("none", "quick", "value_generator", "general", "cost"),
    )
    ctes: str = _knob(
        "cost",
        "common table expressions that are read several times: computed for each reference (inline), once and kept (spool), or "
        "what costs less for all of a query (cost); MATERIALIZED and NOT MATERIALIZED are heeded, volatile ones computed once, "
        "and all where the query would have more than 200 operators otherwise",
        ("cost", "inline", "spool"),
    )
    semi_joins: str = _knob(
        "off",
        "semi-joins that leave groups and windows below a join only the rows for which a filtered table on the other side has "
        "partners, and which is read twice: nowhere (off), wherever they may be (always), or where a plan is cheaper (cost)",
        ("off", "always", "cost"),
    )
    common_parts: str = _knob(
        "off",
        "parts of a query that stand in it several times (common subexpressions): computed where they stand (off), once and kept "
        "(always), or what costs less for all of a query (cost)",
        ("off", "always", "cost"),
    )
    prepass: bool = _knob(True, "run the heuristic pre-pass before the search")
    prepass_limit: int = _knob(10_000, "rule firings after which the pre-pass stops and says that it did not converge")
    cross_products: bool = _knob(False, "let join reordering make cross products also where the join graph is connected")
    rule_order: int = _knob(
        0,
        "0: rules by promise; another number: a random order with that seed (the winner costs the same, but where aggregates "
        "pass joins: the rows of a group are those of its first expression)",
    )
    enumeration: str = _knob(
        "adaptive",
        "how joins are ordered: rules (commute, associate), rules_b0 (both associativities), duplicate_free_rules "
        "(Pellenkoft's; needs cross_products), partition (connected splits of join graphs), left_deep (splits with one "
        "relation), adaptive (partition while it fits, heuristics beyond)",
        ("adaptive", "partition", "left_deep", "rules", "rules_b0", "duplicate_free_rules"),
    )
    join_order: str = _knob(
        "", "an order of joins that the plan must have, all or some of them, such as ((c o) l): c and o first, then l; empty: any"
    )
    partitioner: str = _knob("branch", "which algorithm finds the splits of a join graph", PARTITIONERS)
    exact_below: int = _knob(14, "adaptive: fewer relations than this are always ordered exactly")
    exact_sets: int = _knob(600_000, "adaptive: so are regions with at most this many connected sets (by tasks: 10,000)")
    region: str = _knob(
        "auto",
        "how the joins of a region are searched that no rule looks into: table (all its sets at once, as arrays), tasks (set by "
        "set, with bounds, to be watched), auto (the table from three relations on). Bounds, seeds, gap and epsilon are of "
        "tasks: the table skips nothing",
        ("auto", "table", "tasks"),
    )
    exact_mixed_below: int = _knob(7, "adaptive: so are fewer joins of several kinds (outer, semi, anti) than this")
    exact_mixed_sets: int = _knob(
        200,
        "adaptive: and regions of them with at most this many connected sets; of larger ones the inner joins are a region, with "
        "left joins above it, and the other joins stay where they are, which is not called proven",
    )
    linearized_up_to: int = _knob(100, "adaptive: larger regions use linearized DP up to this many relations, GOO-DP beyond")
    expand_joins: int = _knob(
        4, "regions of up to this many relations are expanded for built-in rules that look into joins, such as eager aggregation"
    )
    split_share: float = _knob(
        0.9,
        "a partial aggregate below a join (aggregate_split_join) is looked at where, by the estimates, it leaves at most this "
        "share of the rows; 1: always",
    )
    seed: str = _knob(
        "best",
        "join order installed as a plan before the search: greedy (GOO), linearized (DP over an IKKBZ order), best (the "
        "cheaper of both), none",
        ("none", "greedy", "linearized", "best"),
    )
    exploration: str = _knob(
        "all",
        "when transformation rules fire: on all groups before anything is costed (all), on a group when it is first costed "
        "(on_demand), or after what it has was costed, unless that cuts the rest (interleaved); the winner costs the same, but "
        "where aggregates pass joins, as under rule_order",
        ("all", "on_demand", "interleaved"),
    )
    driver: str = _knob(
        "top_down",
        "what runs the search: the task stack, or one queue of rule matches by importance (the winner costs the same, but where "
        "aggregates pass joins, as under rule_order)",
        ("top_down", "iterative"),
    )
    gap: float = _knob(0.0, "stop a search when its plan is proved to be within this fraction of the optimum (0.05: 5 %)")
    epsilon: float = _knob(
        0.0,
        "global epsilon pruning: a set of joined relations is done when its plan costs at most this fraction of the seed, "
        "divided by the number of operators; the plan then costs at most that fraction of the seed more than the optimum",
    )
    budget_groups: int = _knob(0, "memo groups after which exploration stops, as with budget_mexprs; 0: no limit")
    budget_tasks: int = _knob(
        200_000,
        "tasks after which the search ends, with a quarter more at most and those of one plan; the plan is complete then, the "
        "best so far, but not proven; 0: no limit",
    )
    budget_mexprs: int = _knob(20_000, "logical multi-expressions after which exploration stops, likewise; 0: no limit")
    budget_ms: int = _knob(
        0, "milliseconds after which the search stops, likewise; plans then depend on the machine; 0: no limit"
    )
    runtime_filters: bool = _knob(
        True, "while a plan runs, finished build sides of hash joins filter the scans that feed the probe sides"
    )
    disable: tuple[str, ...] = _knob((), "names of rules that must not fire")
    plugins: tuple[str, ...] = _knob(
        (), "Python files with rules, operators, cost models and estimators of your own (docs/extending.md); they are run"
    )

    def __post_init__(self) -> None:
        own = bool(self.plugins)  # the names they bring are known when they are run
        for name in _fields():
            object.__setattr__(self, name, _read(name, getattr(self, name), own))

    def as_dict(self) -> dict[str, Any]:
        """Name to value, with lists for tuples: fit for JSON."""
        return {name: list(v) if isinstance(v := getattr(self, name), tuple) else v for name in _fields()}

    def replace(self, **changes: Any) -> Settings:
        """A copy with other values, checked like those of `from_mapping`."""
        return Settings.from_mapping({**self.as_dict(), **changes})

    def check_together(self) -> None:
        """Raises SettingsError when two settings exclude each other."""
        if self.enumeration == "duplicate_free_rules" and not self.cross_products:
            raise SettingsError(
                "enumeration=duplicate_free_rules needs cross_products=true\n"
                "without cross products its rules miss join orders: on a cycle of four tables, 6 of the 36 joins"
            )
        if self.join_order and self.enumeration not in ("adaptive", "partition"):
            raise SettingsError(
                f"join_order needs enumeration=adaptive or partition, not {self.enumeration}\n"
                "rules that exchange joins have no order of their own to keep"
            )

    def check_injected(self) -> None:
        """Raises SettingsError when a file of row counts is named that the estimator does not read. Experiments that vary the
        estimator may name one for all."""
        if self.injected and self.estimator != "injected":
            raise SettingsError(
                f"injected={self.injected} is not read under estimator={self.estimator}\n"
                "set estimator=injected too, or leave injected out"
            )

    def check_disabled(self, known: set[str]) -> None:
        """Raises SettingsError when `disable` names a rule that is not in `known`."""
        for name in self.disable:
            if name not in known:
                raise SettingsError(f'unknown rule "{name}"\n{did_you_mean(name, known, "planscope rules lists them")}')

    def __new__(cls, **values: Any) -> Settings:
        """Raises SettingsError for a name that is none."""
        for name in values:
            _check_name(name)
        return object.__new__(cls)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Settings:
        """Settings from name to value. Raises SettingsError, also for names that are none and for two that exclude each other."""
        if not isinstance(values, Mapping):
            raise SettingsError(f"settings map names to values, {{'pruning': 'none'}} for example, not {values!r:.60}")
        settings = cls(**{str(name): value for name, value in values.items()})
        settings.check_together()
        return settings

    @classmethod
    def from_pairs(
        cls, pairs: Iterable[str] = (), disable: Iterable[str] = (), file: Path | None = None, plugins: Iterable[str] = (),
        preset: Path | None = None, **defaults: Any,
    ) -> Settings:  # fmt: skip
        """Settings from `defaults`, the file of a preset, a TOML file, then `name=value` texts, then rules to disable and
        plug-ins; later ones win, but rules and plug-ins are added up. Plug-ins of the file are looked up beside it. Raises
        SettingsError."""
        layers: list[dict[str, Any]] = [defaults, *(read_settings(each) for each in (preset, file) if each is not None)]
        for pair in pairs:
            name, equals, value = pair.partition("=")
            if not equals:
                raise SettingsError(f'"{pair}" is not a setting: write name=value, for example pruning=none')
            layers.append({name.strip(): value.strip()})
        layers.append({"disable": disable, "plugins": plugins})
        values = {name: value for layer in layers for name, value in layer.items()}
        for name in ("disable", "plugins"):
            values[name] = tuple(dict.fromkeys(each for layer in layers for each in _read(name, layer.get(name, ()))))
        return cls.from_mapping(values)


def describe_settings() -> list[SettingDoc]:
    """One line on each setting, in order."""
    result = []
    for f in fields(Settings):
        named = (*ESTIMATORS, "module:Class") if f.name == "estimator" else f.metadata["choices"]
        choices = "|".join(named) or type(f.default).__name__
        result.append(SettingDoc(f.name, f.default, choices, f.metadata["doc"]))
    return result


@cache
def _fields() -> dict[str, Field[Any]]:
    return {each.name: each for each in fields(Settings)}


def _check_name(name: str) -> None:
    known = _fields()
    if name not in known:
        hint = did_you_mean(name, known, "known settings: " + ", ".join(known))
        raise SettingsError(f'unknown setting "{name}"\n{hint}')


def _read(name: str, value: Any, own_names: bool = False) -> Any:
    """`value` as the type of setting `name`. `own_names`: plug-ins may bring cost models, estimators and enumerators."""
    _check_name(name)
    default, choices = _fields()[name].default, _fields()[name].metadata["choices"]
    if own_names and name in ("estimator", "cost_model", "partitioner"):
        own, values, _ = str(value).partition("(")
        if own.isidentifier() and (not values or name != "partitioner"):
            return str(value)
    if name == "estimator":
        return _read_estimator(str(value))
    if choices:
        if value not in choices:
            raise not_one_of(name, value, choices)
        return value
    if isinstance(default, bool):
        word = str(value).lower()
        if word not in ("true", "false", "on", "off", "1", "0", "yes", "no"):
            raise SettingsError(f'setting {name} is true or false, not "{value}"')
        return word in ("true", "on", "1", "yes")
    if isinstance(default, int):
        try:
            number = int(value)
            if isinstance(value, bool) or (isinstance(value, float) and value != number):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise SettingsError(f'setting {name} is a whole number, not "{value}"') from None
        if number < 0:
            raise SettingsError(f"setting {name} cannot be negative ({number})")
        if number >= 1 << 63:
            raise SettingsError(f"setting {name} is too large a number: 2^63 - 1 is the largest")
        return number
    if isinstance(default, float):
        try:
            share = float(value)
        except (TypeError, ValueError, OverflowError):
            raise SettingsError(f'setting {name} is a number, not "{value}"') from None
        if name == "q_error" and not share >= 1:
            raise SettingsError(f"setting q_error cannot be {value}: it is a factor from 1 up")
        if not 0 <= share < float("inf"):
            raise SettingsError(f"setting {name} cannot be {value}: it is a number from 0 up")
        return share
    if isinstance(default, str):
        if not isinstance(value, str | PathLike):
            raise SettingsError(f"setting {name} is a text, not {value!r:.60}")
        return str(value)
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise SettingsError(f"setting {name} is a list, not {value!r:.60}")
    return tuple(str(part) for part in value)


def not_one_of(name: str, value: object, choices: Iterable[str]) -> SettingsError:
    """The error of a setting whose value is none of these."""
    return SettingsError(f'setting {name} cannot be "{value}": choose one of {", ".join(choices)}')


def _read_estimator(value: str) -> str:
    if value not in ESTIMATORS and not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", value):
        hint = did_you_mean(value, ESTIMATORS, f"choose one of {', '.join(ESTIMATORS)}, or package.module:Class")
        raise SettingsError(f'setting estimator cannot be "{value}"\n{hint}')
    return value


def read_settings(path: Path) -> dict[str, Any]:
    """What a TOML file sets. Raises SettingsError, with the line of a name or value that is none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        values = tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"cannot read settings file {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {path} is not valid TOML: {error}") from None
    for name, value in values.items():
        try:
            _read(name, value, own_names=True)
        except SettingsError as error:
            line = Places(text).line("", name) or Places(text).line(name)
            raise SettingsError(f"settings file {path}{f', line {line}' if line else ''}: {error}") from None
    if "plugins" in values:
        values["plugins"] = [str(path.parent / os.path.expanduser(each)) for each in _read("plugins", values["plugins"])]
    return values


DEFAULTS = Settings()
