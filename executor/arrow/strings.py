"""Functions of text, semantics as in `algebra.evaluate_strings`: a character is a Unicode code point."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executor.arrow.decimals import validity_of
from executor.arrow.distinct import Value, as_array, by_reference, once_each, per_control, split_rows
from optimizer.algebra import evaluate_regex as regex
from optimizer.algebra import evaluate_strings as reference
from optimizer.algebra.evaluate_more import translate as translated
from optimizer.algebra.like_patterns import Wildcard, like_parts
from optimizer.errors import ExecutionError

SPACES = "".join(c for c in map(chr, range(0x3100)) if unicodedata.category(c) == "Zs")  # tabs are none
_STRING, _INT64, _BOOL = pa.string(), pa.int64(), pa.bool_()


def upper(text: Value, rows: int) -> pa.Array:
    return _by_letters(as_array(text, rows), pc.utf8_upper, reference.upper)


def lower(text: Value, rows: int) -> pa.Array:
    return _by_letters(as_array(text, rows), pc.utf8_lower, reference.lower)


def _by_letters(text: pa.Array, kernel, compute) -> pa.Array:  # type: ignore[no-untyped-def]
    """Beyond ASCII, libraries disagree about letter case; the reference decides."""
    return split_rows(pc.string_is_ascii(text), text, kernel, lambda rest: by_reference(compute, (rest,), len(rest), _STRING))


def length(text: Value) -> Value:
    return pc.cast(pc.utf8_length(text), _INT64)


def concat(*texts: Value) -> Value:
    return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")


def _substring(text: pa.Array, start: int, count: int | None = None) -> pa.Array:
    """`start` 0 is the place before the first character; a negative `count` takes the characters before the start."""
    if start >= 0:
        begin = start - 1
        end = None if count is None else begin + count
    else:  # places counted from the end, as Python's slices count them
        begin, end = start, None if count is None else start + count
    if count is not None and end is not None and count < 0:
        begin, end = end, begin
    if start >= 0:
        begin = max(begin, 0)
    elif end is not None and end >= 0:
        end = None  # 0 would mean the beginning
    if end is not None and end <= begin:
        return _slice(text, 0, 0)
    return _slice(text, begin, end)


def _slice(text: pa.Array, begin: int, end: int | None) -> pa.Array:
    bound = 1 << 40  # beyond any text, and safe to subtract
    return pc.utf8_slice_codeunits(text, max(-bound, min(begin, bound)), None if end is None else max(-bound, min(end, bound)))


def _part(text: pa.Array, start: int, end: int) -> pa.Array:
    """From one place to another; -1 is the last one."""
    return _slice(text, start - (start > 0), None if end == -1 else end + (end < -1))


def _translate(text: pa.Array, old: str, new: str) -> pa.Array:
    """Byte by byte, where the characters are bytes."""
    if not (old + new).isascii() or len(text) == text.null_count:
        return by_reference(lambda value: translated(value, old, new), (text,), len(text), _STRING)
    partner, stays = np.arange(256, dtype=np.uint8), np.ones(256, np.bool_)
    for i, byte in reversed([*enumerate(old.encode())]):  # of a character that is there twice the first counts
        stays[byte] = i < len(new)
        partner[byte] = ord(new[i]) if stays[byte] else 0
    _, offsets, data = text.buffers()
    ends = np.frombuffer(offsets, np.int32)[text.offset : text.offset + len(text) + 1]
    bytes = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    kept = stays[bytes]
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int32)
    buffers = (pa.py_buffer(before[ends - ends[0]]), pa.py_buffer(partner[bytes[kept]]))
    return pa.StringArray.from_buffers(len(text), *buffers, validity_of(text))


def _position(text: pa.Array, part: str) -> pa.Array:
    """1-based position in characters, 0 when absent."""
    found = pc.cast(pc.find_substring(text, part), _INT64)
    if pc.all(pc.string_is_ascii(text)).as_py() is not False:
        return pc.add(found, 1)
    ends = np.frombuffer(text.buffers()[1], np.int32)[text.offset : text.offset + len(text) + 1].astype(np.int64)
    data = np.frombuffer(text.buffers()[2], np.uint8)[ends[0] : ends[-1]]
    # characters before each byte: a byte 10xxxxxx continues the character before it
    before = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])
    at = found.fill_null(-1).to_numpy()
    offsets = ends[:-1] - ends[0]
    position = np.where(at < 0, 0, before[offsets + np.maximum(at, 0)] - before[offsets] + 1)
    return pa.array(position, mask=pc.is_null(text).to_numpy(zero_copy_only=False))


def _matches(text: pa.Array, pattern: str, options: str = "") -> pa.Array:
    regex.check(pattern)
    return pc.match_substring_regex(text, regex.flagged(pattern, options))


def _full_matches(text: pa.Array, pattern: str, options: str = "") -> pa.Array:
    regex.check(pattern)
    return _matches(text, regex.whole(pattern), options)


def _once_each(kernel: Callable[..., pa.Array], compute: Callable[..., str]) -> Callable[..., pa.Array]:
    """What a kernel makes of all texts. Where it refuses one the reference decides, and where a byte matches (\\C), which may
    leave half a character."""

    def one(text: pa.Array, pattern: str, *controls: str | int) -> pa.Array:
        if r"\C" not in pattern:
            with suppress(pa.ArrowInvalid, ExecutionError):
                return kernel(text, pattern, *controls)
        return by_reference(lambda value: compute(value, pattern, *controls), (text,), len(text), _STRING)

    return partial(once_each, one)


BY_CONTROLS: dict[str, Callable[..., pa.Array]] = {  # of an array of texts and of values that are mostly constants
    "substring": _substring,
    "array_slice": _part,
    "left": lambda text, count: _slice(text, 0, count),
    "right": lambda text, count: _slice(text, -count, None) if count else _slice(text, 0, 0),
    "replace": lambda text, old, new: pc.replace_substring(text, old, new) if old else text,
    "translate": partial(once_each, _translate),
    "starts_with": pc.starts_with,
    "strpos": _position,
    "regexp_matches": _matches,
    "regexp_full_match": _full_matches,
    "regexp_replace": _once_each(regex.replaced_texts, regex.replaced),
    "regexp_extract": _once_each(regex.extracted_texts, regex.extracted),
}


def joined(separator: Value, first: Value, *others: Value) -> Value:
    """The texts that are not NULL with the separator between them; NULL where that is NULL."""
    # of a row whose texts are all NULL Arrow makes no row at all
    none = reduce(pc.and_, (pc.is_null(text) for text in (first, *others)))
    texts = pc.if_else(none, "", first), *others
    return pc.binary_join_element_wise(*texts, separator, null_handling="skip")


def like(args: Sequence[Value], rows: int, ignore_case: bool) -> pa.Array:
    """like(text, pattern[, escape])."""
    text, pattern = as_array(args[0], rows), args[1]
    if ignore_case:
        text = lower(text, rows)
        lowered = lower(pattern, 1 if isinstance(pattern, pa.Scalar) else rows)
        pattern = lowered[0] if isinstance(pattern, pa.Scalar) else lowered
    return per_control(text, (pattern, *args[2:]), _like, reference.like, _BOOL)


def _like(text: pa.Array, pattern: str, escape: str = "") -> pa.Array:
    parts = like_parts(pattern, escape)
    if parts is None:
        return by_reference(lambda value: reference.like(value, pattern, escape), (text,), len(text), _BOOL)
    match parts:
        case []:
            return pc.equal(text, "")
        case [str(whole)]:
            return pc.equal(text, whole)
        case [Wildcard.ANY]:
            return pc.if_else(pc.is_valid(text), True, pa.scalar(None, _BOOL))
        case [str(prefix), Wildcard.ANY]:
            return pc.starts_with(text, prefix)
        case [Wildcard.ANY, str(suffix)]:
            return pc.ends_with(text, suffix)
        case [Wildcard.ANY, str(inside), Wildcard.ANY]:
            return pc.match_substring(text, inside)
    pieces = [re.escape(p) if isinstance(p, str) else ".*" if p is Wildcard.ANY else "." for p in parts]
    return pc.match_substring_regex(text, r"(?s)\A" + "".join(pieces) + r"\z")
