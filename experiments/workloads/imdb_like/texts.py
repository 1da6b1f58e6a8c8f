"""From numbers to texts: number n gives the same text everywhere, and different numbers give different texts.

A text is put together of words, the digits of its number in a base of the lists' lengths; what is left of the number follows.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from experiments.workloads.imdb_like import words

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CODES = tuple(  # like Soundex: a letter, and up to four digits
    letter + "".join(digits) for length in range(5) for digits in product("123456", repeat=length) for letter in _LETTERS
)
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


def text(kind: str, numbers: Integers, heads: Sequence[str] = ()) -> pa.Array:
    """Texts of a `kind`, a key of _KINDS; the lowest numbers give `heads`, texts that have to occur."""
    made = _KINDS[kind](np.maximum(numbers - len(heads), 0))
    if not heads:
        return made
    known = pa.array(heads, pa.string()).take(pa.array(np.minimum(numbers, len(heads) - 1)))
    return pc.if_else(pa.array(numbers < len(heads)), known, made)


def listed(values: Sequence[str], numbers: Integers) -> pa.Array:
    """`values` by number; a number beyond the list starts over with a count behind it."""
    found = pa.array(values, pa.string()).take(pa.array(numbers % len(values)))
    return _and_rest([found], numbers // len(values))


def digest(table: str, numbers: Integers) -> pa.Array:
    """32 hexadecimal digits, no two alike within a table."""
    seed = np.uint64(int.from_bytes(table.encode()[-8:], "big"))
    low = numbers.astype(np.uint64)
    mixed = (low + seed) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(31)
    odd = low * np.uint64(0xD6E8FEB86659FD93) + seed  # an odd factor: different numbers give different products
    raw: Bytes = np.column_stack([mixed, odd]).astype(">u8").view(np.uint8).reshape(len(numbers), 16)
    digits: Bytes = np.empty((len(numbers), 32), np.uint8)
    digits[:, 0::2], digits[:, 1::2] = _HEX[raw >> 4], _HEX[raw & 15]
    offsets = pa.py_buffer(np.arange(0, 32 * len(numbers) + 1, 32, dtype=np.int32))
    return pa.StringArray.from_buffers(len(numbers), offsets, pa.py_buffer(digits.tobytes()))


def _made(pattern: str, lists: Sequence[Sequence[str]], numbers: Integers, separator: str = " ") -> pa.Array:
    """`pattern` with a word of each list: `{0}` is of the first one, which changes from each number to the next."""
    found = []
    for values in lists:
        found.append(pa.array(values, pa.string()).take(pa.array(numbers % len(values))))
        numbers = numbers // len(values)
    parts = [found[int(part)] if part.isdigit() else part for part in re.split("[{}]+", pattern) if part]
    return _and_rest(parts, numbers, separator)


def _and_rest(parts: list[pa.Array | str], rest: Integers, separator: str = " ") -> pa.Array:
    """`parts` and, where `rest` is not 0, one more than it: the second text of the same words ends in 2."""
    if not rest.any():
        return parts[0] if len(parts) == 1 else _joined(*parts)
    more = pc.if_else(pa.array(rest == 0), "", pc.cast(pa.array(rest + 1), pa.string()))
    return _joined(*parts, pc.if_else(pa.array(rest == 0), "", separator), more)


def _joined(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*(pa.scalar(part) if isinstance(part, str) else part for part in parts), "")


def _maybe(before: str, values: Sequence[str]) -> tuple[str, ...]:
    return ("", *(before + value for value in values))


_YEARS = [str(year) for year in range(1930, 2014)]
sentence = partial(_made, "{0} found the {1} {2} in {3}.", (words.GIVEN, words.ADJECTIVES, words.NOUNS, words.PLACES))
_character = partial(_made, "{0} {1}", (words.GIVEN, words.SURNAMES))
_hyphened = partial(_made, "{0}-{1}-{2}", (words.NOUNS, words.ADJECTIVES, words.PLACES), separator="-")
_KINDS: dict[str, Callable[[Integers], pa.Array]] = {
    "person": partial(_made, "{0}, {1}{2}", (words.SURNAMES, words.GIVEN, _maybe(" ", words.GIVEN))),
    "character": _character,
    "title": partial(_made, "The {0} {1}{2}", (words.ADJECTIVES, words.NOUNS, _maybe(" of ", words.PLACES))),
    "company": partial(_made, "{0} {1}{2}", (words.SURNAMES, words.TRADES, _maybe(" ", words.PLACES))),
    "keyword": lambda numbers: pc.utf8_lower(_hyphened(numbers)),
    "code": lambda numbers: pa.array(CODES).take(pa.array(numbers % len(CODES))),  # phonetic; there are 40,430
    "alias_note": lambda numbers: _joined("(as ", _character(numbers), ")"),
    "release_note": partial(_made, "({2}) ({0}) {1}", (words.COUNTRIES, words.FORMATS, _YEARS)),
    "place_note": partial(_made, "({0}, {1})", (words.PLACES, words.COUNTRIES)),
    "sentence": sentence,
}
