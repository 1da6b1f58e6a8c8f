"""Sketches as bytes: each a compressed Arrow stream of one row, which says the types of its values itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from experiments.pipeline.sketches.column import ColumnSketch
from experiments.pipeline.sketches.counts import DistinctSample
from experiments.pipeline.sketches.frequent import Frequent, Spans
from experiments.pipeline.sketches.hyperloglog import HyperLogLog
from experiments.pipeline.sketches.ranks import Ranks

VERSION = 1  # of the bytes, and of what the sketches in them mean
_NUMBERS = ("rows", "nulls", "nans", "bytes")


def to_bytes(sketch: ColumnSketch) -> bytes:
    frequent, ranks, sample = sketch.frequent, sketch.ranks, sketch.sample
    arrays = {
        "bounds": sketch.bounds,
        "registers": sketch.distinct.registers,
        "frequent": frequent.values,
        "lower": frequent.lower,
        "upper": frequent.upper,
        "span_lows": frequent.spans.lows,
        "span_highs": frequent.spans.highs,
        "span_errors": frequent.spans.errors,
        "points": ranks.values,
        "before": ranks.before.reshape(-1),
        "upto": ranks.upto.reshape(-1),
        "hashes": sample.hashes,
        "sampled": sample.values,
        "counts": sample.counts,
    }
    columns = {name: pa.array([getattr(sketch, name)]) for name in _NUMBERS}
    for name, values in arrays.items():
        array = values if isinstance(values, pa.Array) else pa.array(values)
        columns[name] = pa.ListArray.from_arrays(pa.array([0, len(array)], pa.int32()), array)
    batch = pa.RecordBatch.from_pydict(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def from_bytes(data: bytes) -> ColumnSketch:
    """Raises ArrowException or KeyError when `data` is damaged or something else."""
    with pa.ipc.open_stream(data) as reader:
        batch = reader.read_next_batch()

    def values(name: str) -> pa.Array:
        return batch.column(name).flatten()

    def numbers(name: str) -> np.ndarray:
        return values(name).to_numpy()

    known = {name: batch.column(name)[0].as_py() for name in _NUMBERS}
    bounds, rows = values("bounds"), known["rows"] - known["nulls"] - known["nans"]
    spans = Spans(values("span_lows"), values("span_highs"), numbers("span_errors"))
    return ColumnSketch(
        type=bounds.type,
        **known,
        bounds=bounds,
        distinct=HyperLogLog(numbers("registers").copy()),
        frequent=Frequent(values("frequent"), numbers("lower"), numbers("upper"), spans),
        ranks=Ranks(values("points"), numbers("before").reshape(-1, 2), numbers("upto").reshape(-1, 2), rows),
        sample=DistinctSample(numbers("hashes"), values("sampled"), numbers("counts")),
    )
