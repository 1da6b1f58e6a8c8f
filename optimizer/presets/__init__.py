"""Presets: files of settings, `--preset NAME`. Each says in its first lines what it reproduces, and from which source."""

from importlib.resources import files
from pathlib import Path

from optimizer.errors import SettingsError, did_you_mean


def preset_names() -> list[str]:
    """The presets there are."""
    return sorted(path.name.removesuffix(".toml") for path in files(__name__).iterdir() if path.name.endswith(".toml"))


def preset_file(name: str) -> Path:
    """The file of a preset. Raises SettingsError for an unknown name."""
    names = preset_names()
    if name not in names:
        hint = did_you_mean(name, names, f"presets: {', '.join(names)}")
        raise SettingsError(f'unknown preset "{name}"\n{hint}')
    return Path(str(files(__name__) / f"{name}.toml"))
