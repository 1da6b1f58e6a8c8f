"""What a bundle holds, writing one, and reading one that may have come from anywhere."""

from __future__ import annotations

import io
import json
import platform
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from executor.atomic import atomic_output
from executor.session import Session
from experiments.bench.code_version import versions_of
from experiments.bundles.catalog_json import catalog_json, read_catalog
from memo_viz.explain import plan_json
from optimizer.algebra.logical import Scan
from optimizer.algebra.trees import Tree, postorder
from optimizer.catalog.table import Catalog
from optimizer.errors import CatalogError, PlanscopeError, SettingsError
from optimizer.pipeline import OptimizedQuery
from optimizer.prepass.instructions import Program
from optimizer.prepass.program import PROGRAM
from optimizer.prepass.program_text import read_program, show_program
from optimizer.settings import Settings
from optimizer.sql.clock import stopped
from optimizer.trace.recorder import Trace, json_lines

FORMAT, VERSION = "planscope-bundle", 1
LIBRARIES = ("planscope", "pyarrow", "sqlglot", "numpy", "networkx")
FILE_SETTINGS = ("coefficients", "injected")  # settings that name a file which a bundle takes along
MOST_BYTES = {"bundle.json": 20 << 20, "catalog.json": 200 << 20, "plan.json": 50 << 20, "trace.jsonl": 1 << 30}
MOST_FILE_BYTES, MOST_FILES = 100 << 20, 10
_FILE = re.compile(r"files/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class Bundle:
    """`settings`: by name, as `Settings.as_dict` has them; plug-ins by file name alone, files as members of the bundle.
    `program`: of the pre-pass, as text, None for the default one. `now`: what now() was, where the query asks. `trace`:
    lines without times; None where planning failed or was not recorded. `error`: what was raised. `about`: versions,
    environment and whatever else is only for people."""

    sql: str
    settings: dict[str, Any]
    program: str | None
    catalog: dict[str, Any]
    files: Mapping[str, bytes] = field(default_factory=dict)
    plan: dict[str, Any] | None = None
    trace: tuple[str, ...] | None = None
    error: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    now: str | None = None


class Planned(NamedTuple):
    """What came of planning a bundle's query: a plan, or an error, and the trace up to there; the time, if it was asked for."""

    query: OptimizedQuery | None
    trace: tuple[str, ...]
    error: Exception | None
    now: str | None

    @property
    def error_text(self) -> str | None:
        return None if self.error is None else f"{type(self.error).__name__}: {self.error}"


def make_bundle(sql: str, catalog: Catalog, settings: Settings, program: Program = PROGRAM, traced: bool = True) -> Bundle:
    """The bundle of a query. Planned is with the catalog as the bundle has it, so what it records can be replayed: if the query
    cannot be planned, that is what is recorded. Raises SettingsError for settings that need more than a bundle holds."""
    if settings.estimator in ("true", "perturbed"):
        raise SettingsError(
            f"estimator={settings.estimator} counts rows, and a bundle holds none\n"
            "planscope explain --format json has the row counts; estimator=injected takes counts from a file"
        )
    values, files = settings.as_dict(), {}
    for name in FILE_SETTINGS:
        if values[name]:
            path, _, query = str(values[name]).partition(":") if not Path(values[name]).is_file() else (values[name], "", "")
            member = "files/" + re.sub(r"[^A-Za-z0-9_.-]", "_", f"{name}{Path(path).suffix}")
            try:
                files[member] = Path(path).read_bytes()
            except OSError as error:
                raise SettingsError(f"cannot read {path}: {error.strerror}") from None
            values[name] = f"{member}:{query}" if query else member
    values["plugins"] = [Path(each).name for each in settings.plugins]
    text = None if program is PROGRAM else show_program(program)
    bundle = Bundle(sql, values, text, catalog_json(catalog), files, about=_about())
    planned = plan(bundle, settings.plugins, traced)
    bundle = replace(bundle, now=planned.now)
    if planned.query is not None:
        nodes = [node for stage in planned.query.stages for node in postorder(stage.tree)]
        read = [node.op.table for node in nodes if isinstance(node, Tree) and isinstance(node.op, Scan)]
        bundle = replace(bundle, catalog=catalog_json(catalog, read))
        planned = plan(bundle, settings.plugins, traced)
    return recorded(bundle, planned, traced)


def recorded(bundle: Bundle, planned: Planned, traced: bool = True) -> Bundle:
    """The bundle with what came of planning it."""
    query = planned.query
    return replace(
        bundle,
        plan=None if query is None else plan_json(query.plan, query.columns),
        trace=planned.trace if traced else None,
        error=planned.error_text,
    )


def plan(bundle: Bundle, plugins: tuple[str, ...] = (), traced: bool = True) -> Planned:
    """Plan the query of a bundle. `plugins`: the files that its settings name, from a trusted place.

    Raises SettingsError for settings of a bundle that are none, or would run what it names.
    """
    with TemporaryDirectory(prefix="planscope-") as folder:
        session = _session(bundle, plugins, Path(folder))
        trace = Trace() if traced else None
        query: OptimizedQuery | None = None
        failure: Exception | None = None
        with stopped(None if bundle.now is None else datetime.fromisoformat(bundle.now)) as clock:
            try:
                query = session.optimizer.optimize(bundle.sql, trace)
            except Exception as error:  # whatever it is, it is the bundle's outcome
                failure = error
        lines = () if trace is None else tuple(_timeless(trace, bundle.settings))
        return Planned(query, lines, failure, clock.at.isoformat() if clock.asked else None)


def _session(bundle: Bundle, plugins: tuple[str, ...], folder: Path) -> Session:
    values = dict(bundle.settings)
    named = [str(each) for each in values.pop("plugins", [])]
    if sorted(named) != sorted(Path(each).name for each in plugins):
        raise SettingsError(
            f"the bundle was made with the plug-ins {', '.join(named) or 'none'}\n"
            "plug-ins are programs, so a bundle only names them: give each with --plugin FILE"
        )
    if ":" in str(values.get("estimator", "")):
        raise SettingsError(
            f"the bundle names the estimator {values['estimator']}, which would be imported\n"
            "a bundle may come from anywhere: make a plug-in of it and give that with --plugin FILE"
        )
    for name in FILE_SETTINGS:
        member, colon, query = str(values.get(name) or "").partition(":")
        if member:
            if member not in bundle.files:
                raise SettingsError(f"the setting {name} of the bundle names {member}, which is not in it")
            path = folder / Path(member).name
            path.write_bytes(bundle.files[member])
            values[name] = f"{path}{colon}{query}"
    settings = Settings.from_mapping({**values, "plugins": plugins})
    if settings.estimator in ("true", "perturbed"):
        raise SettingsError(f"estimator={settings.estimator} counts rows, and a bundle holds none")
    program: Program = PROGRAM
    if bundle.program is not None:
        path = folder / "program.toml"
        path.write_text(bundle.program, encoding="utf-8")
        try:
            program = read_program(path, ())
        except PlanscopeError as error:
            raise SettingsError(str(error).replace(str(path), "the program of the bundle")) from error
    try:
        catalog = read_catalog(bundle.catalog)
    except PlanscopeError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, OSError):
        raise CatalogError("catalog.json of the bundle is damaged: a table lacks a part, or has one of another kind") from None
    return Session(catalog, settings, program)


