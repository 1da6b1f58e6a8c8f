"""From numbers to texts: number n gives the same text everywhere, and different numbers give different texts.

A text is put together of words, the digits of its number in a base of the lists' lengths; what is left of the number follows.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Texts of a `kind`, a function of this module; the lowest numbers give `heads`, texts that have to occur."""
    made = _KINDS[kind](np.maximum(numbers - len(heads), 0))
    if not heads:
        return made
    known = pa.array(heads, pa.string()).take(pa.array(np.minimum(numbers, len(heads) - 1)))
    return pc.if_else(pa.array(numbers < len(heads)), known, made)


def listed(values: Sequence[str], numbers: Integers) -> pa.Array:
    """`values` by number; a number beyond the list starts over with a count behind it."""
    found = pa.array(values, pa.string()).take(pa.array(numbers % len(values)))
    return _and_rest([found], numbers // len(values))


def person(numbers: Integers) -> pa.Array:
    """`Smith, Anna`, then `Smith, Anna Maria`, ..."""
    surname, given, second, rest = _digits(numbers, words.SURNAMES, words.GIVEN, ("", *words.GIVEN))
    space = pc.if_else(pc.equal(second, ""), "", " ")
    return _and_rest([_joined(surname, ", ", given, space, second)], rest)


def character(numbers: Integers) -> pa.Array:
    """`Anna Smith`."""
    given, surname, rest = _digits(numbers, words.GIVEN, words.SURNAMES)
    return _and_rest([_joined(given, " ", surname)], rest)


def title(numbers: Integers) -> pa.Array:
    """`The Silent River`, then with a place."""
    adjective, noun, place, rest = _digits(numbers, words.ADJECTIVES, words.NOUNS, ("", *words.PLACES))
    of = pc.if_else(pc.equal(place, ""), "", " of ")
    return _and_rest([_joined("The ", adjective, " ", noun, of, place)], rest)


def company(numbers: Integers) -> pa.Array:
    surname, trade, place, rest = _digits(numbers, words.SURNAMES, words.TRADES, ("", *words.PLACES))
    space = pc.if_else(pc.equal(place, ""), "", " ")
    return _and_rest([_joined(surname, " ", trade, space, place)], rest)


def keyword(numbers: Integers) -> pa.Array:
    noun, adjective, place, rest = _digits(numbers, words.NOUNS, words.ADJECTIVES, words.PLACES)
    return pc.utf8_lower(_and_rest([_joined(noun, "-", adjective, "-", place)], rest, "-"))


def code(numbers: Integers) -> pa.Array:
    """Phonetic codes; there are 40,430."""
    return pa.array(CODES).take(pa.array(numbers % len(CODES)))


def alias_note(numbers: Integers) -> pa.Array:
    """`(as Anna Smith)`."""
    return _joined("(as ", character(numbers), ")")


def release_note(numbers: Integers) -> pa.Array:
    """`(1998) (Japan) (DVD)`."""
    country, format, year, rest = _digits(numbers, words.COUNTRIES, words.FORMATS, [str(y) for y in range(1930, 2014)])
    return _and_rest([_joined("(", year, ") (", country, ") ", format)], rest)


def place_note(numbers: Integers) -> pa.Array:
    """`(Berlin, Germany)`."""
    place, country, rest = _digits(numbers, words.PLACES, words.COUNTRIES)
    return _and_rest([_joined("(", place, ", ", country, ")")], rest)


def sentence(numbers: Integers) -> pa.Array:
    lists = (words.GIVEN, words.ADJECTIVES, words.NOUNS, words.PLACES)
    given, adjective, noun, place, rest = _digits(numbers, *lists)
    return _and_rest([_joined(given, " found the ", adjective, " ", noun, " in ", place, ".")], rest)


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


def _digits(numbers: Integers, *lists: Sequence[str]) -> list[pa.Array]:
    """A word of each list, and what is left of the numbers as an array of integers."""
    found = []
    for values in lists:
        found.append(pa.array(values, pa.string()).take(pa.array(numbers % len(values))))
        numbers = numbers // len(values)
    return [*found, numbers]


def _and_rest(parts: list[pa.Array], rest: Integers, separator: str = " ") -> pa.Array:
    """`parts` and, where `rest` is not 0, one more than it: the second text of the same words ends in 2."""
    if not rest.any():
        return parts[0] if len(parts) == 1 else _joined(*parts)
    more = pc.if_else(pa.array(rest == 0), "", pc.cast(pa.array(rest + 1), pa.string()))
    return _joined(*parts, pc.if_else(pa.array(rest == 0), "", separator), more)


def _joined(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*(pa.scalar(part) if isinstance(part, str) else part for part in parts), "")


_KINDS = {
    function.__name__: function
    for function in (person, character, title, company, keyword, code, alias_note, release_note, place_note, sentence)
}
