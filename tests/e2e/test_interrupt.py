"""Ctrl-C, wherever it comes: quiet, exit code 130. The process under test sends it to itself, so it comes at a known place."""

import subprocess

import pytest

from tests.processes import ROOT, run_python

# Ctrl-C when the module MODULE is looked for
LOADING = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""

# Ctrl-C after a tenth of a second of CPU time in a function
WITHIN = """
import os, signal, sys
def within(owner, name):
    function = getattr(owner, name)
    def timed(*arguments):
        signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        signal.setitimer(signal.ITIMER_PROF, 0.1)
        return function(*arguments)
    setattr(owner, name, timed)
"""
SEARCH = WITHIN + "from optimizer.search.search import Search; within(Search, 'run')"
RUN = WITHIN + "import executor.execution; within(executor.execution, 'reader')"
LAST = "import atexit, os, signal, sys; atexit.register(os.kill, os.getpid(), signal.SIGINT)"


def interrupted(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line after `code` in a process of its own, which listens to Ctrl-C wherever the tests themselves run."""
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{code}"
    return run_python("-c", f"{code}\nfrom experiments.__main__ import main\nsys.exit(main())", *arguments)


@pytest.mark.parametrize("module", ["experiments.cli", "click", "numpy._core._multiarray_umath", "pyarrow.lib"])
def test_while_modules_are_loaded(module):
    done = interrupted(LOADING.replace("MODULE", module), "explain", "chain/3")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("module", ["planscope.packages", "experiments.__main__"])
def test_before_the_command_line_is_there(module):
    listens = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{listens}\n{LOADING.replace('MODULE', module)}\nfrom planscope.__main__ import main\nsys.exit(main())"
    done = run_python("-c", code, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_little_is_imported_before_ctrl_c_is_looked_after():
    code = "import sys; sys.path.insert(0, '.'); import planscope; print(*sys.modules)"
    done = run_python("-ISc", code, cwd=ROOT)
    assert done.returncode == 0 and "typing" not in done.stdout.split()


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_while_a_file_is_written_nothing_is_left_of_it(tmp_path, number):
    code = LOADING.replace("MODULE", "memo_viz.stepper.page").replace("SIGINT", number)
    done = interrupted(code, "trace", "chain/3", "-o", str(tmp_path / "t.html"))
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n") and not list(tmp_path.iterdir())


@pytest.mark.few(2)
@pytest.mark.parametrize("driver", ["top_down", "iterative"])
def test_in_a_search_it_says_what_was_found(driver):
    settings = ("exact_below=30", "budget_tasks=0", f"driver={driver}")
    done = interrupted(SEARCH, "explain", "clique/18", *(part for each in settings for part in ("--set", each)))
    assert done.returncode == 130 and done.stdout == "" and "Traceback" not in done.stderr
    assert done.stderr.startswith("error: interrupted after ")
    assert "costs" in done.stderr or "no complete plan yet" in done.stderr


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_in_a_run(shop, number):
    names = [f"s{i}" for i in range(14)]
    tables, total = ", ".join(f"sales {name}" for name in names), " + ".join(f"{name}.amount" for name in names)
    done = interrupted(
        RUN.replace("SIGINT", number), "run", f"select count(*) from {tables} where {total} > 100", "-d", str(shop)
    )  # of 5^14 rows
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_after_the_end_it_changes_nothing():
    done = interrupted(LAST, "explain", "chain/3")
    assert done.returncode == 0 and done.stdout and done.stderr == ""


def test_a_process_told_to_ignore_it_does():
    """As a shell tells what it starts in the background of a script."""
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    done = interrupted(ignored + LOADING.replace("MODULE", "numpy"), "explain", "chain/3")
    assert done.returncode == 0 and done.stdout and done.stderr == ""


# Ctrl-C inside a sort that never ends, on the thread of the query
SORTING = """
import os, signal, sys, threading
from executor.arrow import sort
def endless(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()
sort.sorted_rows = endless
"""


@pytest.mark.few(2)
@pytest.mark.parametrize("command", [("run",), ("explain", "--analyze")])
def test_inside_a_kernel_it_is_heeded_at_once(command):
    done = interrupted(SORTING, *command, "select * from orders order by o_totalprice", "-d", "tpch:0.01")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_limits_of_the_command_line(planscope):
    endless = SORTING.replace("os.kill(os.getpid(), signal.SIGINT)", "pass")
    sql = "select * from orders order by o_totalprice"
    done = interrupted(endless, "run", sql, "-d", "tpch:0.01", "--timeout", "0.5")
    assert done.returncode != 0 and done.stderr.startswith("error: ") and "stopped after 0.5 s (timeout)" in done.stderr
    limited = planscope("run", sql, "-d", "tpch:0.01", "--memory-limit", "100kB")
    assert limited.code != 0 and "error: sort: it holds " in limited.err and "(memory limit)" in limited.err
    limited = planscope("run", sql, "-d", "tpch:0.01", "--memory-limit", "100 apples")
    assert limited.code == 2 and 'cannot be "100 apples"' in limited.err