def _timeless(trace: Trace, settings: Mapping[str, Any]) -> list[str]:
    """The events as lines, without times, and with the settings that the bundle has."""
    lines = []
    for event, line in zip(trace.events, json_lines(trace), strict=True):
        value = json.loads(line)
        del value["t"]
        if event["kind"] == "header":
            value["settings"] = dict(settings)
        lines.append(json.dumps(value, ensure_ascii=False))
    return lines


def _about() -> dict[str, Any]:
    """Versions, and the kind of machine; nothing that names one."""
    versions = {"python": platform.python_version(), **dict.fromkeys(LIBRARIES, "missing"), **versions_of(LIBRARIES)}
    environment = {"system": platform.system(), "machine": platform.machine(), "implementation": sys.implementation.name}
    return {"versions": versions, "environment": environment}


# -- the file ---------------------------------------------------------------------------------------------------------------


def bundle_bytes(bundle: Bundle) -> bytes:
    """The zip file: the same bytes for the same bundle."""
    head = {
        "format": FORMAT, "version": VERSION, "sql": bundle.sql, "settings": bundle.settings, "program": bundle.program,
        "error": bundle.error, **bundle.about, **({} if bundle.now is None else {"now": bundle.now}),
    }  # fmt: skip
    members = {"bundle.json": _json(head), "catalog.json": _json(bundle.catalog), **bundle.files}
    if bundle.plan is not None:
        members["plan.json"] = _json(bundle.plan)
    if bundle.trace is not None:
        members["trace.jsonl"] = "".join(line + "\n" for line in bundle.trace).encode("utf-8", "surrogatepass")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def write_bundle(bundle: Bundle, path: str) -> None:
    """Write the bundle whole or not at all. Raises OutputError."""
    with atomic_output(path) as file:
        file.write(bundle_bytes(bundle))


