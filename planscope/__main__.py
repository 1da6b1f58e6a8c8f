"""The `planscope` process: `python -m planscope`, and what the installed command calls."""

import os
import signal
import sys


def _on_ctrl_c(number: int, frame: object) -> None:
    """The end, while all is still being loaded; `experiments.__main__` has a handler for later."""
    os.write(2, b"error: interrupted\n")
    os._exit(130)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # before anything else is imported
    signal.signal(signal.SIGINT, _on_ctrl_c)


def main() -> int:
    """Run the command line; the exit code. 2 when a file is in the way of one of our packages."""
    from planscope.packages import check_packages

    try:
        check_packages()
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    from experiments.__main__ import main as run

    return run()


if __name__ == "__main__":
    from pathlib import Path

    if not sys.flags.safe_path and Path(sys.path[0]) != Path(__file__).parent.parent:
        del sys.path[0]  # `python -m` put the current folder there; a module in it is none of ours, nor of Python's
    sys.exit(main())
