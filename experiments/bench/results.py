"""The folder of a run: its rows (`store`), and in environment.json what they depend on."""

import hashlib
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
from experiments.bench.code_version import code_digest, commit, versions_of
from experiments.bench.experiment import Experiment, Item
from experiments.bench.store import Store
from experiments.lock import now
from optimizer.errors import OutputError, PlanscopeError

_PACKAGES = ("planscope", "pyarrow", "numpy", "sqlglot", "networkx", "duckdb", "polars")
_KINDS: dict[str, type] = {  # what environment.json has for sure
    **dict.fromkeys(("experiment", "code", "started", "python", "processor"), str),
    **dict.fromkeys(("commands", "item_columns"), list), **dict.fromkeys(("inputs", "versions"), dict),
}  # fmt: skip


class Results(Store):
    """The results of `items` in `folder`; `inputs`: digests of what they depend on (`inputs`), by what it is. `retry`: those that
    failed are to be measured again.

    Raises OutputError where it cannot be written, PlanscopeError where it holds results of something else: of another experiment,
    other code or inputs, of another machine where something is to be measured, or that may not stand beside these items (SHARED).
    """

    def __init__(
        self, folder: str | Path, experiment: Experiment, command: str, items: Sequence[Item],
        inputs: Mapping[str, str] | None = None, retry: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(make_folder(folder), experiment)
        code = code_of(experiment)
        known = read_environment(self.folder)
        if known is None and (self.folder / "results.parquet").exists():
            raise OutputError(f"{folder} has a results.parquet of something else: name another folder")
        if known is not None and known["experiment"] != experiment.NAME:
            raise PlanscopeError(f"{folder} has results of bench {known['experiment']}: name another folder with -o")
        measures = known is None or retry or bool(self.missing(items))
        machine = environment() if known is None or measures else known
        if known is not None and self.finished():
            old, new = _facts(known), _facts({**machine, "code": code, "inputs": inputs or {}})
            if changed := [f"{what} ({old[what]}, now {new[what]})" for what in new if old.get(what, new[what]) != new[what]]:
                raise self._refusal(f"another version of {', '.join(changed)}")
            self._check_shared(getattr(experiment, "SHARED", {}), items)
        before: dict[str, Any] = known or {"commands": [], "item_columns": [], "inputs": {}, "started": machine["started"]}
        own = {
            "experiment": experiment.NAME, "commands": list(dict.fromkeys([*before["commands"], command])), "code": code,
            "inputs": {**before["inputs"], **(inputs or {})},
        }  # fmt: skip
        columns = dict.fromkeys([*before["item_columns"], *(name for item in items for name in item)])
        self.environment = {**own, **machine, **own, "started": before["started"], "item_columns": [*columns]}
        self._write_environment()
        if retry and self.finished():
            self._forget_failed(items)

    def _check_shared(self, shared: Mapping[str, str], items: Sequence[Item]) -> None:
        rows = self.rows([*shared, *shared.values()]).to_pylist() if shared else []
        for column, other in shared.items():
            values: dict[Any, Any] = {}
            for row in (*rows, *items):
                value = row.get(column)
                if value is not None and (old := values.setdefault(row.get(other), value)) != value:
                    raise self._refusal(f"other {column} ({old}, now {value})")

    def _refusal(self, what: str) -> PlanscopeError:
        return PlanscopeError(
            f"{self.folder} has results of {what}: name another folder with -o, or remove it; "
            f"planscope bench report {self.folder} makes its report again"
        )

    def _forget_failed(self, items: Sequence[Item]) -> None:
        rows, marks = self.rows(), pa.array(map(self._identity, items), pa.string())
        self.replace(rows.filter(pc.or_(pc.equal(rows["status"], "ok"), pc.invert(pc.is_in(rows["item"], marks)))))

    def finish(self, items: Sequence[Item]) -> pa.Table:
        table = super().finish(items)
        self.environment["finished"] = self.environment.get("finished") or now()
        self._write_environment()
        return table

    def _write_environment(self) -> None:
        write_file(self.folder / "environment.json", json.dumps(self.environment, indent=1) + "\n")


def read_rows(folder: Path) -> pa.Table:
    """The rows of a run, finished or not. Raises OutputError where there are none."""
    return Store(folder).rows()


def read_environment(folder: Path) -> dict[str, Any] | None:
    """What environment.json says; None where there is none. Raises OutputError for one that is not ours."""
    path = folder / "environment.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for name, kind in _KINDS.items():
            if not isinstance(found[name], kind) or (kind is list and not all(isinstance(each, str) for each in found[name])):
                raise ValueError(f"{name} is {found[name]!r}")
        return found
    except FileNotFoundError:
        return None
    except KeyError as error:
        raise OutputError(f"{path} is of no experiment: it has no {error.args[0]}") from error
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise OutputError(f"cannot read {path}: {error}") from error


def code_of(experiment: Experiment) -> str:
    """Twelve hex digits of the code that a result depends on: the optimizer, the executors, the workloads, the experiment."""
    own = Path(cast(ModuleType, experiment).__file__ or "")
    return hashlib.sha256(code_digest().encode() + own.read_bytes()).hexdigest()[:12]


def environment() -> dict[str, Any]:
    """What results depend on besides code and command."""
    return {
        "commit": commit(), "versions": versions_of(_PACKAGES),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()}", "machine": platform.machine(), "processor": _processor(),
        "processors": os.cpu_count(),
        "load_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random" if sys.flags.hash_randomization else "0"),
        "started": now(), "finished": None,
    }  # fmt: skip


def _facts(about: Mapping[str, Any]) -> dict[str, str]:
    """What all rows of a folder have in common, by what it is."""
    machine = {name: about["versions"].get(name, "none") for name in _PACKAGES}
    machine |= {"Python": about["python"], "the processor": about["processor"]}
    return {"the code": about["code"], **about["inputs"], **machine}


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
