"""The package `planscope`: its names, its errors when a package of ours is not ours, and the wheel used from elsewhere."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import planscope

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("planscope", "optimizer", "executor", "experiments", "memo_viz")


def python(*arguments: str, cwd: Path, path: str | Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path), "PLANSCOPE_HOME": str(cwd / "home")}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_every_name_is_there() -> None:
    for name in planscope.__all__:
        assert getattr(planscope, name) is not None
    assert set(planscope.__all__) <= set(dir(planscope))
    with pytest.raises(AttributeError, match="no attribute 'Optimiser'"):
        planscope.Optimiser  # noqa: B018


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "CITATION.cff").read_text("utf-8").splitlines()
    assert {f"{name}: {project[name]}" for name in ("version", "license")} <= set(lines)


def test_the_names_for_type_checkers_are_those_at_run_time() -> None:
    source = Path(planscope.__file__).read_text("utf-8")
    told = {line.split(" as ")[1] for line in source.splitlines() if line.startswith("    from ") and " as " in line}
    assert told == set(planscope.__all__)


def test_import_is_cheap(tmp_path: Path) -> None:
    code = "import sys, planscope\nassert not {'pyarrow', 'optimizer', 'executor', 'experiments'} & set(sys.modules)"
    assert python("-c", code, cwd=tmp_path).returncode == 0


def test_explain_and_sessions_know_the_built_in_queries() -> None:
    assert planscope.explain("chain/3").query.search.proven
    assert planscope.Session("joingraph").optimize("star/4").sql == planscope.workloads.resolve_sql("star/4")
    with pytest.raises(planscope.PlanscopeError, match="say what the query is about"):
        planscope.explain("tpch/q05")


def test_a_file_of_the_users_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "optimizer.py").write_text("rate = 0.1\n")
    done = python("-m", "planscope", "explain", "chain/3", cwd=tmp_path, path=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"{tmp_path / 'optimizer.py'} is in the way" in done.stderr
    (tmp_path / "script.py").write_text("from planscope import Session\n")
    done = python("script.py", cwd=tmp_path)
    assert f"ImportError: {tmp_path / 'optimizer.py'} is in the way" in done.stderr
    (tmp_path / "script.py").write_text("import optimizer\nfrom planscope.algebra import Join\n")
    assert f"ImportError: {tmp_path / 'optimizer.py'} is in the way" in python("script.py", cwd=tmp_path).stderr


def test_modules_of_the_current_folder_are_not_run(tmp_path: Path) -> None:
    for name in ("optimizer", "socket", "platform", "typing_extensions"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('run')\n")
    done = python("-m", "planscope", "bench", "space", "chain/3", "--quick", cwd=tmp_path)
    assert done.returncode == 0 and "chain/3" in done.stdout, done.stderr


def test_a_folder_called_planscope_is_in_nobodys_way(tmp_path: Path) -> None:
    """As where scripts are kept beside a clone; the package as it is installed for the suite, not as a path."""
    (tmp_path / "planscope" / "docs").mkdir(parents=True)
    (tmp_path / "script.py").write_text("from planscope import Session\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=environment, check=True)


def test_another_project_was_installed_over_ours(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, site / package, ignore=shutil.ignore_patterns("__pycache__", "*.sql", "*.parquet"))
    assert python("-m", "planscope", "--version", cwd=tmp_path, path=site).returncode == 0
    (site / "executor" / "__init__.py").write_text('"""Runs programs."""\nimport pipes\n')
    done = python("-m", "planscope", "explain", "chain/3", cwd=tmp_path, path=site)
    assert done.returncode == 2 and "another project of that name was installed over it" in done.stderr
    shutil.rmtree(site / "memo_viz")
    (site / "executor" / "__init__.py").write_text('"""Of planscope."""\n')
    assert "memo_viz" in python("-m", "planscope", "--version", cwd=tmp_path, path=site).stderr


@pytest.mark.slow
def test_a_wheel_works_from_elsewhere(tmp_path: Path) -> None:
    """Built from a copy, unpacked beside the installed dependencies, used in a folder of its own."""
    source, site, here = (tmp_path / name for name in ("source", "site", "here"))
    source.mkdir(), here.mkdir()
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("planscope-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True)
    script = (site / "bin" / "planscope").read_text("utf-8")
    assert "planscope.__main__" in script
    missing = [path for path in product_files() if not (site / path).is_file()]
    assert not missing
    code = "import planscope, sys; print(planscope.__file__); print(planscope.explain('job/1a').query.search.proven)"
    done = python("-c", code, cwd=here, path=site)
    assert done.stdout.split() == [str(site / "planscope" / "__init__.py"), "True"], done.stderr
    for arguments in (("workloads",), ("explain", "job/2a"), ("settings",)):
        done = python("-m", "planscope", *arguments, cwd=here, path=site)
        assert done.returncode == 0, done.stderr
    (here / "executor.py").write_text("")
    assert f"{here / 'executor.py'} is in the way" in python("-c", "import planscope.algebra", cwd=here, path=site).stderr


def product_files() -> list[str]:
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*"))
    return [str(p.relative_to(ROOT)) for p in files if p.is_file() and "__pycache__" not in p.parts and p.name[0] != "."]
