"""Reference semantics of regular expressions: RE2's, as in DuckDB, by way of Arrow, which has the same library.

`options` is a string of c (case matters), i (it does not), s (a dot takes a line end too) and, to replace, g (every match).
"""

import re
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from optimizer.errors import ExecutionError

Texts: TypeAlias = pa.Array | pa.Scalar
_VALID = re.compile(r"(?:[^\\]|\\[0-9\\])*")
_AROUND = re.compile(r"[\^$]|\\[bBAz]")  # what looks at the text before or after a match
_LAST = re.compile(r"\\[89]")  # groups that have no number where there are two before them


def flagged(pattern: str, options: str = "") -> str:
    """The pattern with its options inside. Raises ExecutionError for one that is unknown."""
    flags = ""
    for option in options:
        match option:
            case "c":
                flags = flags.replace("i", "")
            case "i" | "s":
                flags += option
            case " " | "\t" | "\n":
                pass
            case _:
                raise ExecutionError(f"a regular expression has the options c, i, s and, to replace, g, not {option!r}")
    return f"(?{''.join(sorted(set(flags)))}){pattern}" if flags else pattern


def whole(pattern: str) -> str:
    """A pattern that matches where the whole text matches `pattern`."""
    return rf"\A(?:{pattern})\z"


def matches(text: str, pattern: str, options: str = "") -> bool:
    try:
        return bool(pc.match_substring_regex(pa.scalar(text), flagged(pattern, options)).as_py())
    except pa.ArrowInvalid as error:
        reason = re.sub(r"^.*?: ", "", str(error).splitlines()[0])
        raise ExecutionError(f"{pattern!r} is no regular expression: {reason}") from None


def full_match(text: str, pattern: str, options: str = "") -> bool:
    check(pattern)
    return matches(text, whole(pattern), options)


def replaced(text: str, pattern: str, replacement: str, options: str = "") -> str:
    """The first match, or with `g` every one; \\0 to \\9 are the match and its groups. No change where a group is not there, or
    for one match another letter follows \\; for every one the replacement ends before it."""
    try:
        return str(replaced_texts(pa.scalar(text), pattern, replacement, options).as_py())
    except pa.ArrowInvalid:
        return text


def extracted(text: str, pattern: str, group: int = 0, options: str = "") -> str:
    """The first match or one of its groups; nothing where there is none."""
    try:
        return str(extracted_texts(pa.scalar(text), pattern, group, options).as_py())
    except pa.ArrowInvalid:  # fewer groups, or no pattern
        matches("", pattern, options)
        return ""


def replaced_texts(texts: Texts, pattern: str, replacement: str, options: str = "") -> Texts:
    """`replaced` of many texts at once. Raises ArrowInvalid where Arrow refuses one of them."""
    check(pattern)
    most = -1 if "g" in options else 1
    if most < 0 and (valid := _VALID.match(replacement)):
        replacement = valid[0]
    if most == 1 and _AROUND.search(pattern) and r"\Q" not in pattern and not _LAST.search(replacement):
        # Arrow would match the first match again, without the text around it; what \Q opens could go on behind the group
        pattern, most = rf"\A((?s:.*?))({pattern})", -1
        replacement = r"\1" + re.sub(r"\\(.)", _two_further, replacement, flags=re.DOTALL)
    pattern = flagged(pattern, options.replace("g", ""))
    return pc.replace_substring_regex(texts, pattern, replacement, max_replacements=most)


def _two_further(escape: re.Match[str]) -> str:
    return rf"\{int(escape[1]) + 2}" if escape[1] in "01234567" else escape[0]


def extracted_texts(texts: Texts, pattern: str, group: int = 0, options: str = "") -> Texts:
    """`extracted` of many texts at once. Raises ArrowInvalid where Arrow refuses the pattern, or the group."""
    if not 0 <= group <= 8:
        raise ExecutionError(f"a group of a regular expression is a number from 0 to 8, not {group}")
    found = pc.match_substring_regex(texts, flagged(pattern, options))
    around = rf"\A(?s:.*?)({pattern})(?s:.*)\z"
    matching = pc.if_else(found, texts, pa.scalar(None, texts.type))
    return pc.if_else(found, pc.replace_substring_regex(matching, flagged(around, options), rf"\{group + 1}"), "")


def check(pattern: str) -> None:
    """Raises ExecutionError for a pattern that is none."""
    matches("", pattern)
