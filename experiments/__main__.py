"""The `planscope` process: `python -m experiments`, and what the installed command calls.

Here and not in `cli`, since Ctrl-C has to be looked after before anything else is imported. To be told to end (SIGTERM, as
`kill` and schedulers do) is taken for Ctrl-C the first time, so that nothing half done is left.
"""

import os
import signal
import sys
from types import FrameType


def main() -> int:
    """Run the command line; the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) not in (signal.SIG_IGN, None):  # else whoever started us wants it ignored
            signal.signal(number, _on_ctrl_c)
    _open_closed()
    from experiments.cli import main as run

    code = run()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # all is done and said: the interpreter only has to end
    watch = sys.modules.get("executor.arrow.watch")
    if watch is not None and watch.at_work():  # a stopped query is still inside a kernel: nobody waits for that
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _open_closed() -> None:
    """What is written to a stream that whoever started us closed goes nowhere, and not into the next file that is opened."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets that number
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def _on_ctrl_c(number: int, frame: FrameType | None) -> None:
    """KeyboardInterrupt; while a module is loaded the end at once, since C code being loaded makes other errors of it."""
    if number == signal.SIGTERM:
        signal.signal(number, signal.SIG_DFL)
    caller = frame
    while caller is not None:
        if caller.f_code.co_filename.startswith("<frozen importlib."):
            for part in getattr(sys.modules.get("executor.atomic"), "PARTS", ()):
                part.unlink(missing_ok=True)
            os.write(2, b"error: interrupted\n")
            os._exit(130)
        caller = caller.f_back
    signal.default_int_handler(number, frame)


if __name__ == "__main__":
    sys.exit(main())
