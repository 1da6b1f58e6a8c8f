"""Text that comes from a user's SQL, made safe for the pictures: no markup, no control characters, bounded length."""

from __future__ import annotations

import html


def clean(text: str) -> str:
    """`text` as XML 1.0 allows it: white space becomes blanks, other control characters and lone surrogates become U+FFFD."""
    return "".join(c if _printable(c) else " " if c in "\t\n\r" else "\ufffd" for c in text)


def shorten(text: str, length: int) -> str:
    """At most `length` characters of `text`, with an ellipsis where it was cut."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


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


def _printable(c: str) -> bool:
    code = ord(c)
    return code >= 0x20 and not 0x7F <= code <= 0x9F and not 0xD800 <= code <= 0xDFFF and code not in (0xFFFE, 0xFFFF)
