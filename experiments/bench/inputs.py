"""What results depend on besides planscope's code: plug-ins, files that settings and items name, datasets."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from experiments.bench.experiment import Item
from experiments.workloads.data import open_data
from experiments.workloads.queries import query_name, resolve_sql
from optimizer.settings import Settings
from optimizer.stats.injected import injected_file


def input_digests(
    settings: Iterable[Settings], items: Sequence[Item], say: Callable[[str], None] | None = None
) -> dict[str, str]:
    """Twelve hex digits for each input, by what it is: `plug-in turn.py`, `dataset tpch:0.1`. Opens every dataset; `say` is told
    of those that have to be made. Raises PlanscopeError."""
    files = {what: path for each in dict.fromkeys(settings) for what, path in settings_files(each).items()}
    contents = {what: path.read_bytes() for what, path in files.items()} | _texts(items)
    found = {what: hashlib.sha256(content).hexdigest()[:12] for what, content in contents.items()}
    datasets = dict.fromkeys(item["data"] for item in items if item.get("data"))
    return found | {f"dataset {data}": open_data(data, say).digest[:12] for data in datasets}


def _texts(items: Iterable[Item]) -> dict[str, bytes]:
    """The SQL of queries whose name does not say it: those of files, and long ones that a name cuts short. Raises SqlError."""
    found = {}
    for name, sql in sorted({str(item.get("query") or item.get("form")): item.get("sql") for item in items}.items()):
        known = query_name(name)  # of a file another one, "" of SQL
        text = sql or (name if known in ("", name) else resolve_sql(name))
        if known != name and text.split() != name.split():
            found[f"query {name}"] = text.encode()
    return found


def settings_files(settings: Settings) -> dict[str, Path]:
    """The files that settings name and that are there, by what they are: `injected file rows.csv`."""
    named = {f"plug-in {file}": file for file in settings.plugins}
    if settings.injected:
        file = injected_file(settings.injected)
        named[f"injected file {file}"] = file
    if settings.coefficients:
        named[f"coefficients file {settings.coefficients}"] = settings.coefficients
    if ":" in settings.estimator and (module := _module_file(settings.estimator.partition(":")[0])):
        named[f"estimator {settings.estimator}"] = module
    return {what: path for what, file in named.items() if (path := Path(os.path.expanduser(file))).is_file()}


def _module_file(name: str) -> str | None:
    """The file of a module; None where there is none, which whoever imports it will say."""
    try:
        spec = find_spec(name)
    except Exception:  # the packages that it is in are imported
        return None
    return None if spec is None else spec.origin
