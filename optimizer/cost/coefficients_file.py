"""The file that `planscope calibrate` writes and the setting `coefficients` names: JSON, with a format and a version.

    {"format": "planscope-coefficients", "version": 1, "coefficients": {NAME: ns, …}, "machine": {…}, "fit": […]}

What was measured, where and how well it fits stand beside the coefficients for people to read; only these are read back.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optimizer.cost.coefficients import NAMES, Coefficients
from optimizer.errors import SettingsError, did_you_mean

FORMAT, VERSION = "planscope-coefficients", 1
AGAIN = "planscope calibrate -o FILE writes such a file"


def coefficients_text(coefficients: Coefficients, machine: Mapping[str, Any], fit: Sequence[Mapping[str, Any]]) -> str:
    """The contents of a file. `machine` and `fit`: JSON-able facts."""
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "coefficients": coefficients.as_dict(),
        "machine": dict(machine),
        "fit": [dict(each) for each in fit],
    }
    return json.dumps(facts, indent=2, allow_nan=False) + "\n"


def read_coefficients(path: str | Path) -> Coefficients:
    """The coefficients of a file. Raises SettingsError when it cannot be read, is none, is of another version, or names too
    much or too little."""
    try:
        facts = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read the coefficients file {path}: {error.strerror}\n{AGAIN}") from None
    except (ValueError, RecursionError) as error:  # no UTF-8, or no JSON
        raise SettingsError(f"{path} is not a file of coefficients: {error}\n{AGAIN}") from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT or not isinstance(facts.get("coefficients"), dict):
        raise SettingsError(f'{path} is not a file of coefficients: it does not say "format": "{FORMAT}"\n{AGAIN}')
    if facts.get("version") != VERSION:
        raise SettingsError(
            f"{path} has version {facts.get('version')!r} of the format; this release reads version {VERSION}\n{AGAIN}"
        )
    values = facts["coefficients"]
    problems = [f'unknown coefficient "{name}"{_near(name)}' for name in values if name not in NAMES]
    missing = [name for name in NAMES if name not in values]
    if missing:
        problems.append(f"missing: {', '.join(missing)}")
    if problems:
        raise SettingsError(f"{path}: " + "; ".join(problems) + f"\n{AGAIN}")
    try:
        return Coefficients(**values)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None


def _near(name: str) -> str:
    hint = did_you_mean(name, NAMES, "")
    return f" ({hint})" if hint else ""
