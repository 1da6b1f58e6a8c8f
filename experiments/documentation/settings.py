"""The reference of settings."""

from experiments.documentation.markdown import plain, table
from optimizer.presets import preset_file, preset_names
from optimizer.settings import describe_settings


def page() -> str:
    """docs/reference/settings.md."""
    lines = [
        "# Settings\n",
        "Written by `python -m experiments.documentation` from `optimizer/settings.py`; do not edit.\n",
        "`--set NAME=VALUE` changes one setting, `--settings FILE.toml` several, `--preset NAME` begins with a set of them,",
        "and `Session(data, {NAME: VALUE}, preset=NAME)` does it from Python. Later ones win: preset, file, `--set`.",
        "All of them head every trace.\n",
        *table(
            ("setting", "default", "values", "meaning"),
            ((f"`{s.name}`", _value(s.default), s.choices.replace("|", ", "), plain(s.doc)) for s in describe_settings()),
        ),
        "\n## Presets\n",
    ]
    for name in preset_names():
        lines += [f"### {name}\n", f"```toml\n{preset_file(name).read_text('utf-8')}```\n"]
    return "\n".join(lines)


def _value(default: object) -> str:
    text = (
        ", ".join(default) if isinstance(default, tuple) else str(default).lower() if isinstance(default, bool) else str(default)
    )
    return f"`{text}`" if text else "empty"
