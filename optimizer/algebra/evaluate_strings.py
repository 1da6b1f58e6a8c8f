"""Reference semantics of string functions. A character is a Unicode code point, as in DuckDB."""

from optimizer.errors import ExecutionError

SPACES = f" \xa0\u1680{''.join(map(chr, range(0x2000, 0x200B)))}\u202f\u205f\u3000"  # Unicode class Zs: no tabs, no line ends


def upper(text: str) -> str:
    return "".join(map(_upper_character, text))


def _upper_character(c: str) -> str:
    """One character for one character: ß becomes ẞ, and a letter without a single capital stays or takes its title form."""
    if c == "ß":
        return "ẞ"
    capital = c.upper()
    if len(capital) == 1:
        return capital
    title = c.title()
    return title if len(title) == 1 else c


def lower(text: str) -> str:
    """One character for one character: İ becomes i, and Σ becomes σ also at the end of a word."""
    return "".join(c.lower()[0] for c in text)


def substring(text: str, start: int, length: int | None = None) -> str:
    """Characters from the 1-based `start`; 0 is the place before the first, negative counts from the end.

    A negative `length` takes the characters before that place. Places outside the text hold nothing.
    """
    begin = start - 1 if start >= 0 else len(text) + start
    if length is None:
        return text[max(begin, 0) :]
    end = begin + length
    if length < 0:
        begin, end = end, begin
    return text[max(begin, 0) : max(end, 0)]


def replace(text: str, old: str, new: str) -> str:
    """Every occurrence, left to right; an empty `old` occurs nowhere."""
    return text.replace(old, new) if old else text


def like(text: str, pattern: str, escape: str = "") -> bool:
    """Whether the whole text matches: % any run of characters, _ one; `escape` takes the next one literally.

    Raises ExecutionError for an escape of more than one character and, as DuckDB does, for a pattern that ends with
    the escape when the match gets that far with text left over.
    """
    if len(escape) > 1:
        raise ExecutionError(f"ESCAPE must be empty or one character, not {escape!r}")
    if not escape and "_" not in pattern:
        return _in_turn(text, pattern.split("%"))
    t = p = 0
    retry: tuple[int, int] | None = None  # after the last %: its pattern position, and the text position to try next
    while True:
        if p < len(pattern) and pattern[p] == "%" and pattern[p] != escape:
            p += 1
            retry = (p, t + 1)
            continue
        if t == len(text):
            return not pattern[p:].strip("%")  # here DuckDB takes % for itself even when it is the escape
        matched = False
        if p < len(pattern):
            if pattern[p] == escape:
                if p + 1 == len(pattern):
                    raise ExecutionError(f"LIKE pattern {pattern!r} ends with its escape character")
                matched = pattern[p + 1] == text[t]
                width = 2
            else:
                matched = pattern[p] in ("_", text[t])
                width = 1
        if matched:
            t, p = t + 1, p + width
        elif retry is not None and retry[1] <= len(text):
            # only the last % can help: what stands before it already matched as early as possible
            p, t = retry
            retry = (p, t + 1)
        else:
            return False


def _in_turn(text: str, parts: list[str]) -> bool:
    """Whether a text is these parts, one after the other with anything between them."""
    first, *between = parts
    if not between:
        return text == first
    last, at = between.pop(), len(first)
    end = len(text) - len(last)
    if at > end or not (text.startswith(first) and text.endswith(last)):
        return False
    for part in between:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
