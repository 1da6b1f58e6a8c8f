"""Asks for the stepper's commands: in a terminal with history and completion, or from the lines of a script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from memo_viz.terminal.commands import Stepper
from optimizer.errors import PlanscopeError

Say = Callable[[str], None]


def follow(stepper: Stepper, lines: Iterable[str], say: Say) -> None:
    """Carry out the commands of a script, each shown before what it gives; # at the start or behind a blank begins a comment.
    Raises PlanscopeError with the number of the line at the first wrong one."""
    say(stepper.where())
    for number, line in enumerate(lines, 1):
        command = re.split(r"(?:^|\s)#", line)[0].strip()
        if command and not stepper.done:
            say(f"\n» {command}")
            try:
                say(stepper.run(command))
            except PlanscopeError as error:
                raise PlanscopeError(f"line {number} of the script: {error}") from None


def converse(stepper: Stepper, say: Say, history: Path | None) -> None:
    """Ask for commands in a terminal until `quit` or the end of input. An empty line repeats the last one; Ctrl-C stops a search
    where it is, or drops the line."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    class Words(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            begun = document.get_word_before_cursor(WORD=True)
            for word in stepper.completions(document.text_before_cursor):
                yield Completion(word, start_position=-len(begun))

    kept = InMemoryHistory() if history is None else FileHistory(str(history))
    session: PromptSession[str] = PromptSession(history=kept, completer=Words(), complete_while_typing=False)
    say(stepper.where() + "\n\n  help lists the commands")
    last = "step"
    while not stepper.done:
        try:
            line = session.prompt(f"\n{stepper.replay.position - 1:,} » ").strip() or last
            last = line
            say(stepper.run(line))
        except EOFError:
            return
        except KeyboardInterrupt:
            say(stepper.where())
        except PlanscopeError as error:
            say(f"  {error}")
