"""Programs as TOML, to be printed, edited and read back.

    [[step]]
    name = "predicates"
    rules = ["constant_fold", "filter_merge"]

    [[step]]
    name = "rounds"            # a subprogram: it has steps instead of rules
    passes = 5
    [[step.step]]
    rule = "column_prune"      # a rule alone, until it applies nowhere

A batch takes `once`, `passes`, `order`, `match_limit` and `one_firing`, a subprogram `once` and `passes`; what is left out is
as in `Batch` and `Subprogram`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from optimizer.errors import SettingsError, did_you_mean
from optimizer.prepass.instructions import Batch, Instruction, MatchOrder, Program, Subprogram, rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.rules.interface import RewriteRule

_WIDTH = 100
_BATCH_KEYS = ("name", "rules", "once", "passes", "order", "match_limit", "one_firing")
_SUBPROGRAM_KEYS = ("name", "step", "once", "passes")


def show_program(program: Program) -> str:
    """The program as TOML that `parse_program` reads; settings that are as by default are left out."""
    return "\n\n".join(_shown(instruction, "step") for instruction in program)


def read_program(file: Path, known: Sequence[RewriteRule] = ()) -> tuple[Instruction, ...]:
    """The program in a TOML file. Raises SettingsError. See `parse_program`."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"cannot read program {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"program {file} is not UTF-8 text") from None
    return parse_program(text, known, str(file))


def parse_program(text: str, known: Sequence[RewriteRule] = (), source: str = "program") -> tuple[Instruction, ...]:
    """The program that a TOML text describes. It may name the rules of the default program and those in `known`.

    Raises SettingsError: `source` and what is wrong in which step.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{source} is not valid TOML: {error}") from None
    rules = {rule.name: rule for rule in (*rules_of(PROGRAM), *known)}
    unknown = [key for key in values if key != "step"]
    if unknown:
        raise SettingsError(f'{source}: unknown key "{unknown[0]}"\na program is a list of [[step]]')
    if not values:
        raise SettingsError(f"{source} has no steps\nwrite [[step]] with a rule, with rules or with steps of its own")
    return _Reader(rules, source).steps(values["step"], "step")


class _Reader:
    def __init__(self, rules: Mapping[str, RewriteRule], source: str) -> None:
        self.rules, self.source = rules, source

    def steps(self, values: object, place: str) -> tuple[Instruction, ...]:
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise self.wrong(place, "steps are tables: write [[step]]")
        return tuple(self.step(value, f"{place} {i}") for i, value in enumerate(values, 1))

    def step(self, value: Mapping[str, object], place: str) -> Instruction:
        kinds = [key for key in ("rule", "rules", "step") if key in value]
        if len(kinds) != 1:
            raise self.wrong(place, 'a step has one of "rule", "rules" and [[step.step]]')
        if kinds[0] == "rule":
            self.check_keys(value, ("rule",), place)
            return self.rule(value["rule"], place)
        name = value.get("name")
        if not isinstance(name, str) or not name:
            raise self.wrong(place, 'it needs a name, for example name = "predicates"')
        place = f'step "{name}"'
        fixpoint, passes = not self.flag(value, "once", place), self.count(value, "passes", place)
        if passes is not None and not fixpoint:
            raise self.wrong(place, "once is one pass: leave passes out")
        if kinds[0] == "step":
            self.check_keys(value, _SUBPROGRAM_KEYS, place)
            return Subprogram(name, self.steps(value["step"], f"{place}, step"), fixpoint, passes)
        self.check_keys(value, _BATCH_KEYS, place)
        listed = value["rules"]
        if not isinstance(listed, list):
            raise self.wrong(place, 'rules is a list of names, for example ["filter_merge"]')
        rules = tuple(self.rule(each, place) for each in listed)
        limit, one_firing = self.count(value, "match_limit", place), self.flag(value, "one_firing", place)
        return Batch(name, rules, fixpoint, self.order(value, place), passes, limit, one_firing)

    def rule(self, name: object, place: str) -> RewriteRule:
        if isinstance(name, str) and name in self.rules:
            return self.rules[name]
        hint = did_you_mean(str(name), self.rules, "planscope rules lists those of kind prepass")
        raise self.wrong(place, f'unknown rule "{name}"\n{hint}')

    def order(self, value: Mapping[str, object], place: str) -> MatchOrder:
        order = value.get("order", MatchOrder.ARBITRARY.value)
        if order not in list(MatchOrder):
            raise self.wrong(place, f'order cannot be "{order}": choose one of {", ".join(MatchOrder)}')
        return MatchOrder(str(order))

    def flag(self, value: Mapping[str, object], key: str, place: str) -> bool:
        found = value.get(key, False)
        if not isinstance(found, bool):
            raise self.wrong(place, f"{key} is true or false, not {found!r}")
        return found

    def count(self, value: Mapping[str, object], key: str, place: str) -> int | None:
        found = value.get(key)
        if found is None or (isinstance(found, int) and not isinstance(found, bool) and found > 0):
            return found
        raise self.wrong(place, f"{key} is a whole number from 1 up, not {found!r}")

    def check_keys(self, value: Mapping[str, object], known: tuple[str, ...], place: str) -> None:
        for key in value:
            if key not in known:
                hint = did_you_mean(key, known, f"it may have {', '.join(known)}")
                raise self.wrong(place, f'unknown key "{key}"\n{hint}')

    def wrong(self, place: str, text: str) -> SettingsError:
        return SettingsError(f"{self.source}, {place}: {text}")


def _shown(instruction: Instruction, path: str) -> str:
    lines = [f"[[{path}]]"]
    match instruction:
        case Batch(name, rules, fixpoint, order, passes, match_limit, one_firing):
            lines += [f"name = {_quoted(name)}", *_strategy(fixpoint, passes)]
            lines += [] if order is MatchOrder.ARBITRARY else [f"order = {_quoted(order)}"]
            lines += [] if match_limit is None else [f"match_limit = {match_limit}"]
            lines += ["one_firing = true"] if one_firing else []
            lines += _listed([rule.name for rule in rules])
        case Subprogram(name, steps, fixpoint, passes):
            lines += [f"name = {_quoted(name)}", *_strategy(fixpoint, passes)]
            lines += ["step = []"] if not steps else []
            lines += ["", "\n\n".join(_shown(step, f"{path}.step") for step in steps)] if steps else []
        case _:
            lines.append(f"rule = {_quoted(instruction.name)}")
    return "\n".join(lines)


def _strategy(fixpoint: bool, passes: int | None) -> list[str]:
    if not fixpoint:
        return ["once = true"]
    return [] if passes is None else [f"passes = {passes}"]


def _listed(names: list[str]) -> list[str]:
    if not names:
        return ["rules = []"]
    lines, line = ["rules = ["], "   "
    for name in map(_quoted, names):
        if len(line) + len(name) + 2 > _WIDTH:
            lines.append(line)
            line = "   "
        line += f" {name},"
    return [*lines, line, "]"]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
