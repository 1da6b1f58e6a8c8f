"""Whether the packages that planscope is made of are its own.

They have general names. A user's `optimizer.py` beside a script hides ours, and another project's `executor` may be installed
over it; what Python then says is far from the cause.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("optimizer", "executor", "experiments", "memo_viz")
_AGAIN = "install planscope again, with pip install --force-reinstall"
_HERE = Path(__file__).absolute().parent.parent


def check_packages() -> None:
    """Raises ImportError that says which file is in the way of a package of ours, and what to do."""
    for name in PACKAGES:
        found = _origin(name)
        ours = _HERE / name / "__init__.py"
        if found == ours and "planscope" in _text(ours):
            continue
        if found is None:
            raise ImportError(f"planscope's package {name} is missing in {_HERE}\n{_AGAIN}")
        if found == ours:
            raise ImportError(
                f"{found} is not planscope's: another project of that name was installed over it\n"
                f"give planscope an environment of its own, or uninstall the other; then {_AGAIN}"
            )
        raise ImportError(
            f"{found} is in the way of planscope's package of that name\n"
            "rename it, or start Python in another folder (python -P leaves the script's folder out)"
        )


def _origin(name: str) -> Path | None:
    """The file that `import name` runs, or the folder where that has none; None when there is neither."""
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None):
        return Path(str(loaded.__file__)).absolute()
    try:
        spec = find_spec(name)
    except ValueError:  # put into sys.modules by hand
        return Path("<unknown>")
    if spec is None:
        return None
    if spec.origin is not None:
        return Path(spec.origin).absolute()
    places = list(spec.submodule_search_locations or ())
    return Path(places[0]).absolute() if places else None


def _text(file: Path) -> str:
    """The first lines of one of our files; in a zip, where nobody installs anything over it, just our name."""
    try:
        with file.open(encoding="utf-8") as text:
            return text.read(400)
    except OSError:
        return "planscope"
