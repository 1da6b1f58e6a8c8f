"""Files that Spark cannot read as they are, made into ones that it can.

Arrow files become Parquet, text of another encoding UTF-8, with a byte that is no UTF-8 for each that is no text.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from executor.atomic import make_folder
from experiments.pipeline.spark.errors import PipelineError

_BLOCK = 1 << 20
_NONE = "\udcff"  # becomes the byte FF


def is_needed(format: str, encoding: str) -> bool:
    """Whether files of this format and encoding have to be prepared."""
    return format == "arrow" or (format in ("csv", "json") and codec_name(encoding) != "utf-8")


def prepare(source: Path | str, target: Path, format: str, encoding: str) -> Path | str:
    """`target`, written unless it is there, or `source` where that can be read. Raises PipelineError for a damaged file."""
    if not is_needed(format, encoding):
        return source
    if target.exists():
        return target
    partial = make_folder(target.parent) / f".{target.name}"
    try:
        if format == "arrow":
            _to_parquet(Path(source), partial)
        else:
            _to_utf8(Path(source), partial, codec_name(encoding))
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # the disk's
            raise
        raise PipelineError(damage(str(source), format, error)) from error
    return partial.rename(target)


def damage(label: str, format: str, error: Exception) -> str:
    """What to say of a file that cannot be read."""
    said = [line.strip() for line in str(error).splitlines()]
    causes = [line.partition(": ")[2] for line in said if line.startswith("Caused by: ") and "FAILED_READ_FILE" not in line]
    reason = (causes[-1] if causes else said[0]).split(". Detail:")[0].rstrip(".")[:200]
    return f"{label} is damaged, incomplete or no {format} file ({reason})\nwrite it again, or leave it out"


def _to_parquet(source: Path, target: Path) -> None:
    with pa.OSFile(str(source)) as file:
        try:
            opened: Any = ipc.open_file(file)
            batches = (opened.get_batch(i) for i in range(opened.num_record_batches))
        except pa.ArrowInvalid:
            file.seek(0)
            batches = opened = ipc.open_stream(file)
        with pq.ParquetWriter(target, opened.schema) as writer:
            for batch in batches:
                batch.validate(full=True)  # damaged offsets would end the process
                writer.write_batch(batch)


def _to_utf8(source: Path, target: Path, encoding: str) -> None:
    decoder = codecs.getincrementaldecoder(encoding)("planscope_mark")
    with pa.input_stream(str(source)) as file, target.open("wb") as written:
        while data := file.read(_BLOCK):
            written.write(decoder.decode(data).encode("utf-8", "surrogateescape"))
        written.write(decoder.decode(b"", final=True).encode("utf-8", "surrogateescape"))


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return _NONE * (error.end - error.start), error.end


codecs.register_error("planscope_mark", _mark)


def codec_name(encoding: str) -> str:
    """Python's name of an encoding. Raises PipelineError."""
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, UnicodeError) as error:
        known = "utf-8, latin-1, cp1252, utf-16 and the like"
        raise PipelineError(f'there is no encoding of text "{encoding}"; known are {known}') from error
