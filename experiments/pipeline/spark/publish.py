"""A dataset folder under construction: unseen until it is whole, gone on with after an interruption.

    DIR/_planscope/unfinished/              a dataset folder of its own: tables, schema.sql, _planscope/
    DIR/_planscope/unfinished/request.json  what is being made, and the command that goes on with it
    DIR/_planscope/unfinished/.work/        what else has been done so far, which is not moved
    DIR/_planscope/unfinished/.lock         held by the process at work

Whoever reads DIR before the end is told so (`optimizer.catalog.folder`), since no table of it has its place yet. At the end
everything moves to its place by renaming, which an interruption does not hurt either: the manifest, which is written when all is
made, moves last, so while it is there only moving is left. Nothing is put outside DIR, so DIR may be a mount point and all that
workers share.
"""

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executor.atomic import make_folder, write_file
from experiments.lock import hold, holder
from experiments.pipeline.spark.manifest import MANIFESTS, Facts, Files, plain, read_facts
from optimizer.catalog.folder import METADATA_FOLDER, REQUEST, UNFINISHED
from optimizer.errors import Interrupted, OutputError, PlanscopeError

_VERSION = 1
_LOCK = ".lock"
WORK = ".work"
_DONE = f".{UNFINISHED}.done"
SCRATCH = ".task-"  # how temporary folders of tasks begin: what killed ones leave is removed
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM)


@dataclass(frozen=True, slots=True)
class Plan:
    """A dataset to be made by `stage`, which is told from others by `inputs` and `settings`; `what` in words.

    `fill` puts it into an empty folder, or goes on with one, and gives the counts and files of its manifest. `resume`: a command
    that goes on, "" when nobody can by hand.
    """

    stage: str
    what: str
    inputs: Facts
    settings: Facts
    fill: Callable[[Path], tuple[Facts, Files]]
    resume: str = ""

    @property
    def facts(self) -> dict[str, Any]:
        return {"inputs": plain(self.inputs), "settings": plain(self.settings)}

    def made(self, manifest: Facts | None) -> bool:
        """Whether this is the manifest of this very dataset."""
        return manifest is not None and all(manifest[name] == facts for name, facts in self.facts.items())


def check_target(folder: Path, plan: Plan) -> None:
    """Raises OutputError unless `folder` is free: missing, empty, or holding what this very plan left unfinished."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder for the dataset")
    left = read_request(folder)
    try:
        inside = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
        if inside == [METADATA_FOLDER] and left is None:  # the remains of a start or an end that was interrupted are nothing
            inside = [entry.name for entry in (folder / METADATA_FOLDER).iterdir() if entry.name not in (UNFINISHED, _DONE)]
            inside = [METADATA_FOLDER] if inside else []
    except OSError as error:
        raise OutputError(f"cannot read folder {folder}: {error.strerror}; check its permissions") from error
    if inside and left is None:
        raise OutputError(
            f"{folder} is not empty (it holds {', '.join(inside[:3])}{' …' if len(inside) > 3 else ''})\n"
            "name a new folder for the dataset, or remove that one"
        )
    if left is not None and left["settings"] != plan.facts:
        other = "begun with other sources or settings, so it cannot be gone on with"
        other = other if plan.resume == left["resume"] or plan.what == left["what"] else f"not {plan.what}"
        finish = f"{left['resume']} finishes it; or " if left["resume"] not in ("", plan.resume) else ""
        raise OutputError(f"{folder} holds an unfinished {left['what']}, {other}\n{finish}name another folder, or remove it")


def read_request(folder: Path) -> dict[str, Any] | None:
    """What is unfinished in `folder`: {"what", "settings", "resume"}; None when nothing is, or nobody can tell."""
    return read_facts(folder / METADATA_FOLDER / UNFINISHED / REQUEST, _VERSION, {"what", "settings", "resume"})


@contextlib.contextmanager
def staged(folder: Path, plan: Plan) -> Iterator[Path]:
    """The folder to fill with the dataset and its manifest, absolute. Where that is there, or in its place, only moving is left.

    When the block ends well, its contents have moved into `folder`. When it fails, they stay for the next time, unless there
    is no table yet: then nothing remains. Raises OutputError (`check_target`; no space), PipelineError (another process is at
    work), and Interrupted in place of KeyboardInterrupt.
    """
    check_target(folder, plan)
    new = not folder.exists()
    inside = make_folder(folder.absolute() / METADATA_FOLDER / UNFINISHED)
    try:
        with hold(inside / _LOCK, f"the dataset in {folder}"), _complaints(plan, inside):
            check_target(folder, plan)
            for left in inside.glob(f"{SCRATCH}*"):
                shutil.rmtree(left, ignore_errors=True)
            request = {"version": _VERSION, "what": plan.what, "settings": plan.facts, "resume": plan.resume}
            write_file(inside / REQUEST, json.dumps(request, indent=1) + "\n")
            (inside / REQUEST).chmod(0o600)  # what was not taken for a secret may be one
            yield inside
            _publish(inside, folder.absolute())
    except BaseException:
        if not _has_tables(inside) and holder(inside / _LOCK) is None:
            shutil.rmtree(inside, ignore_errors=True)
            with contextlib.suppress(OSError):
                inside.parent.rmdir()
                if new:
                    folder.rmdir()
        raise


def _publish(inside: Path, folder: Path) -> None:
    """Move the contents of `inside` to `folder`. May be repeated after an interruption."""
    own = sorted((inside / METADATA_FOLDER).glob("*"), key=lambda entry: entry.name == MANIFESTS)
    for entry in [*(entry for entry in _contents(inside) if entry.name != METADATA_FOLDER), *own]:
        os.replace(entry, folder / entry.relative_to(inside))
    gone = inside.with_name(_DONE)  # one step from "unfinished" to "not"
    shutil.rmtree(gone, ignore_errors=True)
    inside.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _contents(inside: Path) -> list[Path]:
    """What the dataset folder is to hold: all but the request, the lock and remains of tasks."""
    return sorted(entry for entry in inside.glob("*") if entry.name != REQUEST and not entry.name.startswith("."))


def _has_tables(inside: Path) -> bool:
    return any(entry.is_file() or any(entry.iterdir()) for entry in [*_contents(inside), *inside.glob(WORK)])


@contextlib.contextmanager
def _complaints(plan: Plan, inside: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as stop:
        if isinstance(stop, Interrupted) or not _has_tables(inside):
            raise
        raise Interrupted(f"interrupted; {_go_on(plan)}") from stop
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        text = error.strerror or str(error)
        raise OutputError(f"cannot write {error.filename or inside}: {text}\n{_go_on(plan)}") from error
    except PlanscopeError as error:
        if _has_tables(inside) and plan.resume:
            other = "; if the sources change, name another folder, or remove this one"
            raise type(error)(f"{error}\n{_go_on(plan)}{other if plan.inputs else ''}") from error
        raise


def _go_on(plan: Plan) -> str:
    return f"what is there stays: {plan.resume}\ngoes on where it stopped" if plan.resume else "nothing of it remains"