def read_bundle(path: Path) -> Bundle:
    """A bundle from a file that may have been made to do harm: names and sizes of its members are checked before they are read,
    and none is written anywhere under a name that it brings. Raises CatalogError."""

    def damaged(why: str) -> CatalogError:
        return CatalogError(f"{path} is no bundle of planscope: {why}")

    try:
        opened = path.open("rb")
    except OSError as error:
        raise CatalogError(f"cannot read {path}: {error.strerror}") from None
    try:
        with opened, zipfile.ZipFile(opened) as file:
            members = _members(file, damaged)
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, ValueError):
        if path.suffix == ".json":
            raise damaged("a case of a bug that is JSON has the command that ran into it, to be run again") from None
        raise damaged("it is not a zip file, or it is cut short or damaged") from None
    try:
        head = json.loads(members["bundle.json"])
        if head.get("format") != FORMAT:
            raise damaged("bundle.json does not say so")
        if head.get("version") != VERSION:
            raise damaged(f"it has version {str(head.get('version'))[:20]}; this planscope reads version {VERSION}")
        lines = members.get("trace.jsonl")
        bundle = Bundle(
            head["sql"], head["settings"], head["program"], json.loads(members["catalog.json"]),
            {name: content for name, content in members.items() if name.startswith("files/")},
            json.loads(members["plan.json"]) if "plan.json" in members else None,
            None if lines is None else tuple(lines.decode("utf-8", "surrogatepass").split("\n")[:-1]),
            head["error"],
            {name: head[name] for name in ("versions", "environment") if isinstance(head.get(name), dict)},
            None if head.get("now") is None else datetime.fromisoformat(head["now"]).isoformat(),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise damaged("what it holds is not JSON as planscope writes it") from None
    texts = isinstance(bundle.sql, str) and isinstance(bundle.program, str | None) and isinstance(bundle.error, str | None)
    if not texts or not isinstance(bundle.settings, dict) or not isinstance(bundle.catalog, dict):
        raise damaged("bundle.json lacks what it must have")
    return bundle


def _members(file: zipfile.ZipFile, damaged: Callable[[str], CatalogError]) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    for info in file.infolist():
        name = info.filename
        shown = repr(name[:80])
        most = MOST_BYTES.get(name, MOST_FILE_BYTES if _FILE.fullmatch(name) else 0)
        if not most:
            raise damaged(f"it has a member {shown}, which none has")
        if name in members or len(members) > len(MOST_BYTES) + MOST_FILES:
            raise damaged(f"it has too many members, or {shown} twice")
        if info.flag_bits & 1:
            raise damaged(f"{shown} is encrypted")
        if info.file_size > most:
            raise damaged(f"{shown} would be {info.file_size:,} bytes, and {most:,} are the most")
        with file.open(info) as member:  # sizes in a zip file may be wrong, so no more than the most is read
            content = member.read(most + 1)
        if len(content) > most:
            raise damaged(f"{shown} is larger than the {most:,} bytes that are the most")
        members[name] = content
    for name in ("bundle.json", "catalog.json"):
        if name not in members:
            raise damaged(f"it has no {name}")
    return members


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False, default=str) + "\n").encode()
