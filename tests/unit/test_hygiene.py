"""What no file of the repository may hold: marks of unfinished work, paths of one machine, bulk, tests that time something."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MAX_BYTES = 1_000_000
HERE = Path(__file__).name
COPIED = ROOT / "tests" / "differential" / "scripts" / "copied"  # other projects' scripts, as they are

# "XXX" in quotes is a Roman number
UNFINISHED = re.compile(r"\b(TODO|FIXME|(?<!\")XXX(?!\")|HACK|NotImplementedError)\b|\bfor now\b|\blorem ipsum\b", re.IGNORECASE)
MACHINE_PATHS = re.compile(r"(?<![\w./:~$}-])/(work|tmp|root|home/\w+|Users/\w+|opt/\w+|mnt/\w+)(/|\b)|\b[C-Z]:\\\w")
# A test that times something, or sleeps and hopes, fails on a busy machine: tests/processes.py waits for what is to happen.
# Modules beside the tests (`failing.py`) say how other processes behave, and may be slow.
CLOCKS = re.compile(r"\b(perf_counter|process_time|thread_time|monotonic|sleep)(_ns)?\(|\btime\.time(_ns)?\(|\bdatetime\.now\(")


def repository_files() -> list[Path]:
    """All files git tracks or would add; outside a git checkout (an unpacked archive) the files of the product's folders."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        folders = ("planscope", "optimizer", "executor", "memo_viz", "experiments", "tests", "docs")
        return [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def matches(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in repository_files():
        if path.name == HERE or COPIED in path.parents:
            continue
        try:
            lines = path.read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}:{i}: {line.strip()}" for i, line in enumerate(lines, 1) if pattern.search(line)]
    return found


def test_no_unfinished_work() -> None:
    assert not (found := matches(UNFINISHED)), "\n".join(found)


def test_no_machine_paths() -> None:
    assert not (found := matches(MACHINE_PATHS)), "\n".join(found)


def test_no_large_files() -> None:
    large = [
        f"{path.relative_to(ROOT)}: {size:,} bytes" for path in repository_files() if (size := path.stat().st_size) > MAX_BYTES
    ]
    assert not large, "\n".join(large)


def test_no_test_times_something_or_sleeps() -> None:
    assert not (found := [line for line in matches(CLOCKS) if re.match(r"tests/(.*/)?(test_\w+|conftest)\.py:", line)]), (
        "\n".join(found)
    )
