"""Parquet, ORC and Arrow files: rows whose columns have types already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.orc as orc
import pyarrow.parquet as pq

from experiments.pipeline.intake.records import Records
from experiments.pipeline.intake.stream import Digesting
from experiments.pipeline.spark.errors import PipelineError

_BATCH = 65_536  # rows


class TypedFile:
    """One file. Raises PipelineError, here and while rows are read: not such a file, damaged, cut off, a column name twice."""

    def __init__(self, path: Path, format: str) -> None:
        self.path, self.format = path, format
        try:
            self.schema: pa.Schema = self._read_schema()
        except (pa.ArrowException, OSError) as error:
            raise self._complaint(error) from error
        twice = next((name for name, count in Counter(self.schema.names).items() if count > 1), None)
        if twice is not None:
            raise PipelineError(f'{path} has more than one column "{twice}"; rename all but one of them')
        self.sha256, self.size = "", 0

    def records(self, names: Sequence[str]) -> Iterator[Records]:
        """These columns of all rows, in their order. Sets `sha256` and `size`."""
        before = 0
        try:
            for batch in self._batches(list(names)):
                if self.format == "arrow":
                    batch.validate(full=True)  # damaged offsets would end the process
                columns = {name: batch.column(name) for name in names}
                yield Records(columns, np.arange(before + 1, before + batch.num_rows + 1))
                before += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            raise self._complaint(error) from error
        with Digesting(self.path) as file:
            self.sha256, self.size = file.sha256(), file.size

    def _read_schema(self) -> pa.Schema:
        if self.format == "parquet":
            with pq.ParquetFile(self.path) as file:
                return file.schema_arrow
        if self.format == "orc":
            return orc.ORCFile(self.path).schema
        with pa.OSFile(str(self.path)) as source:
            return _arrow_reader(source).schema

    def _batches(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        if self.format == "parquet":
            with pq.ParquetFile(self.path, page_checksum_verification=True) as file:
                yield from file.iter_batches(_BATCH, columns=None if names == self.schema.names else names)
        elif self.format == "orc":
            file = orc.ORCFile(self.path)
            for stripe in range(file.nstripes):
                yield file.read_stripe(stripe, columns=names)
        else:
            with pa.OSFile(str(self.path)) as source:
                reader = _arrow_reader(source)
                if isinstance(reader, ipc.RecordBatchFileReader):
                    yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
                else:
                    yield from reader

    def _complaint(self, error: Exception) -> PipelineError:
        if isinstance(error, PermissionError):
            return PipelineError(f"cannot read {self.path}: permission denied")
        reason = str(error).split("\n")[0].split(". Detail:")[0].rstrip(".")
        return PipelineError(
            f"{self.path} is damaged, incomplete or no {self.format} file ({reason})\nwrite it again, or leave it out"
        )


def _arrow_reader(source: Any) -> Any:
    try:
        return ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return ipc.open_stream(source)
