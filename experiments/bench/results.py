"""The folder of a run: its rows (`store`), and in environment.json what they depend on."""

import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from executor.atomic import make_folder, write_file
from experiments.bench.code_version import code_digest, commit
from experiments.bench.experiment import Experiment, Item
from experiments.bench.store import Store
from experiments.lock import now
from optimizer.errors import OutputError, PlanscopeError

_PACKAGES = ("planscope", "pyarrow", "numpy", "sqlglot", "networkx", "duckdb", "polars")


class Results(Store):
    """The results of `items` in `folder`; `inputs`: digests of what they depend on (`inputs`), by what it is.

    Raises OutputError where it cannot be written, PlanscopeError where it holds results of something else.
    """

    def __init__(
        self, folder: str | Path, experiment: Experiment, command: str, items: Sequence[Item],
        inputs: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(make_folder(folder), experiment)
        code = code_of(experiment)
        known = read_environment(self.folder)
        if known is None and (self.folder / "results.parquet").exists():
            raise OutputError(f"{folder} has a results.parquet of something else: name another folder")
        if known is not None and known["experiment"] != experiment.NAME:
            raise PlanscopeError(f"{folder} has results of bench {known['experiment']}: name another folder with -o")
        new = {"the code": code, **(inputs or {})}
        old: dict[str, str] = {} if known is None else {"the code": known["code"], **known.get("inputs", {})}
        if changed := [f"{what} ({old[what]}, now {new[what]})" for what in new if old.get(what, new[what]) != new[what]]:
            raise PlanscopeError(
                f"{folder} has results of another version of {', '.join(changed)}: name another folder with "
                f"-o, or remove it; planscope bench report {folder} makes its report again"
            )
        before: list[str] = [] if known is None else known["item_columns"]
        columns = list(dict.fromkeys([*before, *(name for item in items for name in item)]))
        self.environment = {
            "experiment": experiment.NAME,
            "commands": list(dict.fromkeys([*([] if known is None else known["commands"]), command])),
            "code": code,
            "inputs": {what: digest for what, digest in {**old, **new}.items() if what != "the code"},
            **environment(),
            "item_columns": columns,
        }
        if known is not None:
            self.environment["started"] = known["started"]
        self._write_environment()

    def forget_failed(self) -> None:
        """Drops the rows of items that failed, so that they are measured again."""
        if self.finished():
            rows = self.rows()
            self.replace(rows.filter(pc.equal(rows["status"], "ok")))

    def finish(self, items: Sequence[Item]) -> pa.Table:
        table = super().finish(items)
        self.environment["finished"] = now()
        self._write_environment()
        return table

    def _write_environment(self) -> None:
        write_file(self.folder / "environment.json", json.dumps(self.environment, indent=1) + "\n")


def read_rows(folder: Path) -> pa.Table:
    """The rows of a run, finished or not. Raises OutputError where there are none."""
    return Store(folder).rows()


def read_environment(folder: Path) -> dict[str, Any] | None:
    """What environment.json says; None where there is none. Raises OutputError for one that is not ours."""
    try:
        found = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
        return cast("dict[str, Any]", found) if found["experiment"] and found["code"] and found["commands"] else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise OutputError(f"cannot read {folder / 'environment.json'}: {error}") from error


def code_of(experiment: Experiment) -> str:
    """Twelve hex digits of the code that a result depends on: the optimizer, the executors, the workloads, the experiment."""
    own = Path(cast(ModuleType, experiment).__file__ or "")
    return hashlib.sha256(code_digest().encode() + own.read_bytes()).hexdigest()[:12]


def environment() -> dict[str, Any]:
    """What results depend on besides code and command."""
    versions = {}
    for name in _PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "commit": commit(), "versions": versions, "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()}", "machine": platform.machine(), "processor": _processor(),
        "processors": os.cpu_count(),
        "load_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random" if sys.flags.hash_randomization else "0"),
        "started": now(), "finished": None,
    }  # fmt: skip


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
