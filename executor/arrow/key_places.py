"""Keys whose values lie close together: each is a place in a table, where hashing would have to look for one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from executor.arrow.key_words import is_ordered, key_words
from optimizer.algebra.columns import DataType

_LEAST, _SPREAD = 1 << 16, 4  # places that a table of groups may always have, and for each row


class Numbered(NamedTuple):
    """`first`: the first row of each group, ascending; `group`: the number of each row's group; `table`: the number of the group
    at each place and 1, 0 where there is none."""

    first: np.ndarray
    group: np.ndarray
    table: np.ndarray


def numbered(place: np.ndarray, places: int) -> Numbered:
    """Groups of the rows that are at the same of so many places, in the order of their first rows."""
    table = np.zeros(places, np.int32)  # memory that is not touched costs nothing
    row = np.arange(1, len(place) + 1, dtype=np.int32)
    table[place[::-1]] = row[::-1]  # reversed, so that of several rows at a place the first one stays
    leader = table[place]
    first = np.flatnonzero(leader == row)
    if len(first) == len(place):
        return Numbered(first, row - 1, table)
    table[place[first]] = row[: len(first)]
    return Numbered(first, table[place] - 1, table)


def has_places(type: DataType) -> bool:
    """Of dictionaries the numbers are places: their values differ (`encoded_texts`)."""
    return pa.types.is_dictionary(type) or is_ordered(type)


def groups_by_place(keys: Sequence[pa.Array]) -> Numbered | None:
    """The groups of rows with equal keys, of which there is at least one; NULL equals NULL. None where their values lie too far
    apart, or are of a type without places."""
    rows = len(keys[0])
    most = max(_LEAST, _SPREAD * rows)
    place, places = np.zeros(1, np.int64), 1
    for key in keys:
        if not has_places(key.type) or key.null_count == rows:
            return None
        if pa.types.is_dictionary(key.type):
            key = key.indices
        (word,), valid = key_words([key])
        some = word if valid is None else word.take(np.flatnonzero(valid))
        low = int(some.min())
        span = int(some.max()) - low + 1
        places *= span + (valid is not None)
        if places > most:
            return None
        own = word - low
        if valid is not None:
            own[~valid] = span
            span += 1
        place = place * span + own
    return numbered(place, places)
