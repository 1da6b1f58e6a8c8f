"""The texts of `info` columns, which go with the row's `info_type_id`: a genre, a rating, a release date."""

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from experiments.workloads.imdb_like import words
from experiments.workloads.imdb_like.figures import types
from experiments.workloads.imdb_like.texts import listed, sentence

Integers = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]
Make = Callable[[Shares], pa.Array]
_LISTS = 3.0  # skew of a choice from a list
_SENTENCES = 500_000


def info_texts(types_of_rows: Integers, share: Shares) -> pa.Array:
    """A text for each row: `types_of_rows` are ids of info_type, `share` is evenly spread in [0, 1) and chooses it."""
    if not len(types_of_rows):
        return pa.array([], pa.string())
    order = np.argsort(types_of_rows, kind="stable")
    ids, starts = np.unique(types_of_rows[order], return_index=True)
    chunks = [
        _makers().get(types()["info_type"][id - 1], _sentences)(share[rows])
        for id, rows in zip(ids.tolist(), np.split(order, starts[1:]), strict=True)
    ]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.chunked_array(chunks, pa.string()).combine_chunks().take(pa.array(back))


@cache
def _makers() -> dict[str, Make]:
    dates = [f"{day} {month} {year}" for year in range(2013, 1949, -1) for month in words.MONTHS for day in range(1, 29)]
    return {
        "genres": partial(_choice, words.GENRES),
        "countries": partial(_choice, words.COUNTRIES),
        "languages": partial(_choice, words.LANGUAGES),
        "color info": partial(_choice, words.COLORS),
        "sound mix": partial(_choice, words.SOUNDS),
        "runtimes": partial(_choice, [str(minutes) for minutes in (90, 60, 30, 100, 95, *range(1, 241))]),
        "certificates": partial(_pair, words.COUNTRIES, words.RATINGS),
        "release dates": partial(_pair, words.COUNTRIES, dates),
        "height": partial(_choice, [f"{cm} cm" for cm in (*range(165, 195), *range(140, 165))]),
        "votes": lambda share: _number(5 * 10.0 ** (5 * share**3)),
        "rating": lambda share: pc.cast(pa.array(np.round(1 + 9 * share**0.6, 1)), pa.string()),
        "votes distribution": lambda share: pc.utf8_lpad(_number(share * 1e10), 10, "0"),
        "top 250 rank": lambda share: _number(1 + 249 * share),
        "bottom 10 rank": lambda share: _number(1 + 9 * share),
        "budget": lambda share: pc.binary_join_element_wise(pa.scalar("$"), _number(1000 * (1 + 1e5 * share**4)), ""),
    }


def _sentences(share: Shares) -> pa.Array:
    return sentence((_SENTENCES * share**1.5).astype(np.int64))


def _choice(values: Sequence[str], share: Shares) -> pa.Array:
    return listed(values, _places(values, share, _LISTS))


def _pair(first: Sequence[str], second: Sequence[str], share: Shares) -> pa.Array:
    """`USA:R`: the two independent, the first by the leading digits of `share`, the second by those that follow."""
    left, right = listed(first, _places(first, share, _LISTS)), listed(second, _places(second, share * 9973 % 1, 1.5))
    return pc.binary_join_element_wise(left, right, ":")


def _places(values: Sequence[str], share: Shares, skew: float) -> Integers:
    return np.minimum((len(values) * share**skew).astype(np.int64), len(values) - 1)


def _number(value: Shares) -> pa.Array:
    return pc.cast(pa.array(value.astype(np.int64)), pa.string())
