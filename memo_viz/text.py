"""Text that comes from a user's SQL or data, made safe for pictures and terminals: no markup, nothing invisible, no more than
so many characters."""

import html
import json
import re
import unicodedata


def clean(text: str) -> str:
    """`text` in one line that neither XML 1.0 nor a terminal minds: white space becomes blanks; control characters, lone
    surrogates, marks of direction and other invisible ones become U+FFFD."""
    if text.isprintable():
        return text
    return "".join(c if _visible(c) else " " if c in "\t\n\r" else "\ufffd" for c in text)


def clean_lines(text: str) -> str:
    """The same for each line of `text`."""
    return "\n".join(map(clean, text.split("\n")))


def clean_json(text: str) -> str:
    """JSON text with what `clean` replaces written as escapes: the same value."""
    if text.isprintable():
        return text
    return re.sub(r"[^ -~\n\t]", lambda found: found[0] if _visible(found[0]) else json.dumps(found[0])[1:-1], text)


def setting_text(value: object) -> str:
    """The value of a setting as --set takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) or "(none)" if isinstance(value, list | tuple) else str(value)


def shorten(text: str, length: int) -> str:
    """At most `length` characters of `text`, with an ellipsis where it was cut."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def without_middle(name: str, length: int) -> str:
    """At most `length` characters of a name: long names that are alike differ at their ends as often as not."""
    return name if len(name) <= length else f"{name[: length - length // 3 - 1]}…{name[-(length // 3) :]}"


def label_text(text: str) -> str:
    """`text` for a graphviz HTML-like label or one of its attributes: entities escaped, backslashes taken literally."""
    return html.escape(clean(text), quote=True).replace("\\", "\\\\")


def wrap(text: str, width: int, lines: int) -> list[str]:
    """`text` in at most `lines` lines of `width` characters, broken at blanks where there are any; the last is shortened."""
    result: list[str] = []
    rest = clean(text).strip()
    while rest and len(result) < lines - 1 and len(rest) > width:
        cut = rest.rfind(" ", width // 2, width + 1)
        cut = width if cut < 0 else cut
        result.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    if rest:
        result.append(shorten(rest, width))
    return result


def _visible(c: str) -> bool:
    return unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\ufffe\uffff"
