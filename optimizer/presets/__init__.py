"""Presets: files of settings, `--preset NAME`. Each says in its first lines what it reproduces, and from which source."""

from __future__ import annotations

import difflib
from importlib.resources import files
from pathlib import Path

from optimizer.errors import SettingsError


def preset_names() -> list[str]:
    """The presets there are."""
    return sorted(path.name.removesuffix(".toml") for path in files(__name__).iterdir() if path.name.endswith(".toml"))


def preset_file(name: str) -> Path:
    """The file of a preset. Raises SettingsError for an unknown name."""
    names = preset_names()
    if name not in names:
        close = difflib.get_close_matches(name, names, 1)
        hint = f'did you mean "{close[0]}"?' if close else f"presets: {', '.join(names)}"
        raise SettingsError(f'unknown preset "{name}"\n{hint}')
    return Path(str(files(__name__) / f"{name}.toml"))
