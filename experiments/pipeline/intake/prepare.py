"""Files that Spark cannot read as they are, made into ones that it can.

Arrow files become Parquet, text of another encoding UTF-8, with a byte that is no UTF-8 for each that is no text. So do ORC
files that Arrow, or another program with ORC's C++ library, wrote with dates or timestamps, as far as Arrow can read them: that
notes no calendar, and Spark takes days before 1582-10-15 for ones of another; nor can it read Arrow's fractions before 1970.
A file with a colon in its path, which Hadoop takes for a URI, gets a link without one.
"""

import codecs
import io
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.orc as orc
import pyarrow.parquet as pq

from executor.atomic import make_folder
from experiments.pipeline.intake.sources import COMPRESSED
from experiments.pipeline.spark.errors import PipelineError

CPP = "ORC_CPP"  # the writer in a file of ORC's C++ library
_BLOCK = 1 << 20
_PARQUET = ".parquet"
_NONE = "\udcff"  # becomes the byte FF


def is_needed(format: str, encoding: str) -> bool:
    """Whether files of this format and encoding have to be prepared."""
    return format == "arrow" or (format in ("csv", "json") and codec_name(encoding) != "utf-8")


def prepare(source: Path | str, target: Path, format: str, encoding: str) -> Path | str:
    """`target`, maybe with an ending, made unless it is there, or `source` where that can be read. Raises PipelineError for a
    damaged file."""
    local = str(source).startswith("/")
    if format == "orc" and local and (made := _readable_orc(source, target.with_suffix(_PARQUET))) is not None:
        return made
    if not is_needed(format, encoding):
        return _linked(Path(source), target) if local and ":" in str(source) else source
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
    except UnicodeError as error:
        name = codec_name(encoding)
        others = f"{name}-le or {name}-be" if name in ("utf-16", "utf-32") else "another encoding"
        raise PipelineError(f"{source} is no text in {name} ({error})\ntry --option encoding={others}") from error
    return partial.rename(target)


def read_as(label: str, path: str, format: str) -> str:
    """The format of the prepared file `path`."""
    return "parquet" if format == "arrow" or (format == "orc" and path != label and path.endswith(_PARQUET)) else format


def damage(label: str, format: str, error: Exception) -> str:
    """What to say of a file that cannot be read."""
    said = [line.strip() for line in str(error).splitlines()]
    causes = [line.partition(": ")[2] for line in said if line.startswith("Caused by: ") and "FAILED_READ_FILE" not in line]
    reason = (causes[-1] if causes else said[0]).split(". Detail:")[0].rstrip(".")[:200]
    return f"{label} is damaged, incomplete or no {format} file ({reason})\nwrite it again, or leave it out"


def _linked(source: Path, target: Path) -> Path:
    """With the ending by which Spark knows how the file is compressed."""
    if source.suffix.lower() in COMPRESSED:
        target = target.with_suffix(source.suffix)
    if not target.is_symlink():
        make_folder(target.parent)
        target.symlink_to(source)
    return target


def _readable_orc(source: Path | str, target: Path) -> Path | None:
    """None where Arrow cannot read the file, or nothing in it is read otherwise by Spark."""
    if target.exists():
        return target
    partial = target.with_name(f".{target.name}")
    with suppress(pa.ArrowException, OSError):  # beyond Arrow's nanoseconds, say: Spark reads it, or says what is wrong
        file = orc.ORCFile(source)
        if file.writer == CPP and any(map(pa.types.is_temporal, file.schema.types)):
            make_folder(target.parent)
            with pq.ParquetWriter(partial, file.schema) as writer:
                for i in range(file.nstripes):
                    writer.write_batch(file.read_stripe(i))
            return partial.rename(target)
    return None


def _to_parquet(source: Path, target: Path) -> None:
    with pa.OSFile(str(source)) as file:
        try:
            opened: Any = ipc.open_file(file)
            batches = (opened.get_batch(i) for i in range(opened.num_record_batches))
        except pa.ArrowInvalid:
            file.seek(0)
            batches = opened = ipc.open_stream(file)
        schema = opened.schema
        lacking = {i: _told(field) for i, field in enumerate(schema) if not _is_parquets(field)}
        for i, field in lacking.items():
            schema = schema.set(i, field)
        with pq.ParquetWriter(target, schema) as writer:
            for batch in batches:
                batch.validate(full=True)  # damaged offsets would end the process
                for i, field in lacking.items():
                    batch = batch.set_column(i, field, pa.nulls(len(batch), field.type))
                writer.write_batch(batch)


def _is_parquets(field: pa.Field) -> bool:
    """Whether Parquet has columns of this type."""
    try:
        pq.ParquetWriter(io.BytesIO(), pa.schema([field])).close()
    except pa.ArrowException:
        return False
    return True


def _told(field: pa.Field) -> pa.Field:
    """A column of NULLs in the place of one that Parquet lacks, whose type, which imports lack too, names the other."""
    return pa.field(field.name, pa.struct([pa.field(str(field.type), pa.null())]))


def _to_utf8(source: Path, target: Path, encoding: str) -> None:
    with (
        io.TextIOWrapper(pa.input_stream(str(source)), encoding, "planscope_mark", newline="") as text,
        target.open("w", encoding="utf-8", errors="surrogateescape", newline="") as written,
    ):
        shutil.copyfileobj(text, written, _BLOCK)


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
    except (LookupError, ValueError) as error:
        known = "utf-8, latin-1, cp1252, utf-16 and the like"
        raise PipelineError(f'there is no encoding of text "{encoding}"; known are {known}') from error
