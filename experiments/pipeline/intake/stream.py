"""A text file as UTF-8, whatever it is encoded and compressed in, with every byte that is no text marked.

A byte that its encoding does not allow becomes one of 256 characters of a private plane, so that the row around it can still
be told apart, and rejected. The file's checksum is taken as it is read.
"""

from __future__ import annotations

import codecs
import hashlib
import io
from pathlib import Path
from typing import Any

import pyarrow as pa

from experiments.pipeline.spark.errors import PipelineError

MARKS = "\U0010fe00-\U0010feff"  # byte b as U+10FE00 + b; within [] of a regular expression
_FIRST = 0x10FE00
_BLOCK = 1 << 20


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(_FIRST + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error("planscope_mark", _mark)


def unmarked(text: str) -> str:
    """`text` with every marked byte written as \\xNN."""
    return "".join(f"\\x{ord(c) - _FIRST:02x}" if _FIRST <= ord(c) < _FIRST + 256 else c for c in text)


class Digesting(io.RawIOBase):
    """A file read from its beginning to its end once, and its SHA-256."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise PipelineError(f"cannot read {path}: {error.strerror}") from error
        self._digest = hashlib.sha256()
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        self._digest.update(data)
        self.size += len(data)
        buffer[: len(data)] = data
        return len(data)

    def sha256(self) -> str:
        """Of the whole file: reads what is left of it."""
        while data := self._file.read(_BLOCK):
            self._digest.update(data)
            self.size += len(data)
        return self._digest.hexdigest()

    def close(self) -> None:
        self._file.close()
        super().close()


class Decoded(io.RawIOBase):
    """The text of a file as UTF-8 without a byte order mark. Raises PipelineError: unknown encoding, broken compression.

    `marked`: whether a byte was marked so far. `quotes`: how many times `quote` occurred so far.
    """

    def __init__(self, path: Path, encoding: str = "utf-8", quote: str = '"') -> None:
        self.path, self.raw = path, Digesting(path)
        self.marked, self.quotes, self._quote = False, 0, quote.encode()
        name = codec_name(encoding)
        self._decoder = codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)("planscope_mark")
        self._rest = b""
        compression = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(path.suffix.lower())
        file = pa.PythonFile(self.raw, mode="r")
        self._file: Any = file if compression is None else pa.CompressedInputStream(file, compression)
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and not self._ended:
            self._fill()
        data, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

    def _fill(self) -> None:
        try:
            data = self._file.read(_BLOCK)
        except (OSError, pa.ArrowException) as error:
            raise PipelineError(f"{self.path} is damaged or cut off: {str(error).splitlines()[0]}") from error
        self._ended = not data
        text = self._decoder.decode(data, final=self._ended)
        self._rest = text.encode("utf-8", "surrogatepass")
        self.quotes += self._rest.count(self._quote)
        self.marked = self.marked or (not text.isascii() and any(_FIRST <= ord(c) < _FIRST + 256 for c in set(text)))

    def close(self) -> None:
        self.raw.close()
        super().close()


def codec_name(encoding: str) -> str:
    """Python's name of an encoding. Raises PipelineError."""
    try:
        found = codecs.lookup(encoding)
    except LookupError as error:
        raise PipelineError(
            f'there is no encoding "{encoding}"; known are utf-8, latin-1, cp1252, utf-16 and the like'
        ) from error
    if not found._is_text_encoding:
        raise PipelineError(f'"{encoding}" is no encoding of text')
    return found.name
