"""The most common values of a column, with bounds from both sides on how often they occur.

Misra and Gries (1982) in the mergeable form of Agarwal et al. (PODS 2012), except that what is lost is measured, not taken to be
the worst: of a batch the CAPACITY most common values are kept with their counts, and the count of the first one that is dropped
bounds all others. The bound is kept with the range of the batch's values (a span), so that of data stored in order of the column,
where every batch has values of its own, next to nothing is lost by merging.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from experiments.pipeline.sketches.counts import Counts
from experiments.pipeline.sketches.order import LONGEST, cut, lengths, ranked

CAPACITY = 8192
_SPANS = 128
_BYTES = 4 << 20  # of texts that are kept


@dataclass(slots=True, eq=False)
class Spans:
    """A value that is not kept occurs `sum(errors[i] where lows[i] <= value <= highs[i])` times at most."""

    lows: pa.Array
    highs: pa.Array
    errors: np.ndarray

    def __len__(self) -> int:
        return len(self.errors)


@dataclass(slots=True, eq=False)
class Frequent:
    """`lower` and `upper` (int64) bound the number of rows of each of `values`, which ascend; `spans` bound all others."""

    values: pa.Array
    lower: np.ndarray
    upper: np.ndarray
    spans: Spans

    @property
    def is_exact(self) -> bool:
        """Whether all values are kept, with their true counts."""
        return not len(self.spans)

    @property
    def errors(self) -> tuple[np.ndarray, int]:
        """How often values that are not kept can occur: some values, one number each, and all others, one number."""
        spans = self.spans
        if not len(spans):
            return np.empty(0, np.int64), 0
        codes, places = ranked(pa.concat_arrays([spans.lows, spans.highs]))
        at = _stacked(spans, codes, len(places))  # at the ends of spans; between two of them are only the spans around both
        between = at.copy()
        np.subtract.at(between, codes[len(spans) :], spans.errors)
        everywhere = int(between.max())
        return at[at > everywhere], everywhere


def frequent_of(counts: Counts) -> Frequent:
    """Of one batch."""
    values, numbers = counts
    return _kept(values, numbers, numbers, _joined([], values.type), np.zeros(len(numbers), np.int64))


def merge_frequent(parts: Sequence[Frequent]) -> Frequent:
    values = pa.concat_arrays([part.values for part in parts])
    spans = _joined([part.spans for part in parts], values.type)
    codes, everything = ranked(pa.concat_arrays([values, spans.lows, spans.highs]))
    places = len(everything)
    lower, upper = np.zeros(places, np.int64), np.zeros(places, np.int64)
    ends = codes[len(values) :]
    missing = _stacked(spans, ends, places)  # by place: what parts that have not kept the value may have had of it
    covered, first_span = missing.copy(), 0
    start = 0
    for part in parts:
        own = codes[start : start + len(part.values)]
        lower[own] += part.lower
        upper[own] += part.upper
        count = len(part.spans)
        if count:
            own_ends = np.concatenate([ends[first_span : first_span + count], ends[len(spans) + first_span :][:count]])
            missing[own] -= _stacked(part.spans, own_ends, places)[own]
        start, first_span = start + len(own), first_span + count
    kept = np.unique(codes[: len(values)])
    return _kept(everything.take(pa.array(kept)), lower[kept], (upper + missing)[kept], spans, covered[kept])


def _kept(values: pa.Array, lower: np.ndarray, upper: np.ndarray, spans: Spans, covered: np.ndarray) -> Frequent:
    """What fits; `covered`: how often `spans` allow each value to occur if it is dropped. Ties go to the smaller value."""
    keep, order = np.ones(len(values), bool), np.argsort(-upper, kind="stable")
    if (widths := lengths(values)) is not None:
        keep = widths <= LONGEST
        keep[order[np.cumsum(np.where(keep, widths, 0)[order]) > _BYTES]] = False
    keep[order[keep[order]][CAPACITY:]] = False
    if not keep.all():
        keep &= upper > 1  # once something is lost, values that occur once say nothing
    excess = int((upper - covered)[~keep].max(initial=0))
    if excess > 0:
        low, high = cut(values[:1]), cut(values[-1:], upwards=True)  # of what is kept as well: it may be dropped by a later merge
        spans = _joined([spans, Spans(low, high, np.array([excess]))], values.type)
    kept = np.flatnonzero(keep)
    return Frequent(values.take(pa.array(kept)), lower[kept], upper[kept], _fewer(spans))


def _stacked(spans: Spans, ends: np.ndarray, places: int) -> np.ndarray:
    """For each of `places` ascending values the sum of the spans around it; `ends`: the places of the lows, then of the highs."""
    change = np.zeros(places + 1, np.int64)
    np.add.at(change, ends[: len(spans)], spans.errors)
    np.subtract.at(change, ends[len(spans) :] + 1, spans.errors)
    return np.cumsum(change[:-1])


def _fewer(spans: Spans) -> Spans:
    """At most _SPANS: neighbours become one, with the greatest error that they have in common anywhere."""
    while len(spans) > _SPANS:
        count = len(spans)
        codes, _ = ranked(pa.concat_arrays([spans.lows, spans.highs]))
        lows, highs = codes[:count], codes[count:]
        by_low = np.lexsort((highs, lows))
        pairs = [by_low[i : i + 2] for i in range(0, count, 2)]
        low = [int(pair[0]) for pair in pairs]
        high = [int(pair[np.argmax(highs[pair])]) for pair in pairs]
        errors = []
        for pair in pairs:
            apart = len(pair) == 2 and highs[pair[0]] < lows[pair[1]]
            errors.append(int(spans.errors[pair].max() if apart else spans.errors[pair].sum()))
        spans = Spans(spans.lows.take(pa.array(low)), spans.highs.take(pa.array(high)), np.array(errors, np.int64))
    return spans


def _joined(parts: Sequence[Spans], type: pa.DataType) -> Spans:
    """In their order; `type`: of the values."""
    every = [Spans(pa.array([], type), pa.array([], type), np.empty(0, np.int64)), *parts]
    lows, highs = (pa.concat_arrays([getattr(part, name) for part in every]) for name in ("lows", "highs"))
    return Spans(lows, highs, np.concatenate([part.errors for part in every]))
