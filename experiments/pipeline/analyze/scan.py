"""One Spark job over a dataset: tasks sketch its pieces, others merge the sketches of each column in a tree.

    pieces -> _rows_of: a row for each column, and a note -> groupBy(table, columns, number / FAN) -> _merged -> ...

Only a merged sketch for each column comes back to the driver. Sketches of pieces are files besides, so that a piece is read
once. They are merged in the order of the pieces, so the result does not depend on which task was done first. Where few pieces
are all sketched, or what is left is small, this process does the rest without Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from experiments.pipeline.analyze.pieces import Columns, Piece, Sketches, contents, merged, sketch_in, sketch_piece
from experiments.pipeline.sketches import stored
from experiments.pipeline.spark.errors import PipelineError
from experiments.pipeline.spark.session import SMALL, Say, Start
from experiments.pipeline.spark.tasks import collect, rows_of_tasks
from experiments.pipeline.spark.worker import failure
from optimizer.errors import many

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FAN = 64  # sketches of a column that one task merges
_ROW = pa.struct([("table", pa.string()), ("columns", pa.list_(pa.string())), ("number", pa.int32()), ("content", pa.binary())])
Row = tuple[str, list[str], int, bytes]  # table, its column or columns (none: a note), number of the piece, sketch


class Scanned(NamedTuple):
    """By table: sketches; the seconds that each part took which was read now."""

    sketches: dict[str, Sketches]
    seconds: dict[str, list[float]]


def scan(pieces: Sequence[Piece], spark: Start, say: Say) -> Scanned:
    """Sketches of all pieces, merged in their order. Raises CatalogError, PipelineError."""
    missing = [piece for piece in pieces if piece.missing]
    if missing:
        say(f"analyzing: {len(missing)} of {len(pieces)} parts of files to read")
    if len(pieces) <= FAN and sum({piece.file: piece.state[0] for piece in missing}.values()) <= SMALL:
        groups: dict[tuple[str, Columns], list[bytes]] = {}
        for number, piece in enumerate(pieces):
            for table, columns, _, content in _rows_of(number, piece):
                groups.setdefault((table, tuple(columns)), []).append(content)
        return _result({key: _merged(key[1], range(len(found)), found) for key, found in groups.items()})
    session = spark()
    tables = ", ".join(dict.fromkeys(piece.table.name for piece in pieces))
    found = collect(session, _frame(session, pieces), f"analyze {tables}: {many(len(missing), 'part')}", say)
    return _result({(row["table"], tuple(row["columns"])): bytes(row["content"]) for row in found})


def _frame(spark: SparkSession, pieces: Sequence[Piece]) -> DataFrame:
    """table, columns, content of all pieces together."""
    from pyspark.sql import functions as f

    def sketched(numbered: tuple[int, Piece]) -> pa.StructArray:
        return pa.array(list(_rows_of(*numbered)), _ROW)

    def together(columns: pa.Array, number: pa.Array, content: pa.Array) -> bytes:
        return _merged(columns[0].as_py(), number.to_pylist(), content.to_pylist())

    together.__annotations__ = {"columns": pa.Array, "number": pa.Array, "content": pa.Array, "return": bytes}
    merge = f.arrow_udf(together, "binary")("columns", "number", "content").alias("content")
    frame, count = rows_of_tasks(spark, list(enumerate(pieces)), sketched, _ROW), len(pieces)
    while count > FAN:
        parent = f.floor(f.col("number") / FAN).cast("int").alias("number")
        frame = frame.groupBy("table", "columns", parent).agg(merge).select("table", "columns", "number", "content")
        count = -(-count // FAN)
    return frame.groupBy("table", "columns").agg(merge)


def _rows_of(number: int, piece: Piece) -> Iterator[Row]:
    """What Spark calls for each piece: has it sketched if need be. A failure is a note, so that Spark does not repeat it."""
    table, note = piece.table.name, dict[str, float | str]()
    try:
        if piece.missing:
            note = {"seconds": sketch_piece(piece)}
        for columns, content in [row for path in piece.sketches for row in contents(path).items()]:
            yield table, list(columns), number, content
    except Exception as error:
        note = {"error": failure(error)}
    if note:
        yield table, [], number, json.dumps([note]).encode()


def _merged(columns: Sequence[str], numbers: Sequence[int], found: Sequence[bytes]) -> bytes:
    """The contents of several pieces as one, in the order of the pieces."""
    ordered: list[bytes] = [found[i] for i in np.argsort(numbers, kind="stable")]
    if not columns:
        return json.dumps([note for each in ordered for note in json.loads(each)]).encode()
    return ordered[0] if len(ordered) == 1 else stored.to_bytes(merged([sketch_in(columns, each) for each in ordered]))


def _result(found: Mapping[tuple[str, Columns], bytes]) -> Scanned:
    result = Scanned({}, {})
    for (table, columns), content in sorted(found.items()):
        if columns:
            result.sketches.setdefault(table, {})[columns] = sketch_in(columns, content)
            continue
        notes = json.loads(content)
        if error := next((note["error"] for note in notes if "error" in note), None):
            raise PipelineError(error)
        result.seconds[table] = [note["seconds"] for note in notes]
    return result
