"""Every error planscope raises on purpose, and the exit code the command line gives it.

An error says what is wrong, where, and what to do. `str(error)` is the whole message a user sees, on as many lines as
it takes; no traceback belongs to it. Anything else that escapes is a bug of ours and becomes an `InternalError`.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class PlanscopeError(Exception):
    """Base class; `exit_code` is what the command line returns."""

    exit_code = 2

    def __str__(self) -> str:
        return _printable(super().__str__())


class SqlError(PlanscopeError):
    """The SQL text is wrong: syntax, an unknown or ambiguous name, types that do not fit.

    `start` and `end` are character offsets of the offending part in `sql` (end exclusive); without them no caret is drawn.
    `hint` says what exists or what to try.
    """

    def __init__(
        self, message: str, sql: str | None = None, start: int | None = None, end: int | None = None, hint: str | None = None
    ) -> None:
        self.message, self.sql, self.start, self.end, self.hint = message, sql, start, end, hint
        super().__init__(message)

    def __str__(self) -> str:
        lines = [self.message]
        if self.sql is not None and self.start is not None:
            lines += _excerpt(self.sql, self.start, self.end if self.end is not None else self.start + 1)
        if self.hint:
            lines.append(self.hint)
        return _printable("\n".join(lines))


class Unsupported(SqlError):
    """Valid SQL that planscope cannot plan (yet): names the form and the nearest supported one."""

    exit_code = 3


class CatalogError(PlanscopeError):
    """A dataset, file, table or column that is missing, unreadable or contradicts its declaration."""


class SettingsError(PlanscopeError):
    """An unknown setting or a value outside its range."""


class OutputError(PlanscopeError):
    """A result could not be written where the user asked."""


class NoPlan(PlanscopeError):
    """Every path is closed, since rules that the query needs are disabled: names the group, the traits and what is missing."""


class BoundRefuted(PlanscopeError):
    """A cost lies below what the cost model said to be the least: pruning by its bounds would lose plans."""

    def __init__(self, model: str, least: float, what: str, cost: float) -> None:
        super().__init__(
            f"{what} costs {cost:.6g}, less than {least:.6g}, which the cost model {model} says to be the least\n"
            "pruning by such a bound would lose plans: raise the cost of the operator, lower the bound of the model (least,\n"
            "lower_bound), or search without bounds: pruning=upper"
        )


class SpaceTooLarge(PlanscopeError):
    """More plans than can be listed one by one: says how many there are, and what can be asked instead."""


class ExecutionError(PlanscopeError):
    """A plan failed while it ran: overflow, a bad cast, an unreadable file. Names the operator."""


class InternalError(PlanscopeError):
    """Our own bug: names the rule and group, and the replay case written to disk."""

    exit_code = 1


_LONG = 1_000  # characters of a line


def _printable(text: str) -> str:
    """The text without what a terminal would obey (control characters, changes of direction) and without the middle of very
    long lines: names and values in it come from a query or a file."""
    return "\n".join(map(_printable_line, text.split("\n")))


def _printable_line(line: str) -> str:
    if len(line) > _LONG:
        line = f"{line[: _LONG - 300]} … {line[-200:]}"
    return line if line.isprintable() else "".join(c if c == "\t" else in_one_line(c) for c in line)


def in_one_line(name: str) -> str:
    """A name for a message of several lines: what would break it, or what a terminal would obey, as in Python's texts."""
    return name if name.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def _excerpt(sql: str, start: int, end: int) -> list[str]:
    """The line of `sql` that holds `start`, indented, and a line of carets under [start, end)."""
    start = max(0, min(start, len(sql)))
    line_start = sql.rfind("\n", 0, start) + 1
    line_end = sql.find("\n", start)
    line_end = len(sql) if line_end < 0 else line_end
    line = sql[line_start:line_end]
    column = start - line_start
    width = max(1, min(end, line_end) - start)
    if len(line) > 120:  # keep a window around the caret
        left = max(0, column - 50)
        line, column = line[left : left + 110], column - left
    line = "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in line)  # each takes one place
    before = "".join("\t" if c == "\t" else " " for c in line[:column])
    return ["  " + line, "  " + before + "^" * min(width, max(1, len(line) - column))]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is nearest to `name`, whatever the letter case, if any is near."""
    by_lower = {k.lower(): k for k in known}
    near = get_close_matches(name.lower()[:200], by_lower, 1)  # no name is as long
    return by_lower[near[0]] if near else None


def did_you_mean(name: object, known: Iterable[str], otherwise: str) -> str:
    """A hint beside a name that is unknown: the nearest of the known ones, or what to say where none is near."""
    near = nearest(str(name), known)
    return f'did you mean "{near}"?' if near else otherwise


class Interrupted(KeyboardInterrupt):
    """The user stopped a search; `str(error)` says what it had found."""


def many(count: int | str, noun: str) -> str:
    """`1 row`, `1,234 rows`, `2 queries`; `count` may be a figure that is text already."""
    shown = count if isinstance(count, str) else f"{count:,}"
    return f"{shown} {noun}{'s' if shown != '1' else ''}".replace("querys", "queries")
